"""A test of an agent by a policy. Run it with `pytest test_agent.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

POLICY = Path(__file__).with_name("shop.yaml")


def run_my_agent(approved: bool) -> List[Dict[str, Any]]:
    """Returns the trace of an agent."""
    approval: List[Dict[str, Any]] = [{"kind": "approval"}] if approved else []
    return [*approval, {"kind": "tool_call", "tool": "refund", "args": {"order": "A1"}}]


def test_approved_refund_complies(assert_compliant: Callable[..., Any]) -> None:
    assert_compliant(run_my_agent(approved=True), POLICY)


def test_unapproved_refund_does_not_comply(assert_compliant: Callable[..., Any]) -> None:
    with pytest.raises(pytest.fail.Exception, match="missing: approval"):
        assert_compliant(run_my_agent(approved=False), POLICY)

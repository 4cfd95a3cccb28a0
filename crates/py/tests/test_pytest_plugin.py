"""The plugin for pytest, in a pytest of its own."""

from __future__ import annotations

import pytest

POLICY = """
lictor: 1
name: shop
properties:
  - id: refunds-are-approved
    formula: always (tool_call("refund") implies once approval)
"""

TESTS = """
import lictor
POLICY = lictor.Policy.load("policy.yaml")
REFUND = {"kind": "tool_call", "tool": "refund"}

def test_good(assert_compliant):
    assert assert_compliant([{"kind": "approval"}, REFUND], POLICY).is_compliant

def test_bad(assert_compliant):
    assert_compliant([{"kind": "user_message"}, REFUND], POLICY)

def test_imported():
    from lictor.pytest_plugin import assert_compliant
    assert_compliant([REFUND], "policy.yaml")
"""


def test_failure_shows_the_witness(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", policy=POLICY)
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "the trace does not comply: 1 findings, 0 places that cannot be read",
            "refunds-are-approved (medium) is broken in session * by step 2",
            '*step 2, tool_call refund: holds: tool_call("refund"); missing: approval*',
        ]
    )

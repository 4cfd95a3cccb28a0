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


#: Plugins of other packages are left out: loading them takes most of the time of such a run.
ALONE = ["-p", "no:anyio", "-p", "no:hypothesispytest", "-p", "no:langsmith_plugin"]


def test_failure_shows_the_witness(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", policy=POLICY)
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess(*ALONE)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "the trace does not comply: 1 findings, 0 places that cannot be read",
            "refunds-are-approved (medium) is broken in session * by step 2",
            '*step 2, tool_call refund: holds: tool_call("refund"); missing: approval*',
        ]
    )


LIMIT = """
lictor: 1
name: limit
facts: {large: {on: tool_call(refund), when: args.amount > 100}}
properties:
  - {id: no-large-refund, formula: always !large}
"""

DOUBTS = """
from pathlib import Path
UNKNOWN = [{"kind": "tool_call", "tool": "refund", "args": {"amount": "900 EUR"}}]
IDLE = [{"kind": "user_message", "text": "hi"}]

def test_unknown(assert_compliant):
    assert not assert_compliant(UNKNOWN, "limit.yaml").is_conclusive

def test_unknown_strict(assert_compliant):
    assert_compliant(UNKNOWN, "limit.yaml", strict=True)

def test_idle(assert_compliant):
    assert_compliant(IDLE, "limit.yaml")

def test_missing_events_strict(assert_compliant):
    calls = [{"kind": "tool_call", "tool": "refund", "args": {"amount": 1}, "seq": seq} for seq in (1, 3)]
    assert_compliant(calls, "limit.yaml", strict=True)

def test_decided_strict(assert_compliant):
    calls = [{"kind": "tool_call", "tool": "refund", "args": {"amount": 1}}]
    assert assert_compliant(calls, "limit.yaml", strict=True).is_conclusive

def test_unread(assert_compliant):
    Path("log.jsonl").write_text('{"kind":"tool_call","tool":"refund","args":{"amount":1}}\\n{"kind":\\n')
    assert_compliant("log.jsonl", "limit.yaml")
"""


def test_undecided_is_a_warning_and_fails_strictly(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", limit=LIMIT)
    pytester.makepyfile(DOUBTS)
    result = pytester.runpytest_subprocess(*ALONE)
    result.assert_outcomes(passed=3, failed=3, warnings=3)
    unknown = "no-large-refund is inconclusive in 1 session, first in trace:1, since `large` is unknown"
    result.stdout.fnmatch_lines_random(
        [
            f"*UndecidedWarning: the trace is not decided, which fails with `strict=True`: {unknown}",
            f"undecided: {unknown}",
            "*UnexercisedWarning: the policy was not put to the test: *",
            "undecided: events are missing or out of place in 1 session",
            "the trace does not comply: 0 findings, 1 places that cannot be read",
        ]
    )
    assert pytester.runpytest_subprocess(*ALONE, "-W", "error::lictor.UndecidedWarning").parseoutcomes()["failed"] == 4

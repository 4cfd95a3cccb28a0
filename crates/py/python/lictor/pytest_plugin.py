"""A plugin for pytest: traces of agents are asserted to comply with a policy.

    def test_the_agent_complies(assert_compliant):
        assert_compliant(run_my_agent(), "policy.yaml")

The plugin comes with the package; the function can also be imported.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable, Iterable

import pytest

from .errors import UndecidedWarning, UnexercisedWarning
from .report import PolicyLike, Report, audit

__tracebackhide__ = True


def assert_compliant(trace: Any, policy: PolicyLike, *, strict: bool = False, **options: Any) -> Report:
    """Fails, with the witness of every finding, unless the trace complies with the policy. Returns the report.

    The trace is a source of :func:`lictor.audit`: events or paths. Unreadable records fail too; suppressed findings do
    not. An undecided trace fails with `strict`, and is an :class:`UndecidedWarning` without it. A trace that does not put
    the policy to the test is an :class:`UnexercisedWarning`.
    """
    __tracebackhide__ = True
    report = audit(trace, policy, **options)
    if not report.is_compliant or (strict and not report.is_conclusive):
        pytest.fail("\n".join(_complaints(report)), pytrace=False)
    if report.undecided:
        message = "; ".join(report.undecided)
        warnings.warn(f"the trace is not decided, which fails with `strict=True`: {message}", UndecidedWarning, stacklevel=2)
    if not report.is_exercised:
        message = "the policy was not put to the test: nothing occurs that could violate a property"
        warnings.warn(message, UnexercisedWarning, stacklevel=2)
    return report


def _complaints(report: Report) -> Iterable[str]:
    open_findings = [finding for finding in report.findings if finding.suppressed is None]
    if report.is_compliant:
        yield f"the trace is not decided: {len(report.undecided)} doubts"
    else:
        yield f"the trace does not comply: {len(open_findings)} findings, {len(report.faults)} places that cannot be read"
    for finding in open_findings:
        yield str(finding)
    for fault in report.faults:
        yield f"{fault['file']}:{fault['line']}: {fault['message']}"
    for doubt in report.undecided:
        yield f"undecided: {doubt}"


@pytest.fixture(name="assert_compliant")
def assert_compliant_fixture() -> Callable[..., Report]:
    """The function :func:`assert_compliant`."""
    return assert_compliant

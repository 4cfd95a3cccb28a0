"""A plugin for pytest: traces of agents are asserted to comply with a policy.

    def test_the_agent_complies(assert_compliant):
        assert_compliant(run_my_agent(), "policy.yaml")

The plugin comes with the package; the function can also be imported.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable

import pytest

from .report import PolicyLike, Report, audit

__tracebackhide__ = True


def assert_compliant(trace: Any, policy: PolicyLike, **options: Any) -> Report:
    """Fails, with the witness of every finding, unless the trace complies with the policy. Returns the report.

    The trace is a source of :func:`lictor.audit`: events or paths. Unreadable records fail too; suppressed findings do
    not.
    """
    __tracebackhide__ = True
    report = audit(trace, policy, **options)
    if not report.is_compliant:
        pytest.fail("\n".join(_complaints(report)), pytrace=False)
    return report


def _complaints(report: Report) -> Iterable[str]:
    open_findings = [finding for finding in report.findings if finding.suppressed is None]
    yield f"the trace does not comply: {len(open_findings)} findings, {len(report.faults)} places that cannot be read"
    for finding in open_findings:
        yield str(finding)
    for fault in report.faults:
        yield f"{fault['file']}:{fault['line']}: {fault['message']}"


@pytest.fixture(name="assert_compliant")
def assert_compliant_fixture() -> Callable[..., Report]:
    """The function :func:`assert_compliant`."""
    return assert_compliant

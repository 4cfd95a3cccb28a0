"""The trajectory monitor, compared with the document that describes its interface."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

import lictor
from lictor import G, StateError, StepObservation, TrajectorySafetyMonitor, Verdict, atom, not_


def test_built_in_properties() -> None:
    specs = TrajectorySafetyMonitor().report()["specs"]
    assert {spec["name"]: spec["formula"] for spec in specs} == {
        "tool_calls_are_verified": "G(tool_call → F verification_passed)",
        "handoff_is_coherence_checked": "G(handoff → X coherence_check)",
        "no_output_after_injection": "G ¬(injection_detected ∧ output_emitted)",
        "fact_claims_are_grounded": "G(fact_claim → F evidence_retrieved)",
    }


def observed(*steps: Dict[str, Any]) -> TrajectorySafetyMonitor:
    monitor = TrajectorySafetyMonitor()
    for step in steps:
        monitor.observe(StepObservation(**step))
    return monitor


def test_violation_is_reported_at_once_and_stays() -> None:
    monitor = observed({"tool_call": True}, {"injection_detected": True, "output_emitted": True}, {})
    report = monitor.report()
    assert list(report) == ["verdict", "steps", "specs", "violations"]
    assert report["verdict"] == "violated" and report["steps"] == 3
    broken = [spec for spec in report["specs"] if spec["verdict"] == "violated"]
    assert broken == [
        {
            "name": "no_output_after_injection",
            "verdict": "violated",
            "formula": "G ¬(injection_detected ∧ output_emitted)",
            "violated_at_step": 2,
        }
    ]
    assert report["violations"] == ["no_output_after_injection"]


def test_worst_verdict_counts() -> None:
    monitor = TrajectorySafetyMonitor({"done": "F done", "open": "G !bad"})
    assert monitor.observe({"done"}) is Verdict.INCONCLUSIVE
    assert [spec["verdict"] for spec in monitor.report()["specs"]] == ["satisfied", "inconclusive"]
    assert monitor.observe({"bad"}) is Verdict.VIOLATED
    assert TrajectorySafetyMonitor({"done": "F done"}).observe({"done"}) is Verdict.SATISFIED


def test_finalize_violates_open_obligations() -> None:
    monitor = observed({"tool_call": True}, {})
    assert monitor.report()["verdict"] == "inconclusive"
    final = monitor.finalize()
    assert final["verdict"] == "violated" and final["violations"] == ["tool_calls_are_verified"]
    assert monitor.finalize() == final == monitor.report()
    with pytest.raises(StateError, match="finalized"):
        monitor.observe(StepObservation())
    assert observed({}).finalize()["verdict"] == "satisfied"
    assert TrajectorySafetyMonitor().finalize()["verdict"] == "satisfied"


def test_handoff_is_checked_on_next_step() -> None:
    assert observed({"handoff": True}, {"coherence_check": True}).report()["violations"] == []
    late = observed({"handoff": True}, {}, {"coherence_check": True}).report()
    assert late["violations"] == ["handoff_is_coherence_checked"]
    assert late["specs"][1]["violated_at_step"] == 2


def test_verdicts_are_exact_where_rewriting_is_not() -> None:
    # Each half can still hold, but not both: the verdict does not depend on the future.
    monitor = TrajectorySafetyMonitor({"impossible": "F a & G !a", "certain": "F a | G !a"})
    assert [spec["verdict"] for spec in monitor.report()["specs"]] == ["violated", "satisfied"]
    monitor = TrajectorySafetyMonitor({"trap": "G(start -> (X G a & X F !a))"})
    assert monitor.observe({"start"}) is Verdict.VIOLATED


def test_fact_names_equal_observations() -> None:
    by_flags, by_names = TrajectorySafetyMonitor(), TrajectorySafetyMonitor()
    for step in (StepObservation(tool_call=True, fact_claim=True), StepObservation(evidence_retrieved=True)):
        assert by_flags.observe(step) == by_names.observe(step.facts)
    assert by_flags.report() == by_names.report() and by_flags.finalize() == by_names.finalize()
    with pytest.raises(lictor.EventError, match="set of facts"):
        TrajectorySafetyMonitor().observe("tool_call")


def test_step_reading_its_monitor_does_not_deadlock() -> None:
    monitor = TrajectorySafetyMonitor({"never": "G !bad"})

    def facts() -> Iterator[str]:
        yield str(monitor.report()["steps"]).replace("0", "bad")

    assert monitor.observe(facts()) is Verdict.VIOLATED


def test_observations_are_values() -> None:
    step = StepObservation(True, extra=["b", "a"])
    assert step.tool_call and not step.handoff and step.facts == {"tool_call", "a", "b"}
    assert step == StepObservation(tool_call=True, extra={"a", "b"}) and len({step, StepObservation(True)}) == 2
    with pytest.raises(AttributeError):
        step.nonsense  # type: ignore[attr-defined]
    monitor = TrajectorySafetyMonitor({"never": G(not_(atom("a")))})
    assert monitor.observe(step) is Verdict.VIOLATED


def test_observe_all_equals_repeated_observe() -> None:
    steps = [StepObservation(tool_call=True), StepObservation(extra={"x"}), StepObservation(verification_passed=True)]
    one, many = TrajectorySafetyMonitor(), TrajectorySafetyMonitor()
    verdicts = [one.observe(step) for step in steps]
    assert many.observe_all(steps) == verdicts[-1] and one.report() == many.report()
    many.finalize()
    with pytest.raises(StateError):
        many.observe_all(steps)


def test_monitors_never_share_state() -> None:
    one, other = TrajectorySafetyMonitor(), TrajectorySafetyMonitor()
    one.observe(StepObservation(injection_detected=True, output_emitted=True))
    assert other.report()["steps"] == 0 and other.verdict is Verdict.INCONCLUSIVE


def blocks(document: Path) -> List[str]:
    """Returns the code blocks of the document: from an import to the next line of prose."""
    lines = document.read_text(encoding="utf-8").splitlines()
    found: List[str] = []
    code: List[str] = []
    for line in [*lines, "end"]:
        begins = re.match(r"(from|import) ", line)
        goes_on = code and re.match(r"(from |import |#|[a-z_]+ = |monitor|print|assert |[A-Za-z_]+,$|not_,|\)|$)", line.strip())
        if begins or goes_on:
            code.append(line)
        elif code:
            found.append("\n".join(code))
            code = []
    return found


def test_document_examples_run_with_our_imports(root: Path) -> None:
    documents = [path for path in (root.parent / "shared" / "seeds").glob("003*")] if (root.parent / "shared").exists() else []
    if not documents:
        pytest.skip("SKIPPED: ../shared is not here, so the document's own examples do not run")
    quick_start, custom = blocks(documents[0])
    said: List[Any] = []
    for code in (quick_start, custom):
        changed = re.sub(r"from director_ai\S* import", "from lictor.trajectory import", code)
        assert changed != code
        names: Dict[str, Any] = {"print": said.append}
        exec(compile(changed, documents[0].name, "exec"), names)
    assert said == ["satisfied", []]

"""Policies, sessions and audits."""

from __future__ import annotations

import json
import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, List

import pytest

import lictor
from lictor import AuditError, Chain, Decided, EventError, ForecastError, Policy, PolicyError, Session, Severity, StateError, Verdict, audit

REFUND: Dict[str, Any] = {"kind": "tool_call", "tool": "refund", "args": {"order": "A1"}}


def test_only_commit_changes_the_session(shop: Policy) -> None:
    session = Session(shop, "s1")
    proposal = session.propose(REFUND)
    assert [finding.property for finding in proposal.findings] == ["refunds-are-approved"]
    assert session.steps == 0 and session.report()["violations"] == []
    found = session.commit(proposal)
    assert found[0].severity is Severity.HIGH and found[0].decided is Decided.EVENT and found[0].step == 1
    assert found[0].witness[0].absent == ("approval",)
    assert "approval" in str(found[0])
    report = session.report()
    assert report["verdict"] is Verdict.VIOLATED and report["steps"] == 1
    assert report["violations"] == ["refunds-are-approved"]


def test_stale_or_foreign_proposal_is_refused(shop: Policy) -> None:
    session, other = Session(shop), Session(shop)
    proposal = session.propose({"kind": "approval"})
    with pytest.raises(StateError, match="another session"):
        other.commit(proposal)
    session.commit(proposal)
    with pytest.raises(StateError):
        session.commit(proposal)
    late = session.propose(REFUND)
    session.observe({"kind": "user_message", "text": "hello"})
    with pytest.raises(StateError, match="has changed since"):
        session.commit(late)


def test_proposals_can_be_chained_and_committed(shop: Policy) -> None:
    session = Session(shop)
    approval = session.propose({"kind": "approval"})
    assert session.propose(REFUND).findings != []
    refund = session.propose(REFUND, after=approval)
    assert refund.findings == [] and session.steps == 0
    with pytest.raises(StateError, match="has changed since"):
        session.commit(refund)
    session.commit(approval)
    assert session.commit(refund) == [] and session.steps == 2
    with pytest.raises(StateError, match="committed already"):
        session.propose(REFUND, after=approval)


def test_fork_leaves_its_session_unchanged(shop: Policy) -> None:
    session = Session(shop, "s1")
    fork = session.fork()
    assert fork.name == "s1" and len(fork.observe(REFUND)) == 1
    assert fork.steps == 1 and session.steps == 0 and session.report()["violations"] == []
    session.observe({"kind": "approval"})
    assert session.fork().observe(REFUND) == []


def call(tool: str) -> Dict[str, Any]:
    return {"kind": "tool_call", "tool": tool}


def test_forecast_follows_session_and_proposal(tmp_path: Path) -> None:
    policy = Policy.parse("lictor: 1\nname: p\nproperties: [{id: no-drop, formula: 'always not tool_call(\"drop\")'}]")
    past = [[call("shell"), call("drop")] if n % 2 else [call("console"), call("read")] for n in range(60)]
    (tmp_path / "chain.json").write_text(Chain.learn(policy, past).text)
    chain = Chain.load(tmp_path / "chain.json")
    session = Session(policy)
    shell, console = session.propose(call("shell")), session.propose(call("console"))
    risky, safe = session.forecast(chain, within=2, after=shell), session.forecast(chain, within=2, after=console)
    assert risky and safe and risky.least < risky.chance <= risky.most and safe.chance < 0.1 < 0.9 < risky.chance
    assert session.steps == 0 and session.forecast(chain) is not None
    dropped = session.forecast(chain, after=session.propose(call("drop")))
    assert dropped and dropped.chance == 1.0 and dropped.method == "by the chain"
    session.commit(shell)
    twice = session.forecast(chain, pattern='eventually (violated("no-drop") and next eventually violated("no-drop"))')
    assert twice and twice.chance < 0.1
    fork = session.fork()
    fork.observe(call("read"))
    kept, moved = session.forecast(chain), fork.forecast(chain)
    assert kept and moved and kept.chance > moved.chance


def test_impossible_forecast_says_why(shop: Policy) -> None:
    policy = Policy.parse("lictor: 1\nname: p\nproperties: [{id: a, formula: 'always not tool_call(\"drop\")'}]")
    with pytest.raises(ForecastError, match="sessions"):
        Chain.learn(policy, [])
    with pytest.raises(ForecastError, match="chain"):
        Chain.parse("{}")
    with pytest.raises(ForecastError, match="no-such-file"):
        Chain.load("no-such-file")
    chain = Chain.learn(policy, [[call("read")]] * 40)
    with pytest.raises(ForecastError, match="no property `b`"):
        Session(policy).forecast(chain, properties=["b"])
    with pytest.raises(ForecastError, match="pattern"):
        Session(policy).forecast(chain, pattern="G (")
    with pytest.raises(ForecastError, match="learn it"):
        Session(shop).forecast(chain)
    with pytest.raises(ValueError, match="within"):
        Session(policy).forecast(chain, within=0)


def test_open_obligation_is_found_at_end() -> None:
    policy = Policy.parse("lictor: 1\nname: p\nproperties: [{id: answered, formula: always (user_message -> F assistant_message)}]")
    session = Session(policy)
    assert session.observe({"kind": "user_message", "text": "hello"}) == []
    (finding,) = session.finish()
    assert finding.decided is Decided.END and finding.owed
    assert session.report(at_end=True)["verdict"] == "violated"
    assert session.report()["verdict"] == "inconclusive"


def test_tick_reports_missed_deadline() -> None:
    text = "lictor: 1\nname: p\nproperties: [{id: soon, formula: 'always (tool_call -> eventually[0,30s] tool_result)'}]"
    session = Session(Policy.parse(text))
    session.observe({"kind": "tool_call", "tool": "t", "time": "2026-05-01T10:00:00Z"})
    assert session.tick(datetime(2026, 5, 1, 10, 0, 30, tzinfo=timezone.utc)) != []
    with pytest.raises(ValueError, match="zone"):
        session.tick(datetime(2026, 5, 1))


def test_policy_errors_name_their_place() -> None:
    with pytest.raises(PolicyError) as error:
        Policy.parse("lictor: 1\nname: p\nproperties:\n  - {id: a, formula: 'G (', serverity: high}\n", "p.yaml")
    assert "p.yaml:4" in str(error.value) and "did you mean `severity`" in str(error.value)
    with pytest.raises(PolicyError, match="no such file and no such pack"):
        Policy.load("no-such-pack")


@pytest.mark.parametrize(
    "event, message",
    [
        ({"kind": 3}, "kind"),
        ({}, "kind"),
        ({"kind": "tool_call", "args": {"x": object()}}, "`args.x`"),
        ({"kind": "tool_call", "args": {"x": float("nan")}}, "no number of JSON"),
        ({"kind": "user_message", "text": "\ud800"}, "Unicode"),
        ({"kind": "tool_call", "args": {3: 4}}, "key"),
    ],
)
def test_invalid_events_are_refused(shop: Policy, event: Dict[Any, Any], message: str) -> None:
    with pytest.raises(EventError, match=message):
        Session(shop).observe(event)


def test_deep_values_are_refused_and_not_followed(shop: Policy) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(EventError, match="nested"):
        Session(shop).observe({"kind": "tool_call", "args": {"x": deep}})
    while deep:
        deep = deep.pop()


def test_audit_joins_events_of_other_systems(shop: Policy, tmp_path: Path) -> None:
    events = [{"session": "a", "id": "c1", **REFUND}, {"session": "b", "id": "c2", **REFUND}]
    (tmp_path / "approvals.jsonl").write_text('{"kind": "approval", "id": "c1"}\n{"kind": "approval", "id": "c9"}\n')
    (tmp_path / "tickets.jsonl").write_text('{"kind": "ticket", "session": "b"}\n')
    assert [finding.session for finding in audit(events, shop).findings] == ["a", "b"]
    report = audit(events, shop, join=tmp_path / "approvals.jsonl")
    assert [finding.session for finding in report.findings] == ["b"]
    assert (report.totals["joined"], report.totals["unmatched"]) == (1, 1)
    several = audit(events, shop, join=[str(tmp_path / "approvals.jsonl"), tmp_path / "tickets.jsonl"])
    assert several.totals["joined"] == 2
    with pytest.raises(AuditError, match="none.jsonl: no such file"):
        audit(events, shop, join=tmp_path / "none.jsonl")


def test_audit_session_key_names_the_session(shop: Policy) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hello", "meta": {"room": 1}},
        {"role": "assistant", "content": None, "tool_calls": [call], "meta": {"room": 2}},
    ]
    assert audit(messages, shop).totals["sessions"] == 1
    report = audit(messages, shop, session_key="meta.room")
    assert {session["name"]: session["steps"] for session in report.sessions} == {"1": 1, "2": 1}
    assert [finding.session for finding in report.findings] == ["2"]
    with pytest.raises(AuditError, match="member `meta.none`[^`]*`meta.room`"):
        audit(messages, shop, session_key="meta.none")
    unnamed = audit([*messages, {"role": "user", "content": "Hello"}], shop, session_key="meta.room")
    assert {fault["code"] for fault in unnamed.faults} == {"decode.no_session"}


def test_audit_report_names_policy_fingerprint(shop: Policy) -> None:
    assert audit([REFUND], shop).to_dict()["origin"] == {"fingerprint": shop.fingerprint, "command": None}


def test_audit_of_events_equals_audit_of_files(shop: Policy, tmp_path: Path) -> None:
    events = [{"kind": "user_message", "text": "hi"}, REFUND]
    (tmp_path / "trace").write_text("".join(json.dumps(event) + "\n" for event in events))
    told, read = audit(events, shop), audit(tmp_path / "trace", shop)
    assert told.violations == read.violations == ["refunds-are-approved"]
    assert [finding.step for finding in told.findings] == [finding.step for finding in read.findings] == [2]
    assert audit([events, [{"kind": "approval"}, REFUND]], shop).totals["sessions"] == 2
    assert len(audit(iter([events]), shop)) == 1
    known = audit(events, shop, baseline=told)
    assert known.violations == [] and known.totals["known"] == 1


def test_report_renders_in_all_formats(shop: Policy) -> None:
    report = audit([REFUND], shop)
    assert report.to_dict() == json.loads(report.to_json())
    assert report.verdict is Verdict.VIOLATED and not report.is_compliant
    page = report._repr_html_()
    assert page.startswith("<iframe srcdoc=") and "refunds-are-approved" in page
    for form in ("text", "markdown", "html", "sarif", "junit", "jsonl"):
        assert "refunds-are-approved" in report.render(form)
    with pytest.raises(ValueError, match="no format"):
        report.render("docx")


def test_unreadable_log_is_not_compliant(shop: Policy, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"kind":"user_message"}\n{"kind": \n')
    report = audit(tmp_path / "log.jsonl", shop)
    assert len(report.faults) == 1 and not report.is_compliant and not report.is_conclusive
    assert report.verdict is Verdict.INCONCLUSIVE and "1 places not read" in repr(report)
    assert not report.is_exercised and "not put to the test" in repr(report)
    # An empty trace beside others counts as unread.
    assert not audit([[], [{"kind": "approval"}, REFUND]], shop).is_compliant
    with pytest.raises(lictor.AuditError):
        audit(tmp_path / "none.jsonl", shop)
    with pytest.raises(lictor.AuditError, match="no events to judge"):
        audit([], shop)


def test_check_and_explain() -> None:
    assert lictor.check("G a", "F !a")["pairs"][0]["relation"] == "contradict"
    assert "x" in lictor.explain("G !x")["meaning"]
    text = "lictor: 1\nname: p\nproperties: [{id: never, formula: 'G tool_call & F !tool_call'}]"
    assert any("never" in problem for problem in lictor.check(Policy.parse(text))["problems"])


def test_observe_all_equals_repeated_observe(shop: Policy) -> None:
    events = [{"kind": "user_message"}, REFUND, {"kind": "approval"}, REFUND]
    one, many = Session(shop), Session(shop)
    found = [finding for event in events for finding in one.observe(event)]
    assert many.observe_all(iter(events)) == found and len(found) == 1
    assert one.report() == many.report()
    assert many.observe_all([]) == []


def test_hundred_threads_share_nothing(shop: Policy) -> None:
    """Each has its own monitor and session; every second one breaks a property, and only that one reports it."""
    outcomes: List[Any] = [None] * 100
    barrier = threading.Barrier(100)

    def work(number: int) -> None:
        session = Session(shop, f"s{number}")
        monitor = lictor.TrajectorySafetyMonitor()
        barrier.wait()
        found = []
        for step in range(50):
            bad = number % 2 == 0 and step == 25
            found += session.observe(REFUND if bad else {"kind": "user_message", "text": f"born 1990-05-{step % 28 + 1:02}"})
            monitor.observe(lictor.StepObservation(injection_detected=True, output_emitted=bad))
        outcomes[number] = ([finding.session for finding in found], monitor.report()["verdict"], session.steps)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads)
    for number, outcome in enumerate(outcomes):
        expected = ([f"s{number}"], "violated", 50) if number % 2 == 0 else ([], "inconclusive", 50)
        assert outcome == expected


def test_session_is_thread_safe(shop: Policy) -> None:
    session = Session(shop)
    work = [threading.Thread(target=lambda: [session.observe({"kind": "user_message"}) for _ in range(50)]) for _ in range(20)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join(timeout=60)
    assert session.steps == 1000

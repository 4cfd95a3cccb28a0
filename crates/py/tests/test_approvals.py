"""Guarded tools whose calls wait for a person: after an approval the same call runs once."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any, Dict, List

import pytest

from lictor import Action, Decision, Denied, Guard, Policy, StateError

ASK = """
lictor: 1
name: ask
facts: {large(amount): {on: tool_call(refund), when: args.amount > 100, amount: args.amount}}
properties:
  - {id: ask-refund, formula: 'always !large', respond: ask}
  - {id: no-mail, formula: 'always !(tool_call("refund") & carries("email"))', respond: redact}
  - {id: not-after-stop, formula: 'always (tool_call("refund") implies not once user_message)', respond: block}
"""


class Shop:
    """A shop with one guarded tool."""

    def __init__(self, guard: Guard) -> None:
        self.guard, self.ran = guard, []  # type: Guard, List[Any]

        @guard.tool
        def refund(order: str, amount: int, note: str = "") -> str:
            self.ran.append((order, amount, note))
            return "paid"

        self.refund = refund

    def held(self, *args: Any, **named: Any) -> str:
        """Makes a call that waits, and returns the id by which it does."""
        with pytest.raises(Denied) as denied:
            self.refund(*args, **named)
        assert denied.value.decision.action is Action.ASK
        return denied.value.decision.waits_as or ""


@pytest.fixture
def shop() -> Shop:
    return Shop(Guard(Policy.parse(ASK)))


def test_approved_call_runs_once(shop: Shop) -> None:
    id = shop.held("A1", 300)
    settled = shop.guard.approve(id, by="ann").settled
    assert [decision.action for decision in settled] == [Action.FORWARD] and shop.ran == []
    assert shop.refund(order="A1", amount=300) == "paid" and shop.ran == [("A1", 300, "")]
    assert shop.held("A1", 300) != id, "an approval is for one call"


def test_approval_covers_the_same_call_only(shop: Shop) -> None:
    with shop.guard.session("one"):
        shop.guard.approve(shop.held("A1", 300))
        for other in (("A1", 301), ("A2", 300), ("A1", 300, "again")):
            shop.held(*other)
    with shop.guard.session("two"):
        shop.held("A1", 300)
    with shop.guard.session("one"):
        assert shop.refund("A1", 300) == "paid"
    assert shop.ran == [("A1", 300, "")]


def test_approved_call_may_reorder_its_arguments(shop: Shop) -> None:
    guard, args = shop.guard, {"order": "A1", "amount": 300}
    with pytest.raises(Denied) as denied:
        guard.call("refund", args, lambda **_: "paid")
    guard.approve(denied.value.decision.waits_as or "")
    assert guard.call("refund", dict(reversed(args.items())), lambda **_: "paid") == "paid"


@pytest.mark.parametrize(
    "approved, other",
    [
        (9007199254740993, 9007199254740992),
        (2**70 + 1, 2**70),
        (10**200 + 1, 10**200),
        (300.1, 300.1 + 2**-44),
        (9007199254740993, 9007199254740992.0),
    ],
)
def test_approval_serves_exact_numbers_only(shop: Shop, approved: Any, other: Any) -> None:
    shop.guard.approve(shop.held("A1", approved))
    shop.held("A1", other)
    assert shop.refund("A1", approved) == "paid"
    assert shop.ran == [("A1", approved, "")]


def test_denied_call_is_held_anew(shop: Shop) -> None:
    shop.guard.deny(shop.held("A1", 300))
    shop.held("A1", 300)
    assert shop.ran == []


def test_approval_can_be_taken_back(shop: Shop) -> None:
    id = shop.held("A1", 300)
    shop.guard.approve(id, by="ann")
    assert not shop.guard.deny(id, by="ann").settled
    assert shop.held("A1", 300) and shop.ran == []
    with pytest.raises(StateError, match="no call waits"):
        shop.guard.deny("call-unknown")
    used = shop.held("A2", 300)
    shop.guard.approve(used)
    assert shop.refund("A2", 300) == "paid"
    with pytest.raises(StateError, match="no call waits"):
        shop.guard.deny(used)


def test_approval_of_repeated_id_covers_one_call() -> None:
    guard = Guard("agent-safety")
    with pytest.raises(Denied) as denied:
        guard.call("delete_file", {"path": "a"}, lambda **_: "done", id="call_1")
    guard.approve(denied.value.decision.waits_as or "", by="ann")
    for tool, args in (("drop_database", {"name": "prod"}), ("delete_file", {"path": "b"})):
        with pytest.raises(Denied):
            guard.call(tool, args, lambda **_: "done", id="call_1")
    assert guard.call("delete_file", {"path": "a"}, lambda **_: "done", id="call_1") == "done"
    with pytest.raises(Denied):
        guard.call("delete_file", {"path": "a"}, lambda **_: "done", id="call_1")


def test_forked_process_uses_no_approval(shop: Shop) -> None:
    shop.guard.approve(shop.held("A1", 300))
    child = os.fork()
    if child == 0:
        try:
            shop.refund("A1", 300)
            os._exit(1)
        except StateError as error:
            os._exit(0 if "forking" in str(error) and not shop.ran else 2)
    _, status = os.waitpid(child, 0)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    assert shop.refund("A1", 300) == "paid"


def test_approval_expires_with_patience() -> None:
    shop = Shop(Guard(Policy.parse(ASK), patience=0))
    settled = shop.guard.approve(shop.held("A1", 300)).settled
    assert [(decision.action, decision.refused) for decision in settled] == [(Action.BLOCK, "no reviewer answered in time")]
    shop.held("A1", 300)
    assert shop.ran == []


def test_approval_waives_nothing_else(shop: Shop) -> None:
    shop.guard.approve(shop.held("A1", 300))
    shop.guard.decide({"kind": "user_message", "text": "Stop!"})
    with pytest.raises(Denied) as denied:
        shop.refund("A1", 300)
    assert denied.value.decision.action is Action.BLOCK and shop.ran == []


def test_approved_call_runs_as_it_was_redacted(shop: Shop) -> None:
    note = "mail ann@example.org"
    shop.guard.approve(shop.held("A1", 300, note))
    assert shop.refund("A1", 300, note) == "paid"
    assert shop.ran == [("A1", 300, "mail [redacted]")]


def test_approved_call_runs_async() -> None:
    guard, ran = Guard(Policy.parse(ASK)), []  # type: Guard, List[int]

    @guard.tool
    async def refund(amount: int) -> int:
        ran.append(amount)
        return amount

    async def run() -> int:
        with pytest.raises(Denied) as denied:
            await refund(300)
        guard.approve(denied.value.decision.waits_as or "")
        return await refund(300)

    assert asyncio.run(run()) == 300 and ran == [300]


def test_approval_within_on_decision_counts() -> None:
    def answer(decision: Decision) -> None:
        if decision.action is Action.ASK:
            guard.approve(decision.waits_as or "")

    guard = Guard(Policy.parse(ASK), on_decision=answer)
    shop = Shop(guard)
    shop.held("A1", 300)
    assert shop.refund("A1", 300) == "paid"


def test_failing_approver_denies_the_call() -> None:
    def fails(_: Decision) -> bool:
        raise OSError("no reviewer")

    told: List[Decision] = []
    shop = Shop(Guard(Policy.parse(ASK), approve=fails, on_decision=told.append))
    with pytest.raises(OSError, match="no reviewer"):
        shop.refund("A1", 300)
    with pytest.raises(StateError, match="no call waits"):
        shop.guard.approve(told[0].waits_as or "")


def records(log: Path) -> List[Dict[str, Any]]:
    lines = (line for file in sorted((log / "records").iterdir()) for line in file.read_text().splitlines())
    return [record["body"] for record in map(json.loads, lines) if "body" in record]


def test_ledger_has_one_record_of_approved_call(tmp_path: Path) -> None:
    with Guard(Policy.parse(ASK), log=tmp_path / "log") as guard:
        shop = Shop(guard)
        id = shop.held("A1", 300)
        guard.approve(id)
        assert shop.refund("A1", 300) == "paid"
    seen = [(one["type"], one.get("kind"), one.get("action")) for one in records(tmp_path / "log")]
    assert seen == [
        ("decision", "tool_call", "ask"),
        ("decision", "approval", "forward"),
        ("decision", "tool_call", "forward"),
        ("carried_out", None, "forward"),
        ("decision", "tool_result", "forward"),
        ("ended", None, None),
    ]
    asked, answered, settled, carried_out, *_ = records(tmp_path / "log")
    assert asked["approval"] == answered["approval"] == settled["approval"] == carried_out["approval"]


def test_result_has_id_of_approved_call() -> None:
    policy = """
lictor: 1
name: ids
facts:
  calls(id): {on: tool_call(refund), id: id}
  returns(id): {on: tool_result(refund), id: id}
properties:
  - {id: ask-refund, formula: 'always !tool_call("refund")', respond: ask}
  - {id: results-have-calls, formula: 'always forall i. (returns(i) -> once calls(i))', respond: block}
"""
    guard = Guard(Policy.parse(policy))
    with pytest.raises(Denied) as denied:
        guard.call("refund", {}, lambda: "paid", id="first")
    guard.approve(denied.value.decision.waits_as or "")
    assert guard.call("refund", {}, lambda: "paid", id="second") == "paid"

"""Guards: decisions, the decorator, persons who are asked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, List

import pytest

import lictor
from lictor import Action, Denied, Guard, Policy, Response

ASK = """
lictor: 1
name: ask
properties:
  - {id: ask-delete, formula: 'always !tool_call("delete")', respond: ask}
  - {id: steer, formula: 'always !tool_call("slow")', respond: steer, remedy: Use fast.}
"""


def test_the_decorator_decides_first(shop: Policy) -> None:
    guard, entered = Guard(shop), []

    @guard.tool
    def refund(order: str, amount: float = 1.0) -> str:
        """Pays back."""
        entered.append(order)
        return order

    with pytest.raises(Denied) as denied:
        refund("A1")
    assert entered == [] and denied.value.decision.action is Action.BLOCK
    assert denied.value.decision.objections[0].response is Response.BLOCK
    assert "What would be right" in str(denied.value)
    assert refund.__name__ == "refund" and refund.__doc__ == "Pays back."
    guard.decide({"kind": "approval"})
    assert refund("A1", amount=2.0) == "A1" and entered == ["A1"]


def test_arguments_and_results_are_rewritten(shop: Policy) -> None:
    guard, seen = Guard(shop), []

    @guard.tool(name="mail")
    def anything(to: str, note: Any, **more: Any) -> Any:
        seen.append((to, note, more))
        return {"kept": [1, 2], "dob": "1990-05-17"}

    untouched = (1, 2)
    result = anything("ada", untouched, dob="1990-05-17", other="x")
    assert seen == [("ada", untouched, {"other": "x"})] and seen[0][1] is untouched
    assert result == {"kept": [1, 2]}


def test_async_tools(shop: Policy) -> None:
    guard, entered = Guard(shop), []

    @guard.tool
    async def refund(order: str) -> str:
        entered.append(order)
        return f"born 1990-05-17 {order}"

    async def run() -> str:
        with pytest.raises(Denied):
            await refund("A1")
        guard.decide({"kind": "approval"})
        return await refund("A2")

    assert asyncio.run(run()) == "born [redacted] A2" and entered == ["A2"]


def test_a_tool_that_fails_is_an_event_and_fails(shop: Policy) -> None:
    guard = Guard(Policy.parse("lictor: 1\nname: p\nproperties: [{id: f, formula: 'G !tool_failed', respond: warn}]"))

    @guard.tool
    def broken() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        broken()
    assert [finding.property for finding in guard.finish()] == []
    told: List[lictor.Decision] = []
    guard = Guard(Policy.parse("lictor: 1\nname: p\nproperties: [{id: f, formula: 'G !tool_failed', respond: steer}]"), on_decision=told.append)
    with pytest.raises(KeyError):
        guard.call("broken", {}, lambda: dict[str, str]()["x"])
    assert [decision.action for decision in told] == [Action.STEER]


def test_a_person_is_asked() -> None:
    policy = Policy.parse(ASK)
    asked: List[lictor.Decision] = []

    def delete() -> str:
        return "deleted"

    with pytest.raises(Denied) as denied:
        Guard(policy).call("delete", {}, delete)
    assert denied.value.decision.action is Action.ASK and denied.value.decision.waits_as

    def approve(decision: lictor.Decision) -> bool:
        asked.append(decision)
        return True

    assert Guard(policy, approve=approve).call("delete", {}, delete) == "deleted" and len(asked) == 1
    with pytest.raises(Denied):
        Guard(policy, approve=lambda _: False).call("delete", {}, delete)


def test_steering_goes_on_and_is_told() -> None:
    told: List[lictor.Decision] = []
    guard = Guard(Policy.parse(ASK), on_decision=told.append)
    assert guard.call("slow", {}, lambda: 1) == 1
    assert told[0].action is Action.STEER and "Use fast." in (told[0].message or "")


def test_sessions_are_apart(shop: Policy) -> None:
    guard = Guard(shop)
    with guard.session("one"):
        guard.decide({"kind": "approval"})
        assert guard.call("refund", {"order": "A1"}, lambda order: order) == "A1"
    with guard.session("two"), pytest.raises(Denied):
        guard.call("refund", {"order": "A1"}, lambda order: order)
    guard.finish("one")
    with guard.session("one"), pytest.raises(Denied):
        guard.call("refund", {"order": "A1"}, lambda order: order)


def test_tasks_have_the_session_of_their_context(shop: Policy) -> None:
    guard = Guard(shop)

    async def one(name: str, approved: bool) -> bool:
        with guard.session(name):
            await asyncio.sleep(0)
            if approved:
                guard.decide({"kind": "approval"})
            await asyncio.sleep(0)
            return guard.decide({"kind": "tool_call", "tool": "refund"}).goes_on

    async def run() -> List[bool]:
        return list(await asyncio.gather(*(one(f"s{number}", number % 3 == 0) for number in range(30))))

    assert asyncio.run(run()) == [number % 3 == 0 for number in range(30)]


def test_tools_by_place_only_are_refused_loudly(shop: Policy) -> None:
    guard = Guard(shop)

    @guard.tool
    def strange(*values: int) -> int:
        return sum(values)

    with pytest.raises(TypeError, match="by name"):
        strange(1, 2)


def test_results_that_are_objects_pass_as_they_are(shop: Policy) -> None:
    @dataclass
    class Thing:
        name: str

    thing = Thing("teapot")
    assert Guard(shop).call("make", {}, lambda: thing) is thing

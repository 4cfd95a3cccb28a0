"""Guards: decisions, the decorator, approvals."""

from __future__ import annotations

import asyncio
import functools
import pickle
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


def test_decorator_decides_before_the_call(shop: Policy) -> None:
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
    assert seen == [("ada", untouched, {"dob": "[redacted]", "other": "x"})] and seen[0][1] is untouched
    assert result == {"kept": [1, 2], "dob": "[redacted]"}


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


def test_failed_tool_is_an_event(shop: Policy) -> None:
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


def test_ask_calls_approve_or_denies() -> None:
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


def test_steered_call_runs_and_is_reported() -> None:
    told: List[lictor.Decision] = []
    guard = Guard(Policy.parse(ASK), on_decision=told.append)
    assert guard.call("slow", {}, lambda: 1) == 1
    assert told[0].action is Action.STEER and "Use fast." in (told[0].message or "")


def test_only_true_approves() -> None:
    policy = Policy.parse(ASK)

    async def later(_: Any) -> bool:
        return True

    for said in ("yes", 1, None, False):
        with pytest.raises(Denied):
            Guard(policy, approve=lambda _, said=said: said).call("delete", {}, lambda: "deleted")  # type: ignore[misc]
    with pytest.raises(lictor.StateError, match="wait"):
        Guard(policy, approve=later).call("delete", {}, lambda: "deleted")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="approve"):
        Guard(policy, approve=3)  # type: ignore[arg-type]


def test_yielded_values_are_judged_as_a_whole(shop: Policy) -> None:
    guard = Guard(shop)
    secret = "Ada, born 1990-05-17"

    @guard.tool
    def yields() -> Any:
        yield secret
        yield "and more"

    assert list(yields()) == ["Ada, born [redacted]", "and more"]
    assert list(guard.call("t", {}, lambda: map(str, [secret]))) == ["Ada, born [redacted]"]

    async def waits() -> str:
        return secret

    with pytest.raises(TypeError, match="wait"):
        guard.call("t", {}, waits)
    with pytest.raises(TypeError, match="list"):

        @guard.tool
        async def streams() -> Any:
            yield secret


def test_exception_of_tool_is_redacted(shop: Policy) -> None:
    guard = Guard(shop)

    def fails(text: str) -> None:
        raise KeyError(text)

    with pytest.raises(KeyError):
        guard.call("t", {"text": "no such order"}, fails)
    with pytest.raises(lictor.ToolError) as error:
        guard.call("u", {"text": "none"}, lambda text: fails("Ada, born 1990-05-17"))
    assert "1990" not in str(error.value) and error.value.__suppress_context__


def test_event_names_its_session(shop: Policy) -> None:
    guard, refund = Guard(shop), {"kind": "tool_call", "tool": "refund"}
    guard.decide({"kind": "approval", "session": "B2"})
    assert not guard.decide(refund).takes_effect and guard.decide(refund, "B2").takes_effect
    with pytest.raises(lictor.EventError, match="session"):
        guard.decide({"kind": "approval", "session": "B2"}, "C3")
    for wrong in (None, "x", 3, ["kind"]):
        with pytest.raises(lictor.EventError):
            guard.decide(wrong)  # type: ignore[arg-type]


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
            return guard.decide({"kind": "tool_call", "tool": "refund"}).takes_effect

    async def run() -> List[bool]:
        return list(await asyncio.gather(*(one(f"s{number}", number % 3 == 0) for number in range(30))))

    assert asyncio.run(run()) == [number % 3 == 0 for number in range(30)]


def test_positional_only_tools_are_refused(shop: Policy) -> None:
    guard = Guard(shop)

    @guard.tool
    def strange(*values: int) -> int:
        return sum(values)

    with pytest.raises(TypeError, match="by name"):
        strange(1, 2)


def test_unchanged_result_is_the_same_object(shop: Policy) -> None:
    @dataclass
    class Thing:
        name: str

    thing = Thing("teapot")
    assert Guard(shop).call("make", {}, lambda: thing) is thing


def test_non_json_results_are_judged_as_text(shop: Policy) -> None:
    guard = Guard(shop)
    for odd in (float("nan"), 2**200, {(1, 2): "x"}, "\ud800", [float("inf")], {"n": -(2**70)}):
        assert guard.call("make", {"odd": odd}, lambda odd: odd) is odd
    shown = guard.call("make", {}, lambda: {(1, 2): "born 1990-05-17"})
    assert "1990" not in str(shown)


def test_long_integers_stay_distinct() -> None:
    rules = """
lictor: 1
name: p
facts:
  looked(o): {on: tool_call(look), o: args.order}
  refunded(o): {on: tool_call(refund), o: args.order}
properties:
  - {id: looked-first, formula: 'always forall o. (refunded(o) -> once looked(o))', respond: block}
"""
    guard = Guard(Policy.parse(rules))
    guard.call("look", {"order": 1234567890123456789}, lambda order: order)
    with pytest.raises(Denied):
        guard.call("refund", {"order": 1234567890123456700}, lambda order: order)
    assert guard.call("refund", {"order": 1234567890123456789}, lambda order: order) == 1234567890123456789


def test_self_and_cls_are_not_arguments(shop: Policy) -> None:
    guard = Guard(shop)

    @dataclass
    class Clerk:
        note: str

        @guard.tool
        def look_up(self, order: str) -> str:
            return f"{order}: {self.note}"

        @classmethod
        @guard.tool
        def kind(cls) -> str:
            return cls.__name__

    assert Clerk("born 1990-05-17").look_up("A1") == "A1: born [redacted]"
    assert Clerk.kind() == "Clerk"

    @guard.tool
    def post(**fields: str) -> List[str]:
        return list(fields.values())

    assert post(self="born 1990-05-17") == ["born [redacted]"]


def test_denied_can_be_pickled(shop: Policy) -> None:
    with pytest.raises(Denied) as raised:
        Guard(shop).call("refund", {}, lambda: None)
    again = pickle.loads(pickle.dumps(raised.value))
    assert isinstance(again, Denied) and again.decision == raised.value.decision and str(again) == str(raised.value)


def test_all_exceptions_of_a_group_are_judged(shop: Policy) -> None:
    class Group(Exception):
        exceptions = (ValueError("Ada, born 1990-05-17"),)

    def fails() -> None:
        raise Group("two failed")

    with pytest.raises(lictor.ToolError, match="born .redacted."):
        Guard(shop).call("make", {}, fails)


def test_tool_and_session_need_names(shop: Policy) -> None:
    guard = Guard(shop)
    with pytest.raises(TypeError, match="name=…"):
        guard.tool(functools.partial(print))
    with pytest.raises(TypeError, match="session is a string"):
        with guard.session(None):  # type: ignore[arg-type]
            pass


def test_objective_is_added_changed_and_removed() -> None:
    guard = Guard(Policy.parse(ASK))
    mail = {"kind": "tool_call", "tool": "mail"}
    assert guard.decide(mail).action is Action.FORWARD
    guard.add_objective({"id": "no-mail", "formula": 'always !tool_call("mail")', "respond": "block"})
    assert guard.decide(mail).action is Action.BLOCK
    assert guard.decide(mail, session="other").action is Action.FORWARD
    guard.change_objective("no-mail", respond="steer", priority=3)
    assert guard.decide(mail).action is Action.STEER
    guard.remove_objective("no-mail")
    guard.remove_objective("ask-delete")
    assert guard.decide(mail).action is Action.FORWARD
    assert guard.decide({"kind": "tool_call", "tool": "delete"}).action is Action.FORWARD
    with pytest.raises(lictor.PolicyError, match="no property `no-mail`"):
        guard.remove_objective("no-mail")
    with pytest.raises(lictor.PolicyError, match="did you mean `always`"):
        guard.add_objective("{id: x, formula: alwyas y}")


def test_session_tells_obligations_and_stopped_calls() -> None:
    session = lictor.Session(
        Policy.parse(
            """
lictor: 1
name: s
facts: {dollars: {on: tool_call(transfer), when: 'args.currency == "USD"'}}
properties:
  - {id: logged, says: Logged., formula: 'always (tool_call("sell") -> eventually tool_call("log"))', remedy: Log it.}
  - {id: no-dollars, formula: always !dollars, respond: block}
"""
        )
    )
    assert session.obligations() == []
    session.observe({"kind": "tool_call", "tool": "sell"})
    [owed] = session.obligations()
    assert (owed["property"], owed["remedy"], owed["due"]) == ("logged", "Log it.", None)
    assert owed["settled_by"] == ['tool_call("log")']
    assert session.stopping("transfer") == []
    assert session.stopping("transfer", {"currency": "USD"}) == ["no-dollars"]
    assert session.stopping("transfer", {"currency": "EUR"}) == []

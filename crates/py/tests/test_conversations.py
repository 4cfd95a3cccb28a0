"""Sessions of wrapped clients: each conversation is one, unless the caller names it."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Callable, Dict, List, Optional, Tuple

import anthropic
import openai
import pytest
from scripted_model import scripted_model

import lictor
from lictor import Action, Guard, Policy, StateError

#: An order is charged once, and a refund is approved first.
SHOP = """
lictor: 1
name: shop
properties:
  - {id: one-charge, formula: 'always (tool_call("charge") implies not previous once tool_call("charge"))', respond: block}
  - {id: ask-refund, formula: 'always !tool_call("refund")', respond: ask}
"""
CHARGE: Any = [("charge", {"order": "A1"})]
REFUND: Any = [("refund", {"order": "A1"})]
ANN, BOB = "I am Ann.", "I am Bob."

Names = List[str]


def user(*texts: str) -> List[Dict[str, Any]]:
    return [{"role": "user", "content": text} for text in texts]


def names_of_chat(reply: Any) -> Names:
    return [call.function.name for call in reply.choices[0].message.tool_calls or []]


def names_of_response(reply: Any) -> Names:
    return [item.name for item in reply.output if item.type == "function_call"]


def names_of_message(reply: Any) -> Names:
    return [block.name for block in reply.content if block.type == "tool_use"]


def open_chat(url: str) -> Tuple[Any, Any]:
    return openai.OpenAI(api_key="x", base_url=f"{url}/v1"), openai.AsyncOpenAI(api_key="x", base_url=f"{url}/v1")


def open_messages(url: str) -> Tuple[Any, Any]:
    return anthropic.Anthropic(api_key="x", base_url=url), anthropic.AsyncAnthropic(api_key="x", base_url=url)


#: How to open the clients of an interface, what to call, and how to read its reply.
INTERFACES: Dict[str, Tuple[Callable[[str], Tuple[Any, Any]], Callable[..., Any], Callable[[Any], Names]]] = {
    "chat": (open_chat, lambda client, said: client.chat.completions.create(model="m", messages=said), names_of_chat),
    "responses": (open_chat, lambda client, said: client.responses.create(model="m", input=said), names_of_response),
    "messages": (
        open_messages,
        lambda client, said: client.messages.create(model="m", max_tokens=9, messages=said),
        names_of_message,
    ),
}


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("interface", INTERFACES)
def test_conversations_are_told_apart(interface: str, is_async: bool) -> None:
    opened, call, names = INTERFACES[interface]
    guard = Guard(Policy.parse(SHOP))
    turns = [CHARGE, CHARGE, CHARGE, "No.", "No."]

    async def talk(url: str) -> List[Names]:
        client = guard.wrap(opened(url)[is_async])
        seen = []
        for said in (user(ANN), user(BOB), [*user(ANN), {"role": "assistant", "content": "Fine."}, *user("Again.")]):
            reply = call(client, said)
            seen.append(names(await reply if is_async else reply))
        return seen

    with scripted_model(turns) as model:
        seen = asyncio.run(talk(model.url))
    assert seen == [["charge"], ["charge"], []], "one charge for each customer, and no second one"


def test_streamed_conversations_are_told_apart() -> None:
    guard = Guard(Policy.parse(SHOP))
    seen = []
    with scripted_model([CHARGE, CHARGE, CHARGE, "No.", "No."]) as model:
        client = guard.wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1"))
        for said in (ANN, BOB, BOB):
            with client.chat.completions.stream(model="m", messages=user(said)) as stream:
                seen.append(names_of_chat(stream.get_final_completion()))
    assert seen == [["charge"], ["charge"], []]


def test_continued_response_keeps_its_session() -> None:
    guard = Guard(Policy.parse(SHOP))
    with scripted_model(["Hi.", CHARGE, "Hi.", CHARGE, CHARGE, "No.", CHARGE]) as model:
        client = guard.wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1"))
        seen = []
        for customer, times in ((ANN, 1), (BOB, 2)):
            reply = client.responses.create(model="m", input=customer)
            for _ in range(times):
                reply = client.responses.create(model="m", input="Go on.", previous_response_id=reply.id)
                seen.append(names_of_response(reply))
        # A response from before this guard is a conversation too, and no one else's.
        reply = client.responses.create(model="m", input="Go on.", previous_response_id="older")
        seen.append(names_of_response(reply))
    assert seen == [["charge"], ["charge"], [], ["charge"]]


def session_of(client: Any, said: str, **more: Any) -> str:
    return str(client.chat.completions.with_raw_response.create(model="m", messages=user(said), **more).headers["x-lictor-session-name"])


def test_session_is_named_by_id_user_or_caller() -> None:
    guard = Guard(Policy.parse(SHOP))
    with scripted_model([]) as model:
        client = guard.wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1"))
        same = session_of(client, "Hello.")
        assert session_of(client, "Hello.") == same, "conversations that begin alike are one"
        by_user = session_of(client, "Hello.", user="ann")
        assert by_user not in (same, session_of(client, "Hello.", user="bob"))
        assert session_of(client, "Hello.", metadata={"session_id": "a-7"}) == "a-7"
        with guard.session("Zoë"):
            assert session_of(client, "Hello.") == "Zo%C3%AB" and session_of(client, "Other.") == "Zo%C3%AB"
        bare: List[Any] = [{"role": "system", "content": "Greet."}]
        raw = client.chat.completions.with_raw_response.create(model="m", messages=bare)
        assert raw.headers["x-lictor-session-name"] == guard.current


def test_finished_conversation_begins_again() -> None:
    guard = Guard(Policy.parse(SHOP))
    with scripted_model([CHARGE, CHARGE]) as model:
        client = guard.wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1"))
        for _ in range(2):
            raw = client.chat.completions.with_raw_response.create(model="m", messages=user(ANN))
            assert names_of_chat(raw.parse()) == ["charge"]
            guard.finish(raw.headers["x-lictor-session-name"])


def test_approval_counts_in_its_conversation_only() -> None:
    asked: List[lictor.Decision] = []
    guard = Guard(Policy.parse(SHOP), on_decision=asked.append)
    with scripted_model([REFUND] * 4) as model:
        client = guard.wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1"))

        def ask(customer: str) -> Names:
            return names_of_chat(client.chat.completions.create(model="m", messages=user(customer)))

        assert ask(ANN) == [] and ask(BOB) == []
        ann, bob = [decision for decision in asked if decision.action is Action.ASK]
        assert ann.session != bob.session and ann.waits_as
        settled = guard.approve(ann.waits_as, by="clerk").settled
        assert [decision.session for decision in settled] == [ann.session]
        assert ask(ANN) == ["refund"]
        assert ask(BOB) == [], "the approval was for the other customer"


def test_unnamed_step_beside_clients_is_refused() -> None:
    guard = Guard(Policy.parse(SHOP))
    event = {"kind": "approval"}
    assert guard.decide(event).takes_effect
    guard.wrap(openai.OpenAI(api_key="x", base_url="http://127.0.0.1:9/v1"))
    steps: List[Callable[[], Any]] = [
        lambda: guard.decide(event),
        lambda: guard.call("charge", {}, lambda: None),
        lambda: guard.add_objective({"id": "n", "formula": 'always !tool_call("n")'}),
        guard.owed,
        guard.finish,
    ]
    for step in steps:
        with pytest.raises(StateError, match="not named"):
            step()
    assert guard.decide(event, "a").takes_effect and guard.decide({**event, "session": "a"}).takes_effect
    with guard.session("a"):
        assert guard.decide(event).takes_effect and guard.finish() == []


def test_answer_needs_a_pending_call() -> None:
    guard = Guard(Policy.parse(SHOP))
    refund = {"kind": "tool_call", "tool": "refund", "id": "r"}

    def answer(id: str, session: Optional[str] = None) -> List[str]:
        return [decision.session for decision in guard.approve(id, session=session).settled]

    with pytest.raises(StateError, match="no call waits for an answer as `r`"):
        guard.approve("r")
    for session in ("a", "b"):
        assert guard.decide(refund, session).action is Action.ASK
    with pytest.raises(StateError, match="`a`, `b`"):
        guard.approve("r")
    with pytest.raises(StateError, match="`a`, `b`"):
        guard.deny("r", session="c")
    assert answer("r", "b") == ["b"] and answer("r") == ["a"]
    with pytest.raises(StateError, match="no call waits"):
        guard.deny("r")
    with guard.session("d"):
        guard.decide(refund)
        assert answer("r") == ["d"]


def test_empty_session_name_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        with Guard(Policy.parse(SHOP)).session(""):
            pass


def test_session_names_do_not_repeat_between_guards(tmp_path: Any) -> None:
    names = []
    with scripted_model([]) as model:
        for _ in range(2):
            with Guard(Policy.parse(SHOP), log=tmp_path / "log") as guard:
                names.append(session_of(guard.wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1")), "Hello."))
    assert len(set(names)) == 2 and "Hello" not in json.dumps(names)

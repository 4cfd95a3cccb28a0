"""Clients of models through the guard: synchronous, asynchronous, streamed; the vendors' own libraries read it."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Dict, List, Tuple

import anthropic
import httpx
import openai
import pytest
from scripted_model import scripted_model

import lictor
from lictor import Guard, Policy

LOOK = ("look_up", {"order": "A1"})
MAIL = ("send_mail", {"to": "ada@example.org", "body": "Ada, born 1990-05-17"})
REFUND = ("refund", {"order": "A1"})
SCRIPT: List[Any] = [[LOOK, MAIL, REFUND]]
ASK: List[Any] = [{"role": "user", "content": "Where is it?"}]
#: The calls that must arrive: one unchanged, one without the date; the third is denied.
ALLOWED = [LOOK, ("send_mail", {"to": "ada@example.org", "body": "Ada, born [redacted]"})]


def chat_calls(message: Any) -> Tuple[List[Any], str]:
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]
    return calls, message.content or ""


def check(calls: List[Any], text: str) -> None:
    assert calls == ALLOWED
    assert "refunds-are-approved" in text and "1990" not in json.dumps(calls)


def test_chat(shop: Policy) -> None:
    with scripted_model(SCRIPT) as model:
        client = Guard(shop).wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1"))
        check(*chat_calls(client.chat.completions.create(model="m", messages=ASK).choices[0].message))


def test_websockets_are_refused(shop: Policy) -> None:
    client = Guard(shop).wrap(openai.OpenAI(api_key="x", base_url="http://127.0.0.1:9/v1"))
    for resource in (client.realtime, client.responses):
        with pytest.raises(lictor.StateError, match="WebSocket"):
            resource.connect(model="m")
    assert ".invalid" in str(client.with_options(timeout=3).websocket_base_url)


def test_copies_with_own_http_client_are_guarded(shop: Policy) -> None:
    with scripted_model(SCRIPT * 4) as model:
        client = Guard(shop).wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1"))
        copies = [
            client.with_options(http_client=openai.DefaultHttpxClient(timeout=9)),
            client.copy(http_client=openai.DefaultHttpxClient()),
            client.with_options(timeout=9).with_options(http_client=openai.DefaultHttpxClient()),
            client.with_options(http_client=client._client),
        ]
        for number, copy in enumerate(copies):
            asked: List[Any] = [{"role": "user", "content": f"Where is {number}?"}]
            check(*chat_calls(copy.chat.completions.create(model="m", messages=asked).choices[0].message))
    with scripted_model(SCRIPT) as model:
        other = Guard(shop).wrap(anthropic.Anthropic(api_key="x", base_url=model.url))
        own = other.with_options(http_client=anthropic.DefaultHttpxClient())
        check(*message_calls(own.messages.create(model="m", max_tokens=9, messages=ASK)))


def test_async_copies_with_own_http_client_are_guarded(shop: Policy) -> None:
    async def run(url: str) -> Any:
        client = Guard(shop).wrap(openai.AsyncOpenAI(api_key="x", base_url=f"{url}/v1"))
        own = client.with_options(http_client=openai.DefaultAsyncHttpxClient())
        return (await own.chat.completions.create(model="m", messages=ASK)).choices[0].message

    async def run_messages(url: str) -> Any:
        client = Guard(shop).wrap(anthropic.AsyncAnthropic(api_key="x", base_url=url))
        own = client.copy(http_client=anthropic.DefaultAsyncHttpxClient())
        return await own.messages.create(model="m", max_tokens=9, messages=ASK)

    with scripted_model(SCRIPT) as model:
        check(*chat_calls(asyncio.run(run(model.url))))
    with scripted_model(SCRIPT) as model:
        check(*message_calls(asyncio.run(run_messages(model.url))))


def test_chat_streamed(shop: Policy) -> None:
    with scripted_model(SCRIPT) as model:
        client = Guard(shop).wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1"))
        with client.chat.completions.stream(model="m", messages=ASK) as stream:
            check(*chat_calls(stream.get_final_completion().choices[0].message))


def test_chat_async_and_streamed(shop: Policy) -> None:
    async def run(stream: bool, url: str) -> Any:
        client = Guard(shop).wrap(openai.AsyncOpenAI(api_key="x", base_url=f"{url}/v1"))
        if not stream:
            return (await client.chat.completions.create(model="m", messages=ASK)).choices[0].message
        async with client.chat.completions.stream(model="m", messages=ASK) as flow:
            return (await flow.get_final_completion()).choices[0].message

    for stream in (False, True):
        with scripted_model(SCRIPT) as model:
            check(*chat_calls(asyncio.run(run(stream, model.url))))


def message_calls(message: Any) -> Tuple[List[Any], str]:
    calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    return calls, "".join(block.text for block in message.content if block.type == "text")


def test_messages(shop: Policy) -> None:
    with scripted_model([*SCRIPT, *SCRIPT]) as model:
        client = Guard(shop).wrap(anthropic.Anthropic(api_key="x", base_url=model.url))
        check(*message_calls(client.messages.create(model="m", max_tokens=9, messages=ASK)))
        with client.messages.stream(model="m", max_tokens=9, messages=ASK) as stream:
            check(*message_calls(stream.get_final_message()))


def test_messages_async_and_streamed(shop: Policy) -> None:
    async def run(url: str) -> Any:
        client = Guard(shop).wrap(anthropic.AsyncAnthropic(api_key="x", base_url=url))
        plain = await client.messages.create(model="m", max_tokens=9, messages=ASK)
        async with client.messages.stream(model="m", max_tokens=9, messages=ASK) as stream:
            return plain, await stream.get_final_message()

    with scripted_model([*SCRIPT, *SCRIPT]) as model:
        for message in asyncio.run(run(model.url)):
            check(*message_calls(message))


def response_calls(response: Any) -> Tuple[List[Any], str]:
    calls = [(item.name, json.loads(item.arguments)) for item in response.output if item.type == "function_call"]
    return calls, response.output_text


def test_responses(shop: Policy) -> None:
    with scripted_model([*SCRIPT, *SCRIPT]) as model:
        client = Guard(shop).wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1"))
        check(*response_calls(client.responses.create(model="m", input="Where is it?")))
        with client.responses.stream(model="m", input="Where is it?") as stream:
            check(*response_calls(stream.get_final_response()))


def test_responses_async_and_streamed(shop: Policy) -> None:
    async def run(url: str) -> Any:
        client = Guard(shop).wrap(openai.AsyncOpenAI(api_key="x", base_url=f"{url}/v1"))
        plain = await client.responses.create(model="m", input="Where is it?")
        async with client.responses.stream(model="m", input="Where is it?") as stream:
            return plain, await stream.get_final_response()

    with scripted_model([*SCRIPT, *SCRIPT]) as model:
        for response in asyncio.run(run(model.url)):
            check(*response_calls(response))


def test_denial_is_sent_with_previous_response_id(shop: Policy) -> None:
    with scripted_model([[REFUND], [REFUND], [REFUND], "Well then."]) as model:
        client = Guard(shop).wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1"))
        # The model insists, so that the client gets the denial.
        with client.responses.stream(model="m", input="Pay me back.") as stream:
            first = stream.get_final_response()
        assert response_calls(first)[0] == []
        client.responses.create(model="m", input=ASK, previous_response_id=first.id)
    answer, *_ = model.requests[3]["input"]
    assert answer["type"] == "function_call_output" and answer["call_id"] == "call_3_0"
    assert "refunds-are-approved" in answer["output"]


def test_denied_call_is_corrected(shop: Policy) -> None:
    with scripted_model([[REFUND], "Well then."]) as model:
        client = Guard(shop).wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1"))
        said = client.responses.create(model="m", input="Pay me back.")
    assert response_calls(said) == ([], "Well then.")
    asked, call, answer = model.requests[1]["input"]
    assert asked["content"] == "Pay me back." and call["call_id"] == answer["call_id"]
    assert "refunds-are-approved" in answer["output"]


def test_denied_call_is_corrected_async(shop: Policy) -> None:
    async def run(url: str) -> Any:
        client = Guard(shop).wrap(anthropic.AsyncAnthropic(api_key="x", base_url=url))
        return await client.messages.create(model="m", max_tokens=9, messages=ASK)

    with scripted_model([[REFUND], "Well then."]) as model:
        said = asyncio.run(run(model.url))
    assert message_calls(said) == ([], "Well then.")
    assert "refunds-are-approved" in json.dumps(model.requests[1]["messages"][-1])


def test_redaction_applies_to_later_requests(shop: Policy) -> None:
    """A client sends its unredacted history again; the model must never see the redacted part."""
    results: List[Any] = [
        {"role": "user", "content": "Who?"},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "Ada, born 1990-05-17"},
    ]
    with scripted_model(["One.", "Two."]) as model:
        client = Guard(shop).wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1"))
        first = client.chat.completions.create(model="m", messages=results).choices[0].message
        again = [*results, {"role": "assistant", "content": first.content}, {"role": "user", "content": "And?"}]
        client.chat.completions.create(model="m", messages=again)
    assert len(model.requests) == 2
    for request in model.requests:
        assert request["messages"][2]["content"] == "Ada, born [redacted]"


def test_conversation_events_are_judged_once(shop: Policy) -> None:
    policy = Policy.parse("lictor: 1\nname: p\nproperties: [{id: once, formula: 'G(user_message -> !Y O user_message)', respond: steer}]")
    told: List[lictor.Decision] = []
    guard = Guard(policy, on_decision=told.append)
    messages = list(ASK)
    with scripted_model(["One.", "Two."]) as model:
        client = guard.wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1"))
        for _ in range(2):
            said = client.chat.completions.create(model="m", messages=messages).choices[0].message.content
            messages.append({"role": "assistant", "content": said})
    assert told == []


def test_blocked_user_message_is_not_sent() -> None:
    rules = "lictor: 1\nname: p\nfacts:\n  pin: {on: user_message, where: {text: /PIN/}}\nproperties:\n  - {id: no-pins, formula: 'always not pin', respond: block}\n"
    guard = Guard(Policy.parse(rules))
    with scripted_model(["Fine."]) as model:
        client = guard.wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1", max_retries=0))
        for _ in range(2):
            with pytest.raises(openai.PermissionDeniedError, match="no-pins"):
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": "My PIN is 7."}])
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hello."}])
    assert [request["messages"][0]["content"] for request in model.requests] == ["Hello."]


def test_unknown_requests_are_refused(shop: Policy) -> None:
    with scripted_model([]) as model:
        client = Guard(shop).wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1", max_retries=0))
        with pytest.raises(openai.PermissionDeniedError, match="not known to the guard"):
            client.embeddings.create(model="m", input="x")
        odd: Dict[str, Any] = {"role": "oracle", "content": "?"}
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(model="m", messages=[odd])
    assert model.requests == []


@pytest.mark.parametrize("status", [301, 302, 303, 304, 307, 308])
@pytest.mark.parametrize("streams", [False, True])
def test_redirects_of_judged_requests_are_refused(shop: Policy, status: int, streams: bool) -> None:
    asked: List[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.method)
        if request.method == "GET":
            return httpx.Response(200, json={"id": "c", "object": "chat.completion", "choices": []})
        return httpx.Response(status, headers={"location": "/v1/models/x"})

    def http() -> Any:
        return httpx.Client(transport=httpx.MockTransport(answer))

    def http_async() -> Any:
        return httpx.AsyncClient(transport=httpx.MockTransport(answer))

    async def run() -> None:
        client = openai.AsyncOpenAI(api_key="x", base_url="http://model.test/v1", max_retries=0, http_client=http_async())
        await Guard(shop).wrap(client).chat.completions.create(model="m", messages=ASK, stream=streams)

    chat = openai.OpenAI(api_key="x", base_url="http://model.test/v1", max_retries=0, http_client=http())
    with pytest.raises(openai.InternalServerError, match="upstream.redirect|redirected"):
        Guard(shop).wrap(chat).chat.completions.create(model="m", messages=ASK, stream=streams)
    with pytest.raises(openai.InternalServerError, match="upstream.redirect|redirected"):
        asyncio.run(run())
    assert asked == ["POST"] * 2


def test_client_keeps_its_proxies_and_hooks(shop: Policy) -> None:
    http = __import__("httpx2")
    seen: List[str] = []
    with scripted_model(SCRIPT) as model:
        own = http.Client(
            mounts={"http://nowhere.example": http.HTTPTransport(proxy=model.url)},
            event_hooks={"request": [lambda request: seen.append(str(request.url))]},
        )
        # Only the proxy exists, which is the model itself.
        client = openai.OpenAI(api_key="x", base_url="http://nowhere.example/v1", http_client=own, max_retries=0)
        message = Guard(shop).wrap(client).chat.completions.create(model="m", messages=ASK).choices[0].message
        check(*chat_calls(message))
    assert seen == ["http://nowhere.example/v1/chat/completions"]


def test_other_clients_are_refused(shop: Policy) -> None:
    with pytest.raises(TypeError, match="openai or anthropic"):
        Guard(shop).wrap(object())


def test_text_streams_at_once_without_hold_text(shop: Policy) -> None:
    with scripted_model(["a b c d"]) as model:
        client = Guard(shop, hold_text=False).wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1"))
        pieces = [
            chunk.choices[0].delta.content
            for chunk in client.chat.completions.create(model="m", messages=ASK, stream=True)
            if chunk.choices
        ]
    assert "".join(piece or "" for piece in pieces).strip() == "a b c d"

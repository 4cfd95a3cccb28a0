"""Clients that read what a lying upstream sends through the gateway: which forbidden calls and texts do they see?

Standard input holds {"address", "lies"}. Each line of the output is one client: what it saw that it must not, how many
replies it read, and how many were errors.
"""

import asyncio
import json
import re
import sys
import urllib.error
import urllib.request

import agents
import anthropic
import openai
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

given = json.load(sys.stdin)
ADDRESS, LIES = given["address"], given["lies"]
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("look", "drop")]

client = openai.OpenAI(api_key="key", base_url=f"{ADDRESS}/v1", max_retries=0)
claude = anthropic.Anthropic(api_key="key", base_url=ADDRESS, max_retries=0)
agents.set_tracing_disabled(True)

# What an asynchronous client needs is made once, as an application does.
loop = asyncio.new_event_loop()
connection = openai.AsyncOpenAI(api_key="key", base_url=f"{ADDRESS}/v1", max_retries=0)


def asked(number):
    return f"Tell me lie number {number} please."


def messages(number):
    return [{"role": "user", "content": asked(number)}]


def chat(number):
    message = client.chat.completions.create(model="m", messages=messages(number), tools=TOOLS).choices[0].message
    return of_message(message)


def of_message(message):
    calls = [getattr(call, "function", None) or getattr(call, "custom", None) for call in message.tool_calls or []]
    calls.append(getattr(message, "function_call", None))
    return [message.content, getattr(message, "refusal", None)], [getattr(call, "name", None) for call in calls]


def chat_stream(number):
    texts, joined, pieces = "", {}, []
    for chunk in client.chat.completions.create(model="m", messages=messages(number), stream=True):
        for choice in chunk.choices or []:
            texts += choice.delta.content or ""
            for call in choice.delta.tool_calls or []:
                if call.function and call.function.name:
                    pieces.append(call.function.name)
                    joined[call.index] = joined.get(call.index, "") + call.function.name
            pieces.append(getattr(choice.delta.function_call, "name", None))
    return [texts], [*pieces, *joined.values()]


def chat_accumulated(number):
    with client.chat.completions.stream(model="m", messages=messages(number)) as stream:
        return of_message(stream.get_final_completion().choices[0].message)


def of_items(items):
    texts = [part for item in items for part in (getattr(item, "content", None) or [])]
    return texts, [getattr(item, "name", None) for item in items]


def responses(number):
    response = client.responses.create(model="m", input=asked(number))
    texts, names = of_items(response.output)
    return [response.output_text, *texts], names


def responses_stream(number):
    said, texts, names = "", [], []
    for event in client.responses.create(model="m", input=asked(number), stream=True):
        if event.type == "response.output_text.delta":
            said += event.delta
        elif event.type == "response.completed":
            more = of_items(event.response.output)
            texts, names = texts + more[0], names + more[1]
        elif event.type in ("response.output_item.added", "response.output_item.done"):
            more = of_items([event.item])
            texts, names = texts + more[0], names + more[1]
        elif event.type.startswith("response.function_call_arguments"):
            names.append(getattr(event, "name", None))
    return [said, *texts], names


def of_blocks(blocks):
    return [getattr(block, "text", None) for block in blocks], [getattr(block, "name", None) for block in blocks]


def claude_whole(number):
    return of_blocks(claude.messages.create(model="m", max_tokens=9, messages=messages(number)).content)


def claude_stream(number):
    with claude.messages.stream(model="m", max_tokens=9, messages=messages(number)) as stream:
        said = "".join(stream.text_stream)
        texts, names = of_blocks(stream.get_final_message().content)
    return [said, *texts], names


def chain(streaming=False, by_responses=False):
    model = ChatOpenAI(
        model="m", base_url=f"{ADDRESS}/v1", api_key="key", max_retries=0, streaming=streaming, use_responses_api=by_responses
    ).bind_tools(TOOLS)

    def read(number):
        message = model.invoke([HumanMessage(asked(number))])
        calls = [*message.tool_calls, *message.invalid_tool_calls]
        return [message.text], [call.get("name") for call in calls]

    return read


def agent(model, streams=False):
    """OpenAI's Agents SDK, which carries out the calls that it reads."""

    def read(number):
        return loop.run_until_complete(agent_run(model, streams, number))

    return read


async def agent_run(model, streams, number):
    entered, said = [], ""

    def look(x: int = 0) -> str:
        entered.append("look")
        return "looked"

    def drop(x: int = 0) -> str:
        entered.append("drop")
        return "dropped"

    tools = [agents.function_tool(tool, strict_mode=False) for tool in (look, drop)]
    clerk = agents.Agent(
        name="clerk", tools=tools, model=model("m", openai_client=connection), tool_use_behavior="stop_on_first_tool"
    )
    try:
        if streams:
            result = agents.Runner.run_streamed(clerk, asked(number))
            async for event in result.stream_events():
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                    said += event.data.delta
        else:
            result = await agents.Runner.run(clerk, asked(number))
    except Exception:  # noqa: BLE001 - the calls that were carried out before count all the same
        if "drop" not in entered:
            raise
        return [said], entered
    texts, names = of_items([item for response in result.raw_responses for item in response.output])
    return [said, str(result.final_output), *texts], [*entered, *names]


def lowered(value):
    """A reader that ignores case takes the last member of a name."""
    if isinstance(value, dict):
        return {key.replace("\u017f", "s").lower(): lowered(member) for key, member in value.items()}
    return [lowered(member) for member in value] if isinstance(value, list) else value


def careless(path, body):
    def read(number):
        data = json.dumps({**body, **content(path, number)}).encode()
        request = urllib.request.Request(f"{ADDRESS}{path}", data=data, headers={"content-type": "application/json"})
        reply = lowered(json.load(urllib.request.urlopen(request)))
        if path.endswith("completions"):
            said = [choice.get("message") or choice.get("delta") for choice in reply["choices"]]
            calls = [call.get("function") or call.get("custom") for one in said for call in one.get("tool_calls") or []]
            calls += [one["function_call"] for one in said if one.get("function_call")]
            return [one.get("content") for one in said], [call.get("name") for call in calls]
        items = reply.get("output") or reply.get("content")
        return [[item.get("text"), item.get("content")] for item in items], [item.get("name") for item in items]

    return read


def content(path, number):
    return {"input": asked(number)} if path.endswith("responses") else {"messages": messages(number)}


CLIENTS = {
    "openai chat": chat,
    "openai chat stream": chat_stream,
    "openai chat accumulated": chat_accumulated,
    "openai responses": responses,
    "openai responses stream": responses_stream,
    "anthropic": claude_whole,
    "anthropic stream": claude_stream,
    "langchain chat": chain(),
    "langchain chat stream": chain(streaming=True),
    "langchain responses": chain(by_responses=True),
    "agents chat": agent(agents.OpenAIChatCompletionsModel),
    "agents chat stream": agent(agents.OpenAIChatCompletionsModel, streams=True),
    "agents responses": agent(agents.OpenAIResponsesModel),
    "agents responses stream": agent(agents.OpenAIResponsesModel, streams=True),
    "ignores case, chat": careless("/v1/chat/completions", {"model": "m"}),
    "ignores case, messages": careless("/v1/messages", {"model": "m", "max_tokens": 9}),
    "ignores case, responses": careless("/v1/responses", {"model": "m"}),
}

for place, (name, read) in enumerate(CLIENTS.items()):
    seen, replies, errors = [], 0, 0
    for number in range(place * LIES, (place + 1) * LIES):
        try:
            texts, names = read(number)
        except Exception:  # noqa: BLE001 - whatever a library makes of a reply that the gateway refused
            errors += 1
            continue
        replies += 1
        if "drop" in names or re.search(r"\bdiabetes\b", str(texts)):
            seen.append([number, str(names), str(texts)[:400]])
    print(json.dumps({"client": name, "seen": seen, "replies": replies, "errors": errors}), flush=True)

"""Runs loops over the vendors' asynchronous clients, all concurrently."""

import asyncio
import json

import anthropic
import openai

import scene

PARAMETERS = {
    "look": {"type": "object", "properties": {"what": {"type": "string"}}},
    "note": {"type": "object", "properties": {"text": {"type": "string"}, "diagnosis": {"type": "string"}}},
    "drop": {"type": "object", "properties": {"x": {"type": "integer"}}},
}


async def chat(run, address):
    client = openai.AsyncOpenAI(api_key=run.key, base_url=f"{address}/v1", max_retries=0)
    tools = [{"type": "function", "function": {"name": n, "parameters": p}} for n, p in PARAMETERS.items()]
    items = [{"role": "user", "content": scene.ASKED}]
    while True:
        asked = {"model": "m", "messages": items, "tools": tools}
        if run.stream:
            async with client.chat.completions.stream(**asked) as events:
                async for _ in events:
                    pass
                reply = await events.get_final_completion()
        else:
            reply = await client.chat.completions.create(**asked)
        message = reply.choices[0].message
        calls = message.tool_calls or []
        if not calls:
            return message.content
        said = [
            {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
            for c in calls
        ]
        items.append({"role": "assistant", "content": message.content, "tool_calls": said})
        for call in calls:
            answer = run.tools()[call.function.name](**json.loads(call.function.arguments))
            items.append({"role": "tool", "tool_call_id": call.id, "content": answer})


async def responses(run, address):
    client = openai.AsyncOpenAI(api_key=run.key, base_url=f"{address}/v1", max_retries=0)
    tools = [{"type": "function", "name": n, "parameters": p, "strict": False} for n, p in PARAMETERS.items()]
    items = [{"role": "user", "content": scene.ASKED}]
    while True:
        asked = {"model": "m", "input": items, "tools": tools}
        if run.stream:
            async with client.responses.stream(**asked) as events:
                async for _ in events:
                    pass
                reply = await events.get_final_response()
        else:
            reply = await client.responses.create(**asked)
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            parts = [part for item in reply.output if item.type == "message" for part in item.content]
            return "".join(part.text if part.type == "output_text" else part.refusal for part in parts)
        for call in calls:
            items.append(call.model_dump(exclude_none=True, exclude={"parsed_arguments"}))
            answer = run.tools()[call.name](**json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": answer})


async def messages(run, address):
    client = anthropic.AsyncAnthropic(api_key=run.key, base_url=address, max_retries=0)
    tools = [{"name": n, "input_schema": p} for n, p in PARAMETERS.items()]
    items = [{"role": "user", "content": scene.ASKED}]
    while True:
        asked = {"model": "m", "max_tokens": 100, "messages": items, "tools": tools}
        if run.stream:
            async with client.messages.stream(**asked) as events:
                async for _ in events:
                    pass
                reply = await events.get_final_message()
        else:
            reply = await client.messages.create(**asked)
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in reply.content)
        kept = {"type", "text", "id", "name", "input"}
        said = [block.model_dump(include=kept, exclude_none=True) for block in reply.content]
        items.append({"role": "assistant", "content": said})
        answers = [
            {"type": "tool_result", "tool_use_id": call.id, "content": run.tools()[call.name](**call.input)}
            for call in calls
        ]
        items.append({"role": "user", "content": answers})


async def play(name, loop, stream, address):
    run = scene.Scene(f"async-{name}", stream)
    run.tell(await loop(run, address))


async def main():
    loops = [("chat", chat), ("responses", responses), ("messages", messages)]
    for address in scene.addresses():
        await asyncio.gather(*(play(name, loop, stream, address) for name, loop in loops for stream in [False, True]))


asyncio.run(main())

"""An agent that uses the vendors' own client libraries, and executes every call it gets.

Standard input holds {"runs": [{"address", "strict"}, ...], "turns": [[the user's text, how many steps the model takes],
...]}. For each run and API, streamed and not, prints a line of JSON with the executed tools; and, if `strict`, one with
the status of an error.
"""

import json
import sys

import anthropic
import openai


def chat(client, items, stream, headers):
    asked = {"model": "m", "messages": items, "extra_headers": headers}
    if stream:
        with client.chat.completions.stream(**asked) as events:
            for _ in events:
                pass
            reply = events.get_final_completion()
    else:
        reply = client.chat.completions.create(**asked)
    message = reply.choices[0].message
    calls = message.tool_calls or []
    said = {"role": "assistant", "content": message.content}
    if calls:
        said["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
            for c in calls
        ]
    items.append(said)
    for call in calls:
        json.loads(call.function.arguments)
        items.append({"role": "tool", "tool_call_id": call.id, "content": "ok"})
    return [call.function.name for call in calls]


def responses(client, items, stream, headers):
    asked = {"model": "m", "input": items, "extra_headers": headers}
    if stream:
        with client.responses.stream(**asked) as events:
            for _ in events:
                pass
            reply = events.get_final_response()
    else:
        reply = client.responses.create(**asked)
    items.extend(item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in reply.output)
    for item in items:
        for part in item.get("content") or []:
            if isinstance(part, dict):
                part.pop("parsed", None)
    calls = [item for item in reply.output if item.type == "function_call"]
    for call in calls:
        json.loads(call.arguments)
        items.append({"type": "function_call_output", "call_id": call.call_id, "output": "ok"})
    return [call.name for call in calls]


def messages(client, items, stream, headers):
    asked = {"model": "m", "max_tokens": 100, "messages": items, "extra_headers": headers}
    if stream:
        with client.messages.stream(**asked) as events:
            for _ in events:
                pass
            reply = events.get_final_message()
    else:
        reply = client.messages.create(**asked)
    calls = [block for block in reply.content if block.type == "tool_use"]
    said = [block.model_dump(include={"type", "text", "id", "name", "input"}, exclude_none=True) for block in reply.content]
    items.append({"role": "assistant", "content": said})
    if calls:
        answers = [{"type": "tool_result", "tool_use_id": call.id, "content": "ok"} for call in calls]
        items.append({"role": "user", "content": answers})
    return [call.name for call in calls]


def main():
    given = json.load(sys.stdin)
    for run in given["runs"]:
        talk(run["address"], run["strict"], given["turns"])


def talk(address, strict, turns):
    of_openai = openai.OpenAI(api_key="key", base_url=f"{address}/v1", max_retries=0)
    of_anthropic = anthropic.Anthropic(api_key="key", base_url=address, max_retries=0)
    for name, ask, client in [("chat", chat, of_openai), ("responses", responses, of_openai), ("messages", messages, of_anthropic)]:
        for stream in [False, True]:
            items, done = [], []
            for turn, (user, steps) in enumerate(turns):
                items.append({"role": "user", "content": user})
                for step in range(steps + 1):
                    headers = {"x-step": f"{turn}.{step}", "x-lictor-session": f"python-{name}-{stream}"}
                    tools = ask(client, items, stream, headers)
                    done.extend(tools)
                    if not tools:
                        break
            print(json.dumps({"api": name, "stream": stream, "tools": done}), flush=True)
        if not strict:
            continue
        try:
            items = [{"role": "oracle", "content": "?"}]
            ask(client, items, False, {"x-step": "0.0"})
            raise SystemExit("an unknown role was taken")
        except (openai.BadRequestError, anthropic.BadRequestError) as error:
            print(json.dumps({"api": name, "error": error.status_code}), flush=True)


main()

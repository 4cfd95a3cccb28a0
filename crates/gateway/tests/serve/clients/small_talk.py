"""Asks a small, real model through the vendors' libraries, with two example turns before each chat question.

Standard input holds {"address"}. Prints a line of JSON with the received calls for each question. The model has only
one tool and must call it. If the gateway refuses a stream, its error is printed.
"""

import json
import sys

import anthropic
import openai

PARAMETERS = {
    "get_weather": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "delete_file": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
WORKED = [("c1", "Paris", "sunny"), ("c2", "Rome", "rain")]
QUESTIONS = {"get_weather": "What is the weather in Oslo?", "delete_file": "Delete the file notes.txt."}


def history(question):
    items = []
    for id, city, weather in WORKED:
        call = {"name": "get_weather", "arguments": json.dumps({"city": city})}
        items.append({"role": "user", "content": f"What is the weather in {city}?"})
        items.append({"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": call}]})
        items.append({"role": "tool", "tool_call_id": id, "content": weather})
        items.append({"role": "assistant", "content": f"In {city}: {weather}."})
    return items + [{"role": "user", "content": question}]


def chat(address, key, wanted, stream):
    client = openai.OpenAI(api_key=key, base_url=f"{address}/v1", max_retries=0, timeout=60)
    asked = {
        "model": "m",
        "messages": history(QUESTIONS[wanted]),
        "tools": [{"type": "function", "function": {"name": wanted, "parameters": PARAMETERS[wanted]}}],
        "tool_choice": "required",
        "temperature": 0,
        "max_tokens": 64,
    }
    if stream:
        with client.chat.completions.stream(**asked) as events:
            for _ in events:
                pass
            reply = events.get_final_completion()
    else:
        reply = client.chat.completions.create(**asked)
    message = reply.choices[0].message
    return [[call.function.name, call.function.arguments] for call in message.tool_calls or []], message.content


def responses(address, key, wanted, stream):
    client = openai.OpenAI(api_key=key, base_url=f"{address}/v1", max_retries=0, timeout=60)
    asked = {
        "model": "m",
        "input": [{"role": "user", "content": QUESTIONS[wanted]}],
        "tools": [{"type": "function", "name": wanted, "parameters": PARAMETERS[wanted], "strict": False}],
        "tool_choice": "required",
        "temperature": 0,
        "max_output_tokens": 64,
    }
    if stream:
        with client.responses.stream(**asked) as events:
            for event in events:
                if event.type == "error":
                    return [], f"{event.code}: {event.message}"
            reply = events.get_final_response()
    else:
        reply = client.responses.create(**asked)
    return [[item.name, item.arguments] for item in reply.output if item.type == "function_call"], reply.output_text


def messages(address, key, wanted, stream):
    client = anthropic.Anthropic(api_key=key, base_url=address, max_retries=0, timeout=60)
    asked = {
        "model": "m",
        "messages": [{"role": "user", "content": QUESTIONS[wanted]}],
        "tools": [{"name": wanted, "input_schema": PARAMETERS[wanted]}],
        "tool_choice": {"type": "any"},
        "extra_body": {"temperature": 0},
        "max_tokens": 64,
    }
    if stream:
        with client.messages.stream(**asked) as events:
            for _ in events:
                pass
            reply = events.get_final_message()
    else:
        reply = client.messages.create(**asked)
    calls = [[block.name, json.dumps(block.input)] for block in reply.content if block.type == "tool_use"]
    return calls, "".join(block.text for block in reply.content if block.type == "text")


def main():
    address = json.load(sys.stdin)["address"]
    for name, ask in [("chat", chat), ("responses", responses), ("messages", messages)]:
        for stream in [False, True]:
            for wanted in QUESTIONS:
                calls, said = ask(address, f"key-{name}-{stream}-{wanted}", wanted, stream)
                line = {"api": name, "stream": stream, "wanted": wanted, "calls": calls, "said": said}
                print(json.dumps(line), flush=True)


main()

"""Tells and reads listed lies with the vendors' libraries.

Standard input holds {"address", "lies"}, a lie being [interface, streams, body]. Each line of the output says what the
client read of one: its texts, calls and headers, or the error.
"""

import json
import sys

import anthropic
import openai

given = json.load(sys.stdin)
client = openai.OpenAI(api_key="key", base_url=f"{given['address']}/v1", max_retries=0)
claude = anthropic.Anthropic(api_key="key", base_url=given["address"], max_retries=0)


def shown(value):
    return json.dumps(value.model_dump(warnings=False), default=str, ensure_ascii=False)


def ask(interface, streams, body, number):
    own = {"model": f"m-{number}", "extra_headers": {"x-lictor-session": f"lie {number}"}, "stream": streams}
    if interface == "chat":
        create = client.chat.completions.with_raw_response.create
        return create(messages=body.pop("messages"), extra_body=body, **own)
    if interface == "responses":
        return client.responses.with_raw_response.create(input=body.pop("input"), extra_body=body, **own)
    return claude.messages.with_raw_response.create(messages=body.pop("messages"), max_tokens=9, extra_body=body, **own)


def read(interface, streams, body, number):
    parts = []
    try:
        raw = ask(interface, streams, body, number)
        parts.append(str(dict(raw.headers)))
        reply = raw.parse()
        for event in reply if streams else [reply]:
            parts.append(shown(event))
        return joined(interface, streams, parts)
    except (openai.OpenAIError, anthropic.AnthropicError) as error:
        parts.append(f"{type(error).__name__}: {error}")
        return "\n".join(parts)


def joined(interface, streams, parts):
    """Joins the pieces of a text, as a client shows it, after all that was read."""
    said = ""
    for part in parts[1:] if streams else []:
        event = json.loads(part)
        for choice in event.get("choices") or []:
            said += (choice.get("delta") or {}).get("content") or ""
        delta = event.get("delta")
        if isinstance(delta, str):
            said += delta
        elif isinstance(delta, dict):
            said += delta.get("text") or delta.get("partial_json") or ""
    return "\n".join([*parts, said])


for number, (interface, streams, body) in enumerate(given["lies"]):
    print(json.dumps({"read": read(interface, streams, body, number)}), flush=True)

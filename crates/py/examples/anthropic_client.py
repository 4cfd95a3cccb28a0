"""A guarded client of Anthropic, streamed: a call is buffered until it is complete and decided.

Run it with `python anthropic_client.py`. The model is scripted; omit `base_url` to use your own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

import anthropic
from scripted_model import scripted_model

import lictor

ENTERED: List[str] = []


def refund(order: str) -> str:
    ENTERED.append("refund")
    return f"refunded {order}"


def send_mail(to: str, body: str) -> str:
    ENTERED.append(f"send_mail: {body}")
    return "sent"


def look_up(order: str) -> str:
    ENTERED.append("look_up")
    return f"{order}: one teapot"


TOOLS: Dict[str, Any] = {tool.__name__: tool for tool in (refund, send_mail, look_up)}
OFFERED: List[Any] = [{"name": name, "input_schema": {"type": "object", "properties": {}}} for name in TOOLS]


def run(client: anthropic.Anthropic, ask: str) -> str:
    """Runs an agent until the model calls no more tools. Returns its last text."""
    messages: List[Any] = [{"role": "user", "content": ask}]
    while True:
        with client.messages.stream(model="m", max_tokens=100, messages=messages, tools=OFFERED) as stream:
            reply = stream.get_final_message()
        messages.append({"role": "assistant", "content": [block.model_dump() for block in reply.content]})
        results: List[Any] = []
        for block in reply.content:
            if block.type == "tool_use":
                content = TOOLS[block.name](**dict(block.input))
                results.append({"type": "tool_result", "tool_use_id": block.id, "content": content})
        if not results:
            return "".join(block.text for block in reply.content if block.type == "text")
        messages.append({"role": "user", "content": results})


def main() -> str:
    guard = lictor.Guard(Path(__file__).with_name("shop.yaml"))
    script = [
        [("look_up", {"order": "A1"})],
        [("send_mail", {"to": "ada@example.org", "body": "Ada, born 1990-05-17, your teapot is here."})],
        [("refund", {"order": "A1"})],
    ]
    with scripted_model(script) as model:
        client = guard.wrap(anthropic.Anthropic(api_key="none", base_url=model.url))
        said = run(client, "Where is my teapot?")
    print("\n".join(ENTERED))
    print(said)
    return said


if __name__ == "__main__":
    main()

"""A guarded client of OpenAI: calls that the policy forbids never reach the agent.

Run it with `python openai_client.py`. The model is scripted; omit `base_url` to use your own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import openai
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
OFFERED: List[Any] = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}} for name in TOOLS
]


def run(client: openai.OpenAI, ask: str) -> List[str]:
    """Runs an agent until the model calls no more tools. Returns the replies as the agent saw them."""
    messages: List[Any] = [{"role": "user", "content": ask}]
    said = []
    while True:
        message = client.chat.completions.create(model="m", messages=messages, tools=OFFERED).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        said.append(message.content or "")
        if not message.tool_calls:
            return said
        for call in message.tool_calls:
            assert call.type == "function"
            result = TOOLS[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def main() -> List[str]:
    guard = lictor.Guard(Path(__file__).with_name("shop.yaml"))
    script = [
        [("look_up", {"order": "A1"})],
        [("send_mail", {"to": "ada@example.org", "body": "Ada, born 1990-05-17, your teapot is here."})],
        [("refund", {"order": "A1"})],
    ]
    with scripted_model(script) as model:
        client = guard.wrap(openai.OpenAI(api_key="none", base_url=f"{model.url}/v1"))
        said = run(client, "Where is my teapot?")
    print("\n".join(ENTERED))
    print(said[-1])
    return said


if __name__ == "__main__":
    main()

"""An agent of the OpenAI Agents SDK with guarded tools. Run it with `python openai_agents_agent.py`.

The model is scripted; omit `model` to use your own.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, List

import openai
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from scripted_model import scripted_model

import lictor
from lictor.adapters.openai_agents import guard_tools

ENTERED: List[str] = []


@function_tool
def look_up(order: str) -> str:
    """Looks an order up."""
    ENTERED.append("look_up")
    return f"{order}: one teapot, for Ada, born 1990-05-17"


@function_tool
def send_mail(to: str, body: str) -> str:
    """Sends a mail."""
    ENTERED.append(f"send_mail: {body}")
    return "sent"


@function_tool
def refund(order: str) -> str:
    """Pays an order back."""
    ENTERED.append("refund")
    return f"refunded {order}"


SCRIPT: List[Any] = [
    [("look_up", {"order": "A1"})],
    [("send_mail", {"to": "ada@example.org", "body": "Ada, born 1990-05-17, it is here."})],
    [("refund", {"order": "A1"})],
    "Done.",
]


def main() -> List[str]:
    """Returns the answers of the tools, as the model saw them."""
    set_tracing_disabled(True)
    guard = lictor.Guard(Path(__file__).with_name("shop.yaml"))
    with scripted_model(SCRIPT) as model:
        client = openai.AsyncOpenAI(api_key="none", base_url=f"{model.url}/v1")
        agent = Agent(
            name="clerk",
            model=OpenAIChatCompletionsModel("m", client),
            tools=guard_tools(guard, [look_up, send_mail, refund]),
        )
        asyncio.run(Runner.run(agent, "Where is my teapot?"))
        last = model.requests[-1]["messages"]
    answers = [str(message["content"]) for message in last if message["role"] == "tool"]
    print("\n".join([*ENTERED, *answers]))
    return answers


if __name__ == "__main__":
    main()

"""An agent of smolagents with guarded tools. Run it with `python smolagents_agent.py`.

The model is scripted; use any model of smolagents instead.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, List

from scripted_model import scripted_model
from smolagents import OpenAIModel, ToolCallingAgent, tool

import lictor
from lictor.adapters.smolagents import guard_tools

ENTERED: List[str] = []


@tool
def look_up(order: str) -> str:
    """Looks an order up.

    Args:
        order: The number of the order.
    """
    ENTERED.append("look_up")
    return f"{order}: one teapot, for Ada, born 1990-05-17"


@tool
def send_mail(to: str, body: str) -> str:
    """Sends a mail.

    Args:
        to: The address.
        body: The text.
    """
    ENTERED.append(f"send_mail: {body}")
    return "sent"


@tool
def refund(order: str) -> str:
    """Pays an order back.

    Args:
        order: The number of the order.
    """
    ENTERED.append("refund")
    return f"refunded {order}"


SCRIPT: List[Any] = [
    [("look_up", {"order": "A1"})],
    [("send_mail", {"to": "ada@example.org", "body": "Ada, born 1990-05-17, it is here."})],
    [("refund", {"order": "A1"})],
    [("final_answer", {"answer": "Done."})],
]


def main() -> str:
    """Returns the last request to the model, with all messages."""
    guard = lictor.Guard(Path(__file__).with_name("shop.yaml"))
    with scripted_model(SCRIPT) as model:
        agent = ToolCallingAgent(
            tools=guard_tools(guard, [look_up, send_mail, refund]),
            model=OpenAIModel("m", api_base=f"{model.url}/v1", api_key="none"),
            verbosity_level=0,
        )
        agent.run("Where is my teapot?")
        told = json.dumps(model.requests[-1])
    print("\n".join(ENTERED))
    return told


if __name__ == "__main__":
    main()

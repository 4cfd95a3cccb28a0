"""An agent of LangChain, and a graph of LangGraph, with guarded tools. Run it with `python langchain_agent.py`.

The model is scripted; use any chat model of LangChain instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, List

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

import lictor
from lictor.adapters.langchain import GuardMiddleware, tool_node_hooks

ENTERED: List[str] = []


@tool
def look_up(order: str) -> str:
    """Looks an order up."""
    ENTERED.append("look_up")
    return f"{order}: one teapot, for Ada, born 1990-05-17"


@tool
def send_mail(to: str, body: str) -> str:
    """Sends a mail."""
    ENTERED.append(f"send_mail: {body}")
    return "sent"


@tool
def refund(order: str) -> str:
    """Pays an order back."""
    ENTERED.append("refund")
    return f"refunded {order}"


TOOLS = [look_up, send_mail, refund]
CALLS: List[Any] = [
    {"name": "look_up", "args": {"order": "A1"}, "id": "c1"},
    {"name": "send_mail", "args": {"to": "ada@example.org", "body": "Ada, born 1990-05-17, it is here."}, "id": "c2"},
    {"name": "refund", "args": {"order": "A1"}, "id": "c3"},
]


class Scripted(GenericFakeChatModel):
    """A model that calls the tools one after the other."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def agent(guard: lictor.Guard) -> List[ToolMessage]:
    """Returns the answers of an agent's tools, as the model saw them."""
    turns = [AIMessage(content="", tool_calls=[call]) for call in CALLS] + [AIMessage(content="Done.")]
    built = create_agent(Scripted(messages=iter(turns)), TOOLS, middleware=[GuardMiddleware(guard)])
    done = built.invoke({"messages": [HumanMessage(content="Where is my teapot?")]})
    return [message for message in done["messages"] if isinstance(message, ToolMessage)]


def graph(guard: lictor.Guard) -> List[ToolMessage]:
    """Returns the answers for a node of a graph that is built by hand."""
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode(TOOLS, **tool_node_hooks(guard)))
    builder.add_edge(START, "tools")
    answers: List[ToolMessage] = []
    for call in CALLS:
        done = builder.compile().invoke({"messages": [AIMessage(content="", tool_calls=[call])]})
        answers.append(done["messages"][-1])
    return answers


def main() -> List[ToolMessage]:
    policy = lictor.Policy.load(Path(__file__).with_name("shop.yaml"))
    answers = agent(lictor.Guard(policy)) + graph(lictor.Guard(policy))
    print("\n".join([*ENTERED, *(str(answer.content) for answer in answers)]))
    return answers


if __name__ == "__main__":
    main()

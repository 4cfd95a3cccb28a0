"""Every adapter in its real framework: one call allowed, one rewritten, one blocked, and the blocked tool never entered."""

from __future__ import annotations

import asyncio
import importlib
import json
from typing import Any, List

import pytest

import lictor

ENTERED = ["look_up", "send_mail: Ada, born [redacted], it is here."]


def example(name: str) -> Any:
    module = importlib.import_module(name)
    module.ENTERED.clear()
    return module


def check_answers(answers: List[str]) -> None:
    looked_up, sent, refused = answers
    assert looked_up == "A1: one teapot, for Ada, born [redacted]" and sent == "sent"
    assert "refunds-are-approved" in refused and "What would be right" in refused


def test_langchain_and_langgraph() -> None:
    module = example("langchain_agent")
    answers = module.main()
    check_answers([answer.content for answer in answers[:3]])
    check_answers([answer.content for answer in answers[3:]])
    assert [answer.status for answer in answers[:3]] == ["success", "success", "error"]
    assert module.ENTERED == [*ENTERED, *ENTERED]


def test_langchain_awaited(shop: lictor.Policy) -> None:
    from langchain_core.messages import AIMessage
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    from lictor.adapters.langchain import tool_node_hooks

    module = example("langchain_agent")
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode(module.TOOLS, **tool_node_hooks(lictor.Guard(shop))))
    builder.add_edge(START, "tools")
    answers = []
    for call in module.CALLS:
        done = asyncio.run(builder.compile().ainvoke({"messages": [AIMessage(content="", tool_calls=[call])]}))
        answers.append(done["messages"][-1].content)
    check_answers(answers)
    assert module.ENTERED == ENTERED


def test_langgraph_command_is_withheld_if_not_rewritable(shop: lictor.Policy) -> None:
    from langchain_core.tools import tool
    from langgraph.types import Command

    from lictor.adapters.langchain import GuardMiddleware

    @tool
    def remember(order: str) -> Any:
        """Keeps an order in mind."""
        return Command(update={"note": "Ada, born 1990-05-17"})

    class Request:
        tool_call = {"name": "remember", "args": {"order": "A1"}, "id": "c1"}

        def override(self, **_: Any) -> Request:
            return self

    middleware = GuardMiddleware(lictor.Guard(shop))
    with pytest.raises(lictor.LictorError, match="withheld"):
        middleware.wrap_tool_call(Request(), lambda _: remember.func("A1"))  # type: ignore[attr-defined]


def test_openai_agents() -> None:
    module = example("openai_agents_agent")
    check_answers(module.main())
    assert module.ENTERED == ENTERED


def test_openai_agents_with_invalid_json_arguments(shop: lictor.Policy) -> None:
    from lictor.adapters.openai_agents import guard_tool

    module = example("openai_agents_agent")
    tool: Any = guard_tool(lictor.Guard(shop), module.refund)
    answer = asyncio.run(tool.on_invoke_tool(None, "{order:"))
    assert "refunds-are-approved" in answer and module.ENTERED == []


def test_smolagents() -> None:
    module = example("smolagents_agent")
    told = module.main()
    assert module.ENTERED == ENTERED
    assert "born [redacted]" in told and "refunds-are-approved" in told
    # The model wrote the date itself; no tool gave it back.
    assert "for Ada, born 1990" not in told


def test_smolagents_that_write_code(shop: lictor.Policy) -> None:
    from scripted_model import scripted_model
    from smolagents import CodeAgent, OpenAIModel

    from lictor.adapters.smolagents import guard_tools

    module = example("smolagents_agent")
    tools = guard_tools(lictor.Guard(shop), [module.look_up, module.send_mail, module.refund])
    said = [
        'I look.\n<code>\nfound = look_up("A1")\nsend_mail(to="ada@example.org", body=found)\nprint(found)\n</code>',
        'I pay.\n<code>\nprint(refund(order="A1"))\n</code>',
        'Done.\n<code>\nfinal_answer("Done.")\n</code>',
    ]
    with scripted_model(said) as model:
        remote = OpenAIModel("m", api_base=f"{model.url}/v1", api_key="none")
        assert CodeAgent(tools=tools, model=remote, verbosity_level=0).run("Where is my teapot?") == "Done."
    told = json.dumps(model.requests[-1])
    assert "born [redacted]" in told and "refunds-are-approved" in told and "1990" not in told
    assert module.ENTERED == ["look_up", "send_mail: A1: one teapot, for Ada, born [redacted]"]


def test_mcp_servers() -> None:
    module = example("mcp_server")
    results = module.main()
    check_answers([result.content[0].text for result in results])
    assert [bool(result.is_error) for result in results] == [False, False, True]
    assert "1990" not in str([result.model_dump() for result in results])
    assert module.ENTERED == ENTERED


def test_clients() -> None:
    mail = "send_mail: Ada, born [redacted], your teapot is here."
    # A reply is asked for again after a denial, whole or streamed.
    for name, last in (("openai_client", "That is all."), ("anthropic_client", "That is all.")):
        module = example(name)
        said = module.main()
        assert module.ENTERED == ["look_up", mail]
        assert last in (said if isinstance(said, str) else said[-1])


def test_tools_without_a_framework() -> None:
    module = example("guarded_tools")
    *answers, refunded = module.main()
    check_answers(answers)
    assert refunded == "refunded A1" and module.ENTERED[-1] == "refund"

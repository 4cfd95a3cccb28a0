"""Special cases of frameworks: defaults, failures, artifacts, interrupts, tools of other kinds."""

from __future__ import annotations

import asyncio
from typing import Any, Dict, List

import pytest

import lictor

#: The arguments of the calls of the tools below.
RAN: List[Any] = []

POLICY = """
lictor: 1
name: transfers
facts:
  moves(amount): {on: tool_call(transfer), amount: args.amount}
properties:
  - {id: no-big-transfers, formula: 'always forall a. (moves(a) -> a <= 500)', respond: block}
  - {id: stop-after-failure, formula: 'always (tool_call implies !once tool_failed)', respond: block}
  - {id: ask-once, formula: 'always (tool_call("confirm") implies !previous once tool_call("confirm"))', respond: block}
"""


@pytest.fixture
def guard() -> lictor.Guard:
    RAN.clear()
    return lictor.Guard(lictor.Policy.parse(POLICY))


def graph(guard: lictor.Guard, tools: List[Any], **compiled: Any) -> Any:
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    from lictor.adapters.langchain import tool_node_hooks

    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode(tools, handle_tool_errors=True, **tool_node_hooks(guard)))
    builder.add_edge(START, "tools")
    return builder.compile(**compiled)


def asked(name: str, args: Dict[str, Any], id: str = "c1") -> Dict[str, Any]:
    from langchain_core.messages import AIMessage

    return {"messages": [AIMessage(content="", tool_calls=[{"name": name, "args": args, "id": id}])]}


def test_langchain_defaults_and_failures(guard: lictor.Guard) -> None:
    from langchain_core.tools import tool

    @tool
    def transfer(to: str, amount: int = 5000) -> str:
        """Moves money."""
        RAN.append((to, amount))
        return "moved"

    @tool
    def boom() -> str:
        """Fails."""
        raise ValueError("nope")

    agent = graph(guard, [transfer, boom])
    assert "no-big-transfers" in agent.invoke(asked("transfer", {"to": "x"}))["messages"][-1].content
    assert agent.invoke(asked("transfer", {"to": "x", "amount": 5}))["messages"][-1].content == "moved"
    assert RAN == [("x", 5)]
    assert agent.invoke(asked("boom", {}))["messages"][-1].status == "error"
    assert "stop-after-failure" in agent.invoke(asked("boom", {}))["messages"][-1].content


def test_langchain_artifacts(shop: lictor.Policy) -> None:
    from langchain_core.tools import tool

    @tool(response_format="content_and_artifact")
    def look(order: str) -> Any:
        """Looks an order up."""
        return "" if order == "silent" else "Ada, born 1990-05-17", {"raw": ["born 1990-05-17"]}

    agent = graph(lictor.Guard(shop), [look])
    for order, said in (("A1", "Ada, born [redacted]"), ("silent", "")):
        message = agent.invoke(asked("look", {"order": order}))["messages"][-1]
        assert (message.content, message.artifact) == (said, {"raw": ["born [redacted]"]})


def test_langgraph_interrupts(guard: lictor.Guard) -> None:
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command, interrupt

    @tool
    def confirm(order: str) -> str:
        """Asks a person."""
        return f"{order}: {interrupt('really?')}"

    agent = graph(guard, [confirm], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    assert "__interrupt__" in agent.invoke(asked("confirm", {"order": "A1"}), thread)
    assert agent.invoke(Command(resume="yes"), thread)["messages"][-1].content == "A1: yes"
    # A call in another thread is not resumed, even with the same id.
    with guard.session("both"):
        assert "__interrupt__" in agent.invoke(asked("confirm", {"order": "A1"}), {"configurable": {"thread_id": "3"}})
        again = agent.invoke(asked("confirm", {"order": "A1"}), {"configurable": {"thread_id": "2"}})
        assert "ask-once" in again["messages"][-1].content


def test_langgraph_threads_are_sessions(guard: lictor.Guard) -> None:
    from langchain_core.tools import tool

    @tool
    def confirm(order: str) -> str:
        """Confirms an order."""
        return f"{order}: yes"

    agent = graph(guard, [confirm])

    def said(**config: Any) -> str:
        configured: Any = {"configurable": config}
        return str(agent.invoke(asked("confirm", {"order": "A1"}), configured)["messages"][-1].content)

    assert [said(thread_id="1"), said(thread_id="2")] == ["A1: yes"] * 2
    assert "ask-once" in said(thread_id="1")
    assert said() == "A1: yes" and "ask-once" in said(), "without a thread, the session is the guard's own"
    with guard.session("named"):
        assert said(thread_id="3") == "A1: yes" and "ask-once" in said(thread_id="4")


def test_openai_agents_defaults_and_odd_arguments(guard: lictor.Guard) -> None:
    from agents import function_tool

    from lictor.adapters.openai_agents import guard_tool

    @function_tool(strict_mode=False)
    def transfer(to: str = "x", amount: int = 5000) -> str:
        """Moves money."""
        RAN.append((to, amount))
        return "moved"

    def invoke(arguments: str) -> str:
        from agents.tool_context import ToolContext

        context: Any = ToolContext(context=None, tool_name="transfer", tool_call_id="c1", tool_arguments=arguments)
        tool: Any = guard_tool(guard, transfer)
        return str(asyncio.run(tool.on_invoke_tool(context, arguments)))

    assert "no-big-transfers" in invoke("{}") and "no-big-transfers" in invoke("")
    assert invoke('{"amount": 5}') == "moved"
    # The amounts of these are unknown, so a policy about amounts denies all of them.
    for odd in ('{"amount": NaN}', "{amount", "[]"):
        assert "no-big-transfers" in invoke(odd), odd
    # The SDK itself refuses this one.
    assert "error" in invoke("null")
    assert RAN == [("x", 5)]


def test_openai_agents_local_tools_are_refused(guard: lictor.Guard) -> None:
    from agents import LocalShellTool, WebSearchTool

    from lictor.adapters.openai_agents import guard_tools

    hosted = WebSearchTool()
    assert guard_tools(guard, [hosted]) == [hosted]
    with pytest.raises(TypeError, match="LocalShellTool.*wrap the client"):
        guard_tools(guard, [LocalShellTool(executor=lambda _: "ran")])


def test_smolagents_defaults_and_setup(guard: lictor.Guard) -> None:
    from smolagents import Tool

    from lictor.adapters.smolagents import guard_tool

    class Transfer(Tool):  # type: ignore[misc]
        name = "transfer"
        description = "Moves money."
        inputs = {
            "to": {"type": "string", "description": "to whom"},
            "amount": {"type": "integer", "description": "how much", "nullable": True},
        }
        output_type = "string"

        def setup(self) -> None:
            self.bank = "bank"
            self.is_initialized = True

        def forward(self, to: str, amount: int = 5000) -> str:
            RAN.append((to, amount))
            return str(self.bank)

    tool = guard_tool(guard, Transfer())
    with pytest.raises(lictor.Denied, match="no-big-transfers"):
        tool(to="x")
    assert tool(to="x", amount=5) == "bank" and RAN == [("x", 5)]


def test_mcp_defaults_failures_and_metadata(guard: lictor.Guard, shop: lictor.Policy) -> None:
    from mcp.client import Client
    from mcp.server.mcpserver import MCPServer
    from mcp.types import CallToolResult, TextContent

    from lictor.adapters.mcp import GuardExtension

    def server(guard: lictor.Guard) -> Any:
        extension = GuardExtension(guard)
        extension.server = server = MCPServer("bank", extensions=[extension])

        @server.tool()
        def transfer(to: str, amount: int = 5000) -> str:
            RAN.append((to, amount))
            return "moved"

        @server.tool()
        def boom() -> str:
            raise ValueError("nope")

        def look() -> Any:
            return CallToolResult(content=[TextContent(type="text", text="x")], _meta={"raw": "Ada, born 1990-05-17"})

        look.__annotations__["return"] = CallToolResult
        server.tool()(look)

        return server

    async def calls(guard: lictor.Guard, *calls: Any) -> List[str]:
        async with Client(server(guard)) as client:
            return [str((await client.call_tool(name, args)).model_dump()) for name, args in calls]

    small: Dict[str, Any] = {"to": "x", "amount": 5}
    told = asyncio.run(calls(guard, ("transfer", {"to": "x"}), ("transfer", small), ("boom", {}), ("transfer", small)))
    assert "no-big-transfers" in told[0] and "moved" in told[1] and "stop-after-failure" in told[3]
    assert RAN == [("x", 5)]
    (beside,) = asyncio.run(calls(lictor.Guard(shop), ("look", {})))
    assert "1990" not in beside and "born [redacted]" in beside


def test_mcp_session_is_a_function_of_context(guard: lictor.Guard) -> None:
    from mcp.client import Client
    from mcp.server.mcpserver import MCPServer

    from lictor.adapters.mcp import GuardExtension

    customer = "ann"
    server = MCPServer("shop", extensions=[GuardExtension(guard, session=lambda context: f"{context.method} of {customer}")])

    @server.tool()
    def confirm() -> str:
        return "yes"

    async def said() -> str:
        async with Client(server) as client:
            return str((await client.call_tool("confirm", {})).model_dump())

    assert "yes" in asyncio.run(said()) and "ask-once" in asyncio.run(said())
    customer = "bob"
    assert "yes" in asyncio.run(said()), "the calls of one customer do not count for another"
    assert guard.finish("tools/call of ann") == []

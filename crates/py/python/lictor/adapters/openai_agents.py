"""The OpenAI Agents SDK: function tools whose calls pass the guard.

    agent = Agent(name="clerk", tools=guard_tools(guard, [refund, send_mail]))

A call that may not go on is answered with its reason, which the model reads as the tool's output.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Iterable, List, Optional

from agents import FunctionTool
from agents.tool import Tool

from ..errors import Denied
from ..guard import Guard


def guard_tool(guard: Guard, tool: FunctionTool, session: Optional[str] = None) -> FunctionTool:
    """The tool, through the guard: where the SDK invokes it, the guard decides first."""
    invoke = tool.on_invoke_tool

    async def on_invoke_tool(context: Any, arguments: str) -> Any:
        async def run(**args: Any) -> Any:
            return await invoke(context, json.dumps(args))

        call = getattr(context, "tool_call_id", None)
        try:
            try:
                args = json.loads(arguments) if arguments else {}
            except ValueError:
                # Nobody can tell what it asks for: it is decided as the text it is.
                guard.admit({"kind": "tool_call", "tool": tool.name, "args": arguments}, session)
                return await invoke(context, arguments)
            return await guard.acall(tool.name, args, run, session=session, id=call)
        except Denied as denied:
            return str(denied)

    return dataclasses.replace(tool, on_invoke_tool=on_invoke_tool)


def guard_tools(guard: Guard, tools: Iterable[Tool], session: Optional[str] = None) -> List[Tool]:
    """All of them. Tools that the vendor runs never come by here; guard the client for those."""
    return [guard_tool(guard, tool, session) if isinstance(tool, FunctionTool) else tool for tool in tools]

"""The OpenAI Agents SDK: function tools whose calls pass the guard.

    agent = Agent(name="clerk", tools=guard_tools(guard, [refund, send_mail]))

A call that may not go on is answered with its reason, which the model reads as the tool's output.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Iterable, List, NoReturn, Optional

from agents import FunctionTool
from agents.tool import Tool

from ..errors import Denied
from ..guard import WHOLE, Guard, with_defaults

#: Tools that the vendor runs. They never come by here.
_HOSTED = ("WebSearchTool", "FileSearchTool", "HostedMCPTool", "CodeInterpreterTool", "ImageGenerationTool", "ToolSearchTool")


def guard_tool(guard: Guard, tool: FunctionTool, session: Optional[str] = None) -> FunctionTool:
    """The tool, through the guard: where the SDK invokes it, the guard decides first."""
    invoke = tool.on_invoke_tool

    async def on_invoke_tool(context: Any, arguments: str) -> Any:
        async def run(**args: Any) -> Any:
            return await invoke(context, json.dumps(args))

        call = getattr(context, "tool_call_id", None) or ""
        try:
            args = _read(arguments)
            if args is None:
                # Nobody can tell what it asks for: it is decided as the text it is.
                event = {"kind": "tool_call", "tool": tool.name, "id": call, "args": arguments}
                allowed = guard.admit(event, session).get("args")
                said = allowed if isinstance(allowed, str) else json.dumps(allowed)
                return guard.pass_on(tool.name, call, await invoke(context, said), WHOLE, session)
            args = with_defaults(args, tool.params_json_schema)
            return await guard.acall(tool.name, args, run, session=session, id=call)
        except Denied as denied:
            return str(denied)

    return dataclasses.replace(tool, on_invoke_tool=on_invoke_tool)


def guard_tools(guard: Guard, tools: Iterable[Tool], session: Optional[str] = None) -> List[Tool]:
    """All of them. Tools that the vendor runs never come by here; guard the client for those. Tools that run here and are no
    functions cannot be guarded one by one, and are refused."""
    return [_guarded(guard, tool, session) for tool in tools]


def _guarded(guard: Guard, tool: Tool, session: Optional[str]) -> Tool:
    if isinstance(tool, FunctionTool):
        return guard_tool(guard, tool, session)
    if type(tool).__name__ in _HOSTED:
        return tool
    message = f"`{type(tool).__name__}` runs here and is no function tool; wrap the client instead: `guard.wrap(client)`"
    raise TypeError(message)


def _read(arguments: str) -> Any:
    """The arguments of a call; none if they are not the members of an object."""
    try:
        args = json.loads(arguments, parse_constant=_strange) if arguments else {}
    except ValueError:
        return None
    return args if isinstance(args, dict) else None


def _strange(name: str) -> NoReturn:
    raise ValueError(name)

"""The OpenAI Agents SDK: function tools whose calls pass the guard.

    agent = Agent(name="clerk", tools=guard_tools(guard, [refund, send_mail]))

A denied call is answered with its reason, which the model reads as the tool's output.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Iterable, List, NoReturn, Optional

from agents import FunctionTool
from agents.tool import Tool

from ..errors import Denied
from ..guard import WHOLE, Guard, with_defaults

#: Tools that the vendor runs; the adapter never sees their calls.
_HOSTED = ("WebSearchTool", "FileSearchTool", "HostedMCPTool", "CodeInterpreterTool", "ImageGenerationTool", "ToolSearchTool")


def guard_tool(guard: Guard, tool: FunctionTool, session: Optional[str] = None) -> FunctionTool:
    """Returns the tool with the guard: the guard decides before the SDK invokes it."""
    invoke = tool.on_invoke_tool

    async def on_invoke_tool(context: Any, arguments: str) -> Any:
        async def run(**args: Any) -> Any:
            return await invoke(context, json.dumps(args))

        call = getattr(context, "tool_call_id", None) or ""
        try:
            args = _read(arguments)
            if args is None:
                # The arguments are no JSON object, so the call is decided on their text.
                event = {"kind": "tool_call", "tool": tool.name, "id": call, "args": arguments}
                admitted = guard.admit(event, session)
                allowed, call = admitted.get("args"), admitted.get("id") or call
                said = allowed if isinstance(allowed, str) else json.dumps(allowed)
                return guard.pass_on(tool.name, call, await invoke(context, said), WHOLE, session)
            args = with_defaults(args, tool.params_json_schema)
            return await guard.acall(tool.name, args, run, session=session, id=call)
        except Denied as denied:
            return str(denied)

    return dataclasses.replace(tool, on_invoke_tool=on_invoke_tool)


def guard_tools(guard: Guard, tools: Iterable[Tool], session: Optional[str] = None) -> List[Tool]:
    """Returns the tools with the guard. Tools that the vendor runs are returned unchanged: guard the client for those.
    Other tools that are no functions cannot be guarded one by one, and are refused."""
    return [_guarded(guard, tool, session) for tool in tools]


def _guarded(guard: Guard, tool: Tool, session: Optional[str]) -> Tool:
    if isinstance(tool, FunctionTool):
        return guard_tool(guard, tool, session)
    if type(tool).__name__ in _HOSTED:
        return tool
    message = f"`{type(tool).__name__}` runs here and is no function tool; wrap the client instead: `guard.wrap(client)`"
    raise TypeError(message)


def _read(arguments: str) -> Any:
    """Returns the arguments of a call; none if they are no JSON object."""
    try:
        args = json.loads(arguments, parse_constant=_strange) if arguments else {}
    except ValueError:
        return None
    return args if isinstance(args, dict) else None


def _strange(name: str) -> NoReturn:
    raise ValueError(name)

"""smolagents: tools whose calls pass the guard, in agents that call tools and in agents that write code.

    agent = ToolCallingAgent(tools=guard_tools(guard, [refund]), model=model)

A denied call fails with its reason, which the agent reads as the error of the tool.
"""

from __future__ import annotations

import copy
import inspect
import types
from typing import Any, Iterable, List, Optional

from smolagents import Tool

from ..guard import Guard


def guard_tool(guard: Guard, tool: Tool, session: Optional[str] = None) -> Tool:
    """Returns a copy of the tool; the guard decides before its `forward` runs."""
    guarded = copy.copy(tool)
    forward, names = tool.forward, list(tool.inputs)
    if inspect.ismethod(forward):
        # Bind it to the copy, so that the setup at the first use changes the copy.
        forward = types.MethodType(forward.__func__, guarded)
    parameters = inspect.signature(forward).parameters.values()
    defaults = {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}

    def decided(*args: Any, **kwargs: Any) -> Any:
        given = {**defaults, **dict(zip(names, args)), **kwargs}
        return guard.call(tool.name, given, forward, session=session)

    guarded.forward = decided
    return guarded


def guard_tools(guard: Guard, tools: Iterable[Tool], session: Optional[str] = None) -> List[Tool]:
    """Returns the tools with the guard."""
    return [guard_tool(guard, tool, session) for tool in tools]

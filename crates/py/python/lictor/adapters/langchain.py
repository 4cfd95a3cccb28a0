"""LangChain and LangGraph: calls of tools pass the guard.

    agent = create_agent(model, tools, middleware=[GuardMiddleware(guard)])
    node = ToolNode(tools, **tool_node_hooks(guard))

A call that may not go on is answered with its reason, as a message of the tool with the status `error`.
"""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, Optional

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage

from ..errors import Denied, LictorError
from ..guard import Content, Guard


def _write(message: Any, said: Any) -> Any:
    if not isinstance(message, ToolMessage):
        raise LictorError("something must be taken out of a command of LangGraph, which cannot be done; it is withheld")
    return message.model_copy(update={"content": said})


#: What a message of a tool says. A command of LangGraph is judged by what it shows of itself.
_CONTENT: Content = (lambda message: getattr(message, "content", None) or str(message), _write)


def _denied(call: Dict[str, Any], denied: Denied) -> ToolMessage:
    return ToolMessage(content=str(denied), name=call["name"], tool_call_id=call["id"] or "", status="error")


class GuardMiddleware(AgentMiddleware):
    """Middleware of `langchain.agents.create_agent`."""

    def __init__(self, guard: Guard, session: Optional[str] = None) -> None:
        super().__init__()
        self.guard, self.session = guard, session

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        call = request.tool_call

        def run(**args: Any) -> Any:
            return handler(request.override(tool_call={**call, "args": args}))

        try:
            options: Dict[str, Any] = {"session": self.session, "id": call["id"], "content": _CONTENT}
            return self.guard.call(call["name"], call["args"], run, **options)
        except Denied as denied:
            return _denied(call, denied)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        call = request.tool_call

        async def run(**args: Any) -> Any:
            return await handler(request.override(tool_call={**call, "args": args}))

        try:
            options: Dict[str, Any] = {"session": self.session, "id": call["id"], "content": _CONTENT}
            return await self.guard.acall(call["name"], call["args"], run, **options)
        except Denied as denied:
            return _denied(call, denied)


def tool_node_hooks(guard: Guard, session: Optional[str] = None) -> Dict[str, Any]:
    """The hooks of LangGraph's `ToolNode`, for graphs that are built by hand."""
    middleware = GuardMiddleware(guard, session)
    return {"wrap_tool_call": middleware.wrap_tool_call, "awrap_tool_call": middleware.awrap_tool_call}

"""LangChain and LangGraph: calls of tools pass the guard.

    agent = create_agent(model, tools, middleware=[GuardMiddleware(guard)])
    node = ToolNode(tools, **tool_node_hooks(guard))

A denied call is answered with its reason, as a tool message with the status `error`.
"""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, Optional, Tuple

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphInterrupt

from ..errors import Denied, LictorError
from ..guard import Content, Guard, with_defaults


def _read(message: Any) -> Any:
    """Returns the content of a tool message, with its artifact. A LangGraph command is judged by its `str`."""
    if not isinstance(message, ToolMessage):
        return str(message)
    return message.content if message.artifact is None else {"content": message.content, "artifact": message.artifact}


def _write(message: Any, said: Any) -> Any:
    if not isinstance(message, ToolMessage):
        raise LictorError("something must be taken out of a command of LangGraph, which cannot be done; it is withheld")
    return message.model_copy(update={"content": said} if message.artifact is None else said)


_CONTENT = Content(
    _read,
    _write,
    failed=lambda message: getattr(message, "status", None) == "error",
    # A tool that asks a person is interrupted, and called again with the answer.
    pauses=(GraphInterrupt,),
)


def _denied(call: Dict[str, Any], denied: Denied) -> ToolMessage:
    return ToolMessage(content=str(denied), name=call["name"], tool_call_id=call["id"] or "", status="error")


#: The most interrupted calls that are remembered.
_MAX_PAUSED = 10_000


class GuardMiddleware(AgentMiddleware):
    """Middleware of `langchain.agents.create_agent`. Put it last, so that no other changes a call it has decided.

    The session of a call is `session`, or that of `guard.session(name)`, or else its `thread_id`: each thread is one.
    """

    def __init__(self, guard: Guard, session: Optional[str] = None) -> None:
        super().__init__()
        self.guard, self.session = guard, session
        #: Calls that a tool has interrupted: the arguments of the model, and the allowed arguments.
        self._paused: Dict[Tuple[str, ...], Tuple[Any, Dict[str, Any]]] = {}

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        call, arguments, options = self._begin(request)
        allowed: Dict[str, Any] = {}

        def run(**args: Any) -> Any:
            allowed.update(args)
            return handler(request.override(tool_call={**call, "args": args}))

        try:
            return self.guard.call(call["name"], arguments, run, **options)
        except GraphInterrupt:
            self._pause(request, allowed)
            raise
        except Denied as denied:
            return _denied(call, denied)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        call, arguments, options = self._begin(request)
        allowed: Dict[str, Any] = {}

        async def run(**args: Any) -> Any:
            allowed.update(args)
            return await handler(request.override(tool_call={**call, "args": args}))

        try:
            return await self.guard.acall(call["name"], arguments, run, **options)
        except GraphInterrupt:
            self._pause(request, allowed)
            raise
        except Denied as denied:
            return _denied(call, denied)

    def _begin(self, request: Any) -> Tuple[Dict[str, Any], Dict[str, Any], Dict[str, Any]]:
        call = request.tool_call
        said, allowed = self._paused.pop(self._name(request), (None, {}))
        resumes = bool(call["id"]) and said is not None and said == call["args"]
        args = allowed if resumes else with_defaults(call["args"], _schema(getattr(request, "tool", None)))
        return call, args, {"session": self._session(request), "id": call["id"], "content": _CONTENT, "resumes": resumes}

    def _pause(self, request: Any, allowed: Dict[str, Any]) -> None:
        self._paused[self._name(request)] = (request.tool_call["args"], allowed)
        # Evicts the oldest; if they are resumed, they are judged again.
        while len(self._paused) > _MAX_PAUSED:
            self._paused.pop(next(iter(self._paused)), None)

    def _name(self, request: Any) -> Tuple[str, ...]:
        """Returns the key of a call: its session, its thread, its tool and its id."""
        call = request.tool_call
        return self._session(request) or self.guard.current, _thread(request) or "", call["name"], call["id"] or ""

    def _session(self, request: Any) -> Optional[str]:
        return self.session or self.guard.named or _thread(request)


def _thread(request: Any) -> Optional[str]:
    """Returns the id of the thread that a call belongs to; none if the caller names no thread."""
    config = getattr(getattr(request, "runtime", None), "config", None) or {}
    thread = (config.get("configurable") or {}).get("thread_id")
    return str(thread) if thread is not None and str(thread) else None


def _schema(tool: Any) -> Any:
    """Returns the schema of the arguments that the model gets; none if there is no such tool."""
    schema: Any = getattr(tool, "tool_call_schema", None)
    return schema.model_json_schema() if hasattr(schema, "model_json_schema") else schema


def tool_node_hooks(guard: Guard, session: Optional[str] = None) -> Dict[str, Any]:
    """Returns the hooks of LangGraph's `ToolNode`, for graphs that are built by hand."""
    middleware = GuardMiddleware(guard, session)
    return {"wrap_tool_call": middleware.wrap_tool_call, "awrap_tool_call": middleware.awrap_tool_call}

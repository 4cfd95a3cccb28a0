"""MCP servers: calls of their tools pass the guard, from every client.

    extension = GuardExtension(guard)
    extension.server = server = MCPServer("shop", extensions=[extension])

A denied call is answered with its reason, as an error result.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

from mcp.server.extension import Extension
from mcp.types import CallToolResult, TextContent

from ..errors import Denied
from ..guard import Content, Guard, with_defaults


def _read(result: Any) -> Any:
    data = result.model_dump(mode="json") if hasattr(result, "model_dump") else result
    return {key: data[key] for key in _SAID if data.get(key)}


def _write(result: Any, said: Any) -> Any:
    return type(result).model_validate({**result.model_dump(), **said})


#: The fields of a result with content: for the model, for the client, and metadata.
_SAID = ("content", "structured_content", "structuredContent", "meta", "_meta")

_CONTENT = Content(_read, _write, failed=lambda result: bool(getattr(result, "is_error", False)))


class GuardExtension(Extension):
    """An extension of `MCPServer` that wraps `tools/call`.

    `session` is the name of the session of all calls, or a function that returns it for the context of a call: a server
    with several clients needs one, or what one client does counts for another.
    """

    identifier = "dev.lictor/guard"

    def __init__(self, guard: Guard, session: Union[str, Callable[[Any], str], None] = None) -> None:
        self.guard, self.session = guard, session
        #: Set this to judge default arguments of the tools as well: a server does not pass itself to its extensions.
        self.server: Any = None

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        async def run(**args: Any) -> Any:
            # The handler reads this object.
            params.arguments = args
            return await call_next(ctx)

        args = with_defaults(params.arguments or {}, await self._schema(params.name))
        session = self.session(ctx) if callable(self.session) else self.session
        try:
            return await self.guard.acall(params.name, args, run, session=session, content=_CONTENT)
        except Denied as denied:
            return CallToolResult(content=[TextContent(type="text", text=str(denied))], is_error=True)

    async def _schema(self, name: str) -> Any:
        tools = await self.server.list_tools() if self.server is not None else ()
        return next((tool.input_schema for tool in tools if tool.name == name), None)

"""MCP servers: calls of their tools pass the guard, whoever the client is.

    server = MCPServer("shop", extensions=[GuardExtension(guard)])

A call that may not go on is answered with its reason, as a result that is an error.
"""

from __future__ import annotations

from typing import Any, Optional

from mcp.server.extension import Extension
from mcp.types import CallToolResult, TextContent

from ..errors import Denied
from ..guard import Content, Guard


def _read(result: Any) -> Any:
    data = result.model_dump(mode="json") if hasattr(result, "model_dump") else result
    return {key: data.get(key) for key in ("content", "structured_content", "structuredContent") if data.get(key)}


def _write(result: Any, said: Any) -> Any:
    return type(result).model_validate({**result.model_dump(), **said})


_CONTENT: Content = (_read, _write)


class GuardExtension(Extension):
    """An extension of `MCPServer` that wraps `tools/call`."""

    identifier = "dev.lictor/guard"

    def __init__(self, guard: Guard, session: Optional[str] = None) -> None:
        self.guard, self.session = guard, session

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        async def run(**args: Any) -> Any:
            # The handler is given these very parameters.
            params.arguments = args
            return await call_next(ctx)

        args = params.arguments or {}
        try:
            return await self.guard.acall(params.name, args, run, session=self.session, content=_CONTENT)
        except Denied as denied:
            return CallToolResult(content=[TextContent(type="text", text=str(denied))], is_error=True)

"""An MCP server with guarded tools, and a client that calls them. Run it with `python mcp_server.py`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, List

from mcp.client import Client
from mcp.server.mcpserver import MCPServer

import lictor
from lictor.adapters.mcp import GuardExtension

ENTERED: List[str] = []
guard = lictor.Guard(Path(__file__).with_name("shop.yaml"))
extension = GuardExtension(guard)
extension.server = server = MCPServer("shop", extensions=[extension])


@server.tool()
def look_up(order: str) -> str:
    """Looks an order up."""
    ENTERED.append("look_up")
    return f"{order}: one teapot, for Ada, born 1990-05-17"


@server.tool()
def send_mail(to: str, body: str) -> str:
    """Sends a mail."""
    ENTERED.append(f"send_mail: {body}")
    return "sent"


@server.tool()
def refund(order: str) -> str:
    """Pays an order back."""
    ENTERED.append("refund")
    return f"refunded {order}"


async def calls() -> List[Any]:
    async with Client(server) as client:
        return [
            await client.call_tool("look_up", {"order": "A1"}),
            await client.call_tool("send_mail", {"to": "ada@example.org", "body": "Ada, born 1990-05-17, it is here."}),
            await client.call_tool("refund", {"order": "A1"}),
        ]


def main() -> List[Any]:
    """Returns the results that the client got."""
    results = asyncio.run(calls())
    print("\n".join([*ENTERED, *(result.content[0].text for result in results)]))
    return results


if __name__ == "__main__":
    main()

"""A client on the official SDK for Python that asks a lying server for each of its lies, and tells lies of its own."""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters

CALLS = [{"amount": 1, "Amount": 9}, {"AMOUNT": 9}, {"to": [{"iban": 1, "IBAN": 2}]}, {"headers": {"A": "1", "a": "2"}}]


async def ask(client, tool, arguments):
    try:
        result = await client.call_tool(tool, arguments)
        return {"failed": bool(result.is_error), "read": result.model_dump_json()}
    except Exception as error:
        return {"failed": True, "read": f"{type(error).__name__}: {error}"}


async def main(target):
    server = target[0] if target[0].startswith("http") else StdioServerParameters(command=target[0], args=target[1:], env=None)
    async with Client(server, mode="legacy", cache=None) as client:
        await client.list_tools()
        lies = [await ask(client, "find", {"lie": number}) for number in range(int(client.server_info.version))]
        calls = [await ask(client, "pay", arguments) for arguments in CALLS]
    print(json.dumps({"lies": lies, "calls": calls}))


asyncio.run(main(sys.argv[1:]))

"""A client on the official SDK for Python: makes the same calls to every server, and prints their outcomes."""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters, types

asked = []


async def elicit(context, params):
    asked.append(params.message)
    return types.ElicitResult(action="accept", content={"allow": True})


def told(result):
    texts = [part.text for part in result.content if part.type == "text"]
    return {"failed": bool(result.is_error), "text": "\n".join(texts)}


async def main(mode, target):
    server = target[0] if target[0].startswith("http") else StdioServerParameters(command=target[0], args=target[1:], env=None)
    outcomes = {}
    async with Client(server, mode=mode, elicitation_callback=elicit, cache=None) as client:
        outcomes["version"] = client.protocol_version
        outcomes["tools"] = sorted(tool.name for tool in (await client.list_tools()).tools)
        for name, tool, arguments in [
            ("allowed", "weather", {"city": "Graz"}),
            ("blocked", "deploy", {}),
            ("redacted", "send", {"text": "hello ann@example.com"}),
            ("withheld", "find", {}),
            ("asked", "delete", {"path": "x"}),
            ("change", "change", {}),
        ]:
            outcomes[name] = told(await client.call_tool(tool, arguments))
        resource = await client.read_resource("note://address")
        outcomes["resource"] = resource.contents[0].text
        await client.list_tools()
        outcomes["changed"] = told(await client.call_tool("weather", {"city": "Graz"}))
        outcomes["questions"] = asked
    print(json.dumps(outcomes))


asyncio.run(main(sys.argv[1], sys.argv[2:]))

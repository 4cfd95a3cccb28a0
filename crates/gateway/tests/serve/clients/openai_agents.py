"""The agent of OpenAI's Agents SDK, by chat and by responses, streamed and not."""

import asyncio

import agents
import openai

import scene


async def play(name, model, stream, address):
    run = scene.Scene(f"agents-{name}", stream)
    client = openai.AsyncOpenAI(api_key=run.key, base_url=f"{address}/v1", max_retries=0)
    tools = [agents.function_tool(tool, strict_mode=False) for tool in run.tools().values()]
    agent = agents.Agent(name="clerk", tools=tools, model=model("m", openai_client=client))
    if stream:
        result = agents.Runner.run_streamed(agent, scene.ASKED)
        async for _ in result.stream_events():
            pass
    else:
        result = await agents.Runner.run(agent, scene.ASKED)
    run.tell(str(result.final_output))


async def main():
    agents.set_tracing_disabled(True)
    models = [("chat", agents.OpenAIChatCompletionsModel), ("responses", agents.OpenAIResponsesModel)]
    for address in scene.addresses():
        for name, model in models:
            for stream in scene.streams():
                await play(name, model, stream, address)


asyncio.run(main())

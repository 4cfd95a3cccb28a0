// Clients in JavaScript that read what a lying upstream sends through the gateway, as liars.py does.

import { createOpenAI } from "@ai-sdk/openai";
import { generateText, jsonSchema, streamText, tool } from "ai";
import { readFileSync } from "node:fs";
import OpenAI from "openai";

const { address, lies } = JSON.parse(readFileSync(0, "utf8"));
const client = new OpenAI({ apiKey: "key", baseURL: `${address}/v1`, maxRetries: 0 });
const provider = createOpenAI({ apiKey: "key", baseURL: `${address}/v1` });
const asked = (number) => `Tell me lie number ${number} please.`;
const messages = (number) => [{ role: "user", content: asked(number) }];
const made = () => tool({ description: "a tool", inputSchema: jsonSchema({ type: "object", properties: {} }) });
const tools = { look: made(), drop: made() };

const vercel = (model, streams) => async (number) => {
  const given = { model, prompt: asked(number), maxRetries: 0, tools };
  if (!streams) {
    const result = await generateText(given);
    return [result.text, result.toolCalls];
  }
  const result = streamText({ ...given, onError: () => {} });
  let text = "";
  for await (const part of result.textStream) text += part;
  return [text, await result.toolCalls];
};

const clients = {
  "openai chat": async (number) => {
    const { message } = (await client.chat.completions.create({ model: "m", messages: messages(number) })).choices[0];
    return [message.content, message.refusal, message.tool_calls, message.function_call];
  },
  "openai chat stream": async (number) => {
    const stream = client.chat.completions.stream({ model: "m", messages: messages(number) });
    const { message } = (await stream.finalChatCompletion()).choices[0];
    return [message.content, message.tool_calls, message.function_call];
  },
  "openai responses": async (number) => {
    const response = await client.responses.create({ model: "m", input: asked(number) });
    return [response.output_text, response.output];
  },
  "openai responses stream": async (number) => {
    const response = await client.responses.stream({ model: "m", input: asked(number) }).finalResponse();
    return [response.output_text, response.output];
  },
  "vercel chat": vercel(provider.chat("m"), false),
  "vercel chat stream": vercel(provider.chat("m"), true),
  "vercel responses": vercel(provider.responses("m"), false),
  "vercel responses stream": vercel(provider.responses("m"), true),
};

for (const [place, [name, read]] of Object.entries(clients).entries()) {
  const seen = [];
  let [replies, errors] = [0, 0];
  for (let number = place * lies; number < (place + 1) * lies; number += 1) {
    let got;
    try {
      got = JSON.stringify(await read(number));
    } catch {
      errors += 1;
      continue;
    }
    replies += 1;
    if (got.includes('"name":"drop"') || got.includes('"toolName":"drop"') || /\bdiabetes\b/.test(got)) {
      seen.push([number, got.slice(0, 400)]);
    }
  }
  console.log(JSON.stringify({ client: name, seen, replies, errors }));
}

// An agent that uses OpenAI's client library for JavaScript, and executes every call it gets.
//
// Standard input holds {"runs", "turns"} as for the agent in Python. For chat and responses, streamed and not, prints a
// line of JSON with the executed tools.

import { readFileSync } from "node:fs";
import OpenAI from "openai";

const given = JSON.parse(readFileSync(0, "utf8"));

async function chat(client, items, stream, headers) {
  const asked = { model: "m", messages: items };
  const reply = stream
    ? await client.chat.completions.stream(asked, { headers }).finalChatCompletion()
    : await client.chat.completions.create(asked, { headers });
  const message = reply.choices[0].message;
  const calls = message.tool_calls ?? [];
  const said = { role: "assistant", content: message.content };
  if (calls.length > 0) {
    said.tool_calls = calls.map(({ id, function: { name, arguments: args } }) => ({
      id,
      type: "function",
      function: { name, arguments: args },
    }));
  }
  items.push(said);
  for (const call of calls) {
    JSON.parse(call.function.arguments);
    items.push({ role: "tool", tool_call_id: call.id, content: "ok" });
  }
  return calls.map((call) => call.function.name);
}

async function responses(client, items, stream, headers) {
  const asked = { model: "m", input: items };
  const reply = stream
    ? await client.responses.stream(asked, { headers }).finalResponse()
    : await client.responses.create(asked, { headers });
  const calls = reply.output.filter((item) => item.type === "function_call");
  for (const item of reply.output) {
    const { parsed_arguments: _, ...kept } = item;
    if (Array.isArray(kept.content)) {
      kept.content = kept.content.map(({ parsed: __, ...part }) => part);
    }
    items.push(kept);
  }
  for (const call of calls) {
    JSON.parse(call.arguments);
    items.push({ type: "function_call_output", call_id: call.call_id, output: "ok" });
  }
  return calls.map((call) => call.name);
}

for (const { address } of given.runs) {
  const client = new OpenAI({ apiKey: "key", baseURL: `${address}/v1`, maxRetries: 0 });
  for (const [name, ask] of [
    ["chat", chat],
    ["responses", responses],
  ]) {
    for (const stream of [false, true]) {
      const items = [];
      const done = [];
      for (const [turn, [user, steps]] of given.turns.entries()) {
        items.push({ role: "user", content: user });
        for (let step = 0; step <= steps; step += 1) {
          const headers = { "x-step": `${turn}.${step}`, "x-lictor-session": `node-${name}-${stream}` };
          const tools = await ask(client, items, stream, headers);
          done.push(...tools);
          if (tools.length === 0) break;
        }
      }
      console.log(JSON.stringify({ api: name, stream, tools: done }));
    }
  }
}

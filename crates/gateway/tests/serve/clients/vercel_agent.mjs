// The agent of Vercel's AI SDK, by chat and by responses.

import { createOpenAI } from "@ai-sdk/openai";
import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { readFileSync } from "node:fs";

const { addresses } = JSON.parse(readFileSync(0, "utf8"));

for (const address of addresses) {
  for (const name of ["chat", "responses"]) {
    const entered = [];
    const made = (called, properties) =>
      tool({
        description: called,
        inputSchema: jsonSchema({ type: "object", properties }),
        execute: async (args) => {
          entered.push([called, called === "note" ? { diagnosis: "", ...args } : args]);
          return "ok";
        },
      });
    const provider = createOpenAI({
      apiKey: "key",
      baseURL: `${address}/v1`,
      headers: { "x-lictor-session": `vercel-${name}` },
    });
    const text = { type: "string" };
    const result = await generateText({
      model: name === "chat" ? provider.chat("m") : provider.responses("m"),
      prompt: "Tidy up the orders.",
      maxRetries: 0,
      stopWhen: stepCountIs(9),
      tools: {
        look: made("look", { what: text }),
        note: made("note", { text, diagnosis: text }),
        drop: made("drop", { x: { type: "number" } }),
      },
    });
    console.log(JSON.stringify({ entered, said: result.text }));
  }
}

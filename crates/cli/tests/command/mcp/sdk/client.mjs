// A client on the official SDK for TypeScript: makes the same calls to every server, and prints their outcomes.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [command, ...args] = process.argv.slice(3);
const transport = command.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args, env: process.env });
const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
const questions = [];
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  questions.push(params.message);
  return { action: "accept", content: { allow: true } };
});
await client.connect(transport);

const call = async (name, given) => {
  const result = await client.callTool({ name, arguments: given });
  const texts = result.content.filter((part) => part.type === "text").map((part) => part.text);
  return { failed: result.isError === true, text: texts.join("\n") };
};
const outcomes = { tools: (await client.listTools()).tools.map((tool) => tool.name).sort() };
outcomes.allowed = await call("weather", { city: "Graz" });
outcomes.blocked = await call("deploy", {});
outcomes.redacted = await call("send", { text: "hello ann@example.com" });
outcomes.withheld = await call("find", {});
outcomes.asked = await call("delete", { path: "x" });
outcomes.change = await call("change", {});
outcomes.resource = (await client.readResource({ uri: "note://address" })).contents[0].text;
await client.listTools();
outcomes.changed = await call("weather", { city: "Graz" });
outcomes.questions = questions;
console.log(JSON.stringify(outcomes));
await client.close();
process.exit(0);

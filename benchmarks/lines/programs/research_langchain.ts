import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { toUIMessageStream } from "@ai-sdk/langchain";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { ChatOpenAI } from "@langchain/openai";
import { pipeUIMessageStreamToResponse } from "ai";
import { createAgent, tool } from "langchain";
import { z } from "zod";

const search = tool(
  ({ query }) => {
    appendFileSync("effects.log", query + "\n");
    if (process.env.DIE) process.kill(process.pid, "SIGKILL");
    return `pages about ${query}`;
  },
  { name: "search", description: "Searches the web", schema: z.object({ query: z.string() }) },
);
const gpt = (model: string) => new ChatOpenAI({ model, apiKey: "none", configuration: { baseURL: process.env.MODEL_URL } });
function researcher(name: string, about: string) {
  const agent = createAgent({ model: gpt(name), systemPrompt: `You research the ${about}.`, tools: [search] });
  return tool(async ({ request }) => (await agent.invoke({ messages: [{ role: "user", content: request }] })).messages.at(-1)!.content, {
    name,
    description: `Knows the ${about}`,
    schema: z.object({ request: z.string() }),
  });
}
const editor = createAgent({
  model: gpt("editor"),
  systemPrompt: "You write reports.",
  tools: [researcher("historian", "past"), researcher("economist", "prices")],
  checkpointer: SqliteSaver.fromConnString("research.db"),
});

const server = createServer(async (request, response) => {
  if (request.method === "GET") {
    const { values } = await editor.graph.getState({ configurable: { thread_id: request.url!.split("/")[2] } });
    response.end(JSON.stringify({ messages: values.messages ?? [] }));
    return;
  }
  let text = "";
  for await (const piece of request) text += piece;
  const { id, messages } = JSON.parse(text);
  const config = { configurable: { thread_id: id }, streamMode: ["values", "messages"] as any };
  const stream = await editor.stream({ messages: [{ role: "user", content: messages.at(-1).parts[0].text }] }, config);
  pipeUIMessageStreamToResponse({ response, stream: toUIMessageStream(stream as any) });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/research`));

import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ToolLoopAgent, type UIMessage, pipeAgentUIStreamToResponse, tool } from "ai";
import { z } from "zod";

const search = tool({
  description: "Searches the web",
  inputSchema: z.object({ query: z.string() }),
  execute: ({ query }) => {
    appendFileSync("effects.log", query + "\n");
    if (process.env.DIE) process.kill(process.pid, "SIGKILL");
    return `pages about ${query}`;
  },
});
const gpt = createOpenAICompatible({ name: "local", baseURL: process.env.MODEL_URL! });
function researcher(name: string, about: string) {
  const agent = new ToolLoopAgent({ model: gpt(name), instructions: `You research the ${about}.`, tools: { search } });
  return tool({
    description: `Knows the ${about}`,
    inputSchema: z.object({ request: z.string() }),
    execute: async ({ request }, { abortSignal }) => (await agent.generate({ prompt: request, abortSignal })).text,
  });
}
const editor = new ToolLoopAgent({
  model: gpt("editor"),
  instructions: "You write reports.",
  tools: { historian: researcher("historian", "past"), economist: researcher("economist", "prices") },
});

const fileOf = (id: string) => `${encodeURIComponent(id)}.json`;
const load = (id: string): UIMessage[] => (existsSync(fileOf(id)) ? JSON.parse(readFileSync(fileOf(id), "utf8")) : []);
const server = createServer(async (request, response) => {
  if (request.method === "GET") {
    const id = request.url!.split("/")[2];
    response.end(JSON.stringify({ messages: load(id) }));
    return;
  }
  let text = "";
  for await (const piece of request) text += piece;
  const { id, messages } = JSON.parse(text);
  await pipeAgentUIStreamToResponse({
    response,
    agent: editor,
    uiMessages: messages,
    onEnd: ({ messages }) => writeFileSync(fileOf(id), JSON.stringify(messages)), // the program keeps the conversation
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/research`));

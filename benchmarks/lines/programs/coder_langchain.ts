import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { ChatOpenAI } from "@langchain/openai";
import { AIMessage, ToolMessage, createAgent, createMiddleware, tool } from "langchain";
import { z } from "zod";

const path = z.string();
const read = tool(({ path }) => readFileSync(path, "utf8"), { name: "read", description: "Reads a file", schema: z.object({ path }) });
const write = tool(
  ({ path, text }) => {
    writeFileSync(path, text);
    appendFileSync("effects.log", path + "\n");
    if (process.env.DIE) process.kill(process.pid, "SIGKILL");
    return "written";
  },
  { name: "write", description: "Writes a file", schema: z.object({ path, text: z.string() }) },
);
const look = tool(
  (_, { toolCall }) =>
    new ToolMessage({
      tool_call_id: toolCall!.id!,
      content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${process.env.PICTURE}` } }],
    }),
  { name: "look", description: "Shows a page", schema: z.object({ path }) },
);
const tokens = (messages: any[]) => messages.reduce((sum, { usage_metadata }) => sum + (usage_metadata?.total_tokens ?? 0), 0);
const budget = createMiddleware({
  name: "budget",
  beforeModel: {
    canJumpTo: ["end"],
    hook: ({ messages }) =>
      tokens(messages) < 10_000 ? undefined : { messages: [new AIMessage("The budget is used up.")], jumpTo: "end" as const },
  },
});

const coder = createAgent({
  model: new ChatOpenAI({ model: "coder", apiKey: "none", configuration: { baseURL: process.env.MODEL_URL } }),
  systemPrompt: "You write pages.",
  tools: [read, write, look],
  middleware: [budget],
  checkpointer: SqliteSaver.fromConnString("coder.db"),
});
const ada = { configurable: { thread_id: "ada" }, recursionLimit: 200 };
if ((await coder.graph.getState(ada)).next.length > 0) await coder.invoke(null, ada);
if (process.argv[2]) await coder.invoke({ messages: [{ role: "user", content: process.argv[2] }] }, ada);
const { messages } = (await coder.graph.getState(ada)).values;
console.log(`${messages.at(-1).content} (${tokens(messages)} tokens)`);

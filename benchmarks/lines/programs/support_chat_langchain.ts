import { appendFileSync } from "node:fs";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, piiMiddleware, summarizationMiddleware, tool } from "langchain";
import { z } from "zod";

const refund = tool(
  ({ order }) => {
    appendFileSync("effects.log", order + "\n");
    if (process.env.DIE) process.kill(process.pid, "SIGKILL");
    return `refunded ${order}`;
  },
  { name: "refund", description: "Refunds an order", schema: z.object({ order: z.string() }) },
);
const gpt = (model: string) => new ChatOpenAI({ model, apiKey: "none", configuration: { baseURL: process.env.MODEL_URL } });

const support = createAgent({
  model: gpt("support"),
  systemPrompt: "You help customers of a shop.",
  tools: [refund],
  middleware: [
    summarizationMiddleware({ model: gpt("small"), trigger: { tokens: 60 }, keep: { messages: 4 } }),
    piiMiddleware("email", { strategy: "redact", applyToInput: true, applyToOutput: true, applyToToolResults: true }),
    piiMiddleware("credit_card", { strategy: "redact", applyToInput: true, applyToOutput: true, applyToToolResults: true }),
  ],
  checkpointer: SqliteSaver.fromConnString("support.db"),
});
const ada = { configurable: { thread_id: "ada" } };
if ((await support.graph.getState(ada)).next.length > 0) await support.invoke(null, ada);
if (process.argv[2]) await support.invoke({ messages: [{ role: "user", content: process.argv[2] }] }, ada);
console.log((await support.graph.getState(ada)).values.messages.at(-1).content);

// The workload `agent` on LangGraph.js's prebuilt agent and on the AI SDK's ToolLoopAgent: node agent.mjs OUT. QUICK=yes: fewer samples. Writes
// OUT-langgraph.json and OUT-ai.json. The cases have the names and the sizes of stategraph's (benchmarks/workloads/agent): each model call and each tool
// does nothing, so that what is measured is the loop. LangGraph.js stores each step in its MemorySaver, but in the case `unsaved`; the AI SDK stores
// nothing in any case.
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";
import { tool as langchainTool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ToolLoopAgent, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";
import { measure } from "./measure.mjs";

const [out] = process.argv.slice(2);

function check(ok) {
  if (!ok) throw new Error("wrong result");
}

// ---------------------------------------------------------------------------------------------------------- LangGraph.js
class Scripted extends BaseChatModel {
  constructor(rounds) {
    super({});
    this.rounds = rounds;
  }
  _llmType() {
    return "scripted";
  }
  bindTools() {
    return this;
  }
  async _generate(messages) {
    const said = messages.filter((message) => message.getType() === "ai").length;
    const message =
      said < this.rounds
        ? new AIMessage({ content: "", tool_calls: [{ id: `c${said}`, name: "inc", args: { n: 1 }, type: "tool_call" }] })
        : new AIMessage("done");
    return { generations: [{ text: "", message }] };
  }
}

function langgraph(rounds, saves) {
  const inc = langchainTool(async ({ n }) => String(n + 1), { name: "inc", description: "Adds one", schema: z.object({ n: z.number() }) });
  const agent = createReactAgent({ llm: new Scripted(rounds), tools: [inc], checkpointer: saves ? new MemorySaver() : undefined });
  let run = 0;
  return async () => {
    const result = await agent.invoke(
      { messages: [{ role: "user", content: "go" }] },
      { configurable: { thread_id: String(++run) }, recursionLimit: 1000 },
    );
    check(result.messages.length === 2 + 2 * rounds);
  };
}

// ---------------------------------------------------------------------------------------------------------- the AI SDK
function aiSdk(rounds) {
  const usage = { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } };
  const model = new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const said = prompt.filter((message) => message.role === "assistant").length;
      return said < rounds
        ? {
            content: [{ type: "tool-call", toolCallId: `c${said}`, toolName: "inc", input: '{"n":1}' }],
            finishReason: { unified: "tool-calls", raw: "tool_calls" },
            usage,
            warnings: [],
          }
        : { content: [{ type: "text", text: "done" }], finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] };
    },
  });
  const inc = tool({ description: "Adds one", inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => n + 1 });
  const agent = new ToolLoopAgent({ model, tools: { inc }, stopWhen: stepCountIs(rounds + 2) });
  return async () => {
    const result = await agent.generate({ prompt: "go" });
    check(result.text === "done" && result.steps.length === rounds + 1);
  };
}

const version = (name) => createRequire(import.meta.url)(`./node_modules/${name}/package.json`).version;
for (const [key, peer, make] of [
  ["langgraph", `LangGraph.js ${version("@langchain/langgraph")}`, langgraph],
  ["ai", `AI SDK ${version("ai")}`, aiSdk],
]) {
  const figures = [];
  for (const [name, rounds, saves] of [
    ["agent/rounds_10", 10, true],
    ["agent/rounds_10_unsaved", 10, false],
    ["agent/answer", 0, true],
  ]) {
    figures.push({ name, unit: "us", samples: await measure(() => make(rounds, saves)) });
  }
  writeFileSync(`${out}-${key}.json`, JSON.stringify({ peer, figures }));
}

import { appendFileSync } from "node:fs";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, interrupt } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { z } from "zod";

// Stands for a model.
class Scripted extends BaseChatModel {
  _llmType() {
    return "scripted";
  }
  bindTools() {
    return this;
  }
  async _generate(messages: BaseMessage[]) {
    const calls = [
      { id: "c1", name: "list", args: { path: "/tmp" }, type: "tool_call" as const },
      { id: "c2", name: "remove", args: { path: "/tmp/old" }, type: "tool_call" as const },
    ];
    const asked = messages.some((message) => message.getType() === "ai");
    const message = asked ? new AIMessage("I removed the old file.") : new AIMessage({ content: "", tool_calls: calls });
    return { generations: [{ text: "", message }] };
  }
}

const schema = z.object({ path: z.string() });
const list = tool(
  ({ path }) => {
    appendFileSync("listed.log", path + "\n");
    return `${path}/old, ${path}/new`;
  },
  { name: "list", description: "Lists a folder", schema },
);
const remove = tool(
  ({ path }) => {
    if (!interrupt({ tool: "remove", path })) return "The call was not approved.";
    appendFileSync("removed.log", path + "\n");
    if (process.env.DIE) process.kill(process.pid, "SIGKILL");
    return `${path} is gone`;
  },
  { name: "remove", description: "Removes a file", schema },
);

const agent = createReactAgent({
  llm: new Scripted({}),
  tools: [list, remove],
  prompt: "You keep folders tidy.",
  version: "v2",
  checkpointer: SqliteSaver.fromConnString("agent.db"),
});
const ada = { configurable: { thread_id: "ada" } };
if (process.argv[2] === "ask") {
  await agent.invoke({ messages: [{ role: "user", content: "Tidy up /tmp" }] }, ada);
  for (const task of (await agent.getState(ada)).tasks)
    for (const question of task.interrupts) console.log(`may I ${JSON.stringify(question.value)}?`);
} else {
  const result = await agent.invoke(new Command({ resume: true }), ada);
  console.log(result.messages.at(-1)!.content);
}

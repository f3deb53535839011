import { appendFileSync } from "node:fs";
import { Command } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, humanInTheLoopMiddleware, tool } from "langchain";
import { z } from "zod";

const gpt = (model: string) => new ChatOpenAI({ model, apiKey: "none", configuration: { baseURL: process.env.MODEL_URL } });
function worker(name: string, verb: string) {
  const act = tool(
    ({ bed }) => {
      appendFileSync("effects.log", verb + "\n");
      if (process.env.DIE) process.kill(process.pid, "SIGKILL");
      return `${verb}ed bed ${bed}`;
    },
    { name: verb, schema: z.object({ bed: z.string() }) },
  );
  const agent = createAgent({
    model: gpt(name),
    systemPrompt: `You ${verb} beds.`,
    tools: [act],
    middleware: [humanInTheLoopMiddleware({ interruptOn: { [verb]: { allowedDecisions: ["approve", "reject"] } } })],
  });
  return tool(async ({ request }) => (await agent.invoke({ messages: [{ role: "user", content: request }] })).messages.at(-1)!.content, {
    name,
    description: `Can ${verb}`,
    schema: z.object({ request: z.string() }),
  });
}
const chief = createAgent({
  model: gpt("chief"),
  systemPrompt: "You lead a team of gardeners.",
  tools: [worker("weeder", "weed"), worker("planter", "plant")],
  checkpointer: SqliteSaver.fromConnString("team.db"),
});
const ada = { configurable: { thread_id: "ada" } };
const open = async () => (await chief.graph.getState(ada)).tasks.flatMap((task) => task.interrupts);
if (process.argv[2] === "ask") {
  await chief.invoke({ messages: [{ role: "user", content: "Prepare bed 7" }] }, ada);
  for (const { value } of await open())
    for (const { name, args } of value.actionRequests) console.log(`may I ${name} ${JSON.stringify(args)}?`);
} else {
  const decisions = (await open()).map(({ id }) => [id, { decisions: [{ type: "approve" }] }]);
  await chief.invoke(new Command({ resume: Object.fromEntries(decisions) }), ada);
  console.log((await chief.graph.getState(ada)).values.messages.at(-1).content);
}

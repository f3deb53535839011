import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, RunState, run, setDefaultOpenAIClient, setOpenAIAPI, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";

setDefaultOpenAIClient(new OpenAI({ baseURL: process.env.MODEL_URL, apiKey: "none" }));
setOpenAIAPI("chat_completions");
setTracingDisabled(true);
function worker(name: string, verb: string) {
  const act = tool({
    name: verb,
    description: verb,
    parameters: z.object({ bed: z.string() }),
    needsApproval: true,
    execute: ({ bed }) => {
      appendFileSync("effects.log", verb + "\n");
      if (process.env.DIE) process.kill(process.pid, "SIGKILL");
      return `${verb}ed bed ${bed}`;
    },
  });
  const agent = new Agent({ name, model: name, instructions: `You ${verb} beds.`, tools: [act] });
  return agent.asTool({ toolName: name, toolDescription: `Can ${verb}` });
}
const chief = new Agent({
  name: "chief",
  model: "chief",
  instructions: "You lead a team of gardeners.",
  tools: [worker("weeder", "weed"), worker("planter", "plant")],
});
if (process.argv[2] === "ask") {
  const result = await run(chief, "Prepare bed 7");
  for (const { rawItem } of result.interruptions as any[]) console.log(`may I ${rawItem.name} ${rawItem.arguments}?`);
  writeFileSync("ada.json", result.state.toString()); // the program keeps the run
} else {
  const state = await RunState.fromString(chief, readFileSync("ada.json", "utf8"));
  for (const question of state.getInterruptions()) state.approve(question);
  const result = await run(chief, state);
  writeFileSync("ada.json", result.state.toString());
  console.log(result.finalOutput);
}

import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { type ModelMessage, ToolLoopAgent, stepCountIs, tool } from "ai";
import { z } from "zod";

const path = z.string();
const read = tool({ description: "Reads a file", inputSchema: z.object({ path }), execute: ({ path }) => readFileSync(path, "utf8") });
const write = tool({
  description: "Writes a file",
  inputSchema: z.object({ path, text: z.string() }),
  execute: ({ path, text }) => {
    writeFileSync(path, text);
    appendFileSync("effects.log", path + "\n");
    if (process.env.DIE) process.kill(process.pid, "SIGKILL");
    return "written";
  },
});
const look = tool({
  description: "Shows a page",
  inputSchema: z.object({ path }),
  execute: ({ path }) => ({ path, data: process.env.PICTURE! }),
  toModelOutput: ({ output }) => ({ type: "content", value: [{ type: "file", mediaType: "image/png", data: { type: "data", data: output.data } }] }),
});

let { messages, used } = existsSync("ada.json") ? JSON.parse(readFileSync("ada.json", "utf8")) : { messages: [] as ModelMessage[], used: 0 };
const coder = new ToolLoopAgent({
  model: createOpenAICompatible({ name: "local", baseURL: process.env.MODEL_URL! })("coder"),
  instructions: "You write pages.",
  tools: { read, write, look },
  stopWhen: [stepCountIs(50), ({ steps }) => used + steps.reduce((sum, step) => sum + step.usage.totalTokens!, 0) >= 10_000],
});
if (process.argv[2]) {
  messages.push({ role: "user", content: process.argv[2] });
  const result = await coder.generate({ messages });
  messages.push(...result.responseMessages);
  used += result.totalUsage.totalTokens!;
  writeFileSync("ada.json", JSON.stringify({ messages, used })); // the program keeps the conversation
}
const last = messages.at(-1)?.content;
console.log(`${typeof last === "string" ? last : (last ?? []).map((part: any) => part.text ?? "").join("")} (${used} tokens)`);

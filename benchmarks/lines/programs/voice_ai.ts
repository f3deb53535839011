import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { type ModelMessage, ToolLoopAgent } from "ai";

const voice = new ToolLoopAgent({
  model: createOpenAICompatible({ name: "local", baseURL: process.env.MODEL_URL! })("voice"),
  instructions: "You speak.",
});
const messages: ModelMessage[] = existsSync("ada.json") ? JSON.parse(readFileSync("ada.json", "utf8")) : [];
let speaking = new AbortController();
let ended = Promise.resolve();
async function speak(line: string, abortSignal: AbortSignal) {
  messages.push({ role: "user", content: line });
  let said = "";
  const result = await voice.stream({ messages, abortSignal });
  for await (const piece of result.textStream) {
    said += piece;
    process.stdout.write(piece);
  }
  messages.push({ role: "assistant", content: said });
  writeFileSync("ada.json", JSON.stringify(messages)); // the program keeps the conversation
  process.stdout.write("\n");
}
for await (const line of createInterface({ input: process.stdin })) {
  speaking.abort();
  await ended;
  speaking = new AbortController();
  ended = speak(line, speaking.signal);
}
await ended;

import { createInterface } from "node:readline";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";

const voice = createAgent({
  model: new ChatOpenAI({ model: "voice", apiKey: "none", configuration: { baseURL: process.env.MODEL_URL } }),
  systemPrompt: "You speak.",
  tools: [],
  checkpointer: SqliteSaver.fromConnString("voice.db"),
});
let speaking = new AbortController();
let ended = Promise.resolve();
async function speak(line: string, signal: AbortSignal) {
  try {
    const input = { messages: [{ role: "user" as const, content: line }] };
    const stream = await voice.stream(input, { configurable: { thread_id: "ada" }, streamMode: "messages", signal });
    for await (const [piece] of stream) process.stdout.write(piece.text);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  process.stdout.write("\n");
}
for await (const line of createInterface({ input: process.stdin })) {
  speaking.abort();
  await ended;
  speaking = new AbortController();
  ended = speak(line, speaking.signal);
}
await ended;

import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, type LanguageModelMiddleware, type ModelMessage, ToolLoopAgent, tool, wrapLanguageModel } from "ai";
import { z } from "zod";

const refund = tool({
  description: "Refunds an order",
  inputSchema: z.object({ order: z.string() }),
  execute: ({ order }) => {
    appendFileSync("effects.log", order + "\n");
    if (process.env.DIE) process.kill(process.pid, "SIGKILL");
    return `refunded ${order}`;
  },
});
const gpt = createOpenAICompatible({ name: "local", baseURL: process.env.MODEL_URL! });

const redact = (text: string) => text.replace(/[\w.+-]+@[\w-]+\.[\w.]+\w/g, "[email]").replace(/\b(\d[ -]?){12,18}\d\b/g, "[card]");
const redactAll = (value: any): any =>
  typeof value === "string" ? redact(value) : Array.isArray(value) ? value.map(redactAll)
    : value && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, redactAll(each)])) : value;
const redaction: LanguageModelMiddleware = {
  transformParams: async ({ params }) => ({ ...params, prompt: redactAll(params.prompt) }),
  wrapGenerate: async ({ doGenerate }) => {
    const result = await doGenerate();
    return { ...result, content: result.content.map((part) => (part.type === "text" ? { ...part, text: redact(part.text) } : part)) };
  },
};
const support = new ToolLoopAgent({
  model: wrapLanguageModel({ model: gpt("support"), middleware: redaction }),
  instructions: "You help customers of a shop.",
  tools: { refund },
});

let { messages, summary } = existsSync("ada.json") ? JSON.parse(readFileSync("ada.json", "utf8")) : { messages: [] as ModelMessage[], summary: "" };
if (process.argv[2]) {
  messages.push({ role: "user", content: process.argv[2] });
  let begin = Math.max(0, messages.length - 4);
  while (begin > 0 && messages[begin].role !== "user") --begin;
  if (begin > 0 && JSON.stringify(messages).length > 240) {
    const older = [{ role: "user", content: `${summary}\n${JSON.stringify(messages.slice(0, begin))}` } as ModelMessage];
    const model = wrapLanguageModel({ model: gpt("small"), middleware: redaction });
    summary = (await generateText({ model, instructions: "Summarise this conversation.", messages: older })).text;
    messages = messages.slice(begin);
  }
  const sent = summary ? [{ role: "user", content: `Before: ${summary}` } as ModelMessage, ...messages] : messages;
  messages.push(...(await support.generate({ messages: sent })).responseMessages);
  writeFileSync("ada.json", JSON.stringify({ messages, summary })); // the program keeps the conversation
}
const last = messages.at(-1)?.content;
console.log(typeof last === "string" ? last : last?.map((part: any) => part.text ?? "").join(""));

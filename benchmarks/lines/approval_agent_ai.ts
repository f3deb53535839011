import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { type ModelMessage, ToolLoopAgent, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";

// Stands for a model.
const usage = { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } } as any;
const calls = [
  { type: "tool-call" as const, toolCallId: "c1", toolName: "list", input: '{"path":"/tmp"}' },
  { type: "tool-call" as const, toolCallId: "c2", toolName: "remove", input: '{"path":"/tmp/old"}' },
];
const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) =>
    prompt.some((message) => message.role === "assistant")
      ? { content: [{ type: "text", text: "I removed the old file." }], finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] }
      : { content: calls, finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage, warnings: [] },
});

const inputSchema = z.object({ path: z.string() });
const list = tool({
  description: "Lists a folder",
  inputSchema,
  execute: ({ path }) => {
    appendFileSync("listed.log", path + "\n");
    return `${path}/old, ${path}/new`;
  },
});
const remove = tool({
  description: "Removes a file",
  inputSchema,
  needsApproval: true,
  execute: ({ path }) => {
    appendFileSync("removed.log", path + "\n");
    if (process.env.DIE) process.kill(process.pid, "SIGKILL");
    return `${path} is gone`;
  },
});

const agent = new ToolLoopAgent({ model, instructions: "You keep folders tidy.", tools: { list, remove } });
if (process.argv[2] === "ask") {
  const messages: ModelMessage[] = [{ role: "user", content: "Tidy up /tmp" }];
  const result = await agent.generate({ messages });
  for (const part of result.content)
    if (part.type === "tool-approval-request") console.log(`may I ${part.toolCall.toolName} ${JSON.stringify(part.toolCall.input)}?`);
  writeFileSync("ada.json", JSON.stringify([...messages, ...result.responseMessages])); // the program keeps the conversation
} else {
  const messages: ModelMessage[] = JSON.parse(readFileSync("ada.json", "utf8"));
  const parts: any[] = messages.flatMap((message) => (Array.isArray(message.content) ? message.content : []));
  const answered = new Set(parts.filter((part) => part.type === "tool-approval-response").map((part) => part.approvalId));
  for (const { type, approvalId } of parts)
    if (type === "tool-approval-request" && !answered.has(approvalId))
      messages.push({ role: "tool", content: [{ type: "tool-approval-response", approvalId, approved: true }] });
  const result = await agent.generate({ messages });
  writeFileSync("ada.json", JSON.stringify([...messages, ...result.responseMessages]));
  console.log(result.text);
}

// @ag-ui/client as a client of an agent and of a graph: ag_ui_test.mjs PROGRAM
import assert from "node:assert/strict";

import { HttpAgent } from "@ag-ui/client";
import { EventSchema } from "@ag-ui/core/schemas";

import { eventually, run, serve } from "./served.mjs";

const [program] = process.argv.slice(2);
const server = await serve(program, ["--port", "0"]);
let threads = 0;
const complaints = [];
for (const level of ["warn", "error"]) console[level] = (...words) => complaints.push(words.join(" "));

// A page: its agent, and what it was told.
function page(endpoint, options = {}) {
  const agent = new HttpAgent({
    url: new URL(`/${endpoint}/ag-ui`, server.url).href, threadId: `thread-${(threads += 1)}`, ...options,
  });
  const events = [];
  agent.subscribe({
    onEvent: ({ event }) => {
      const read = EventSchema.safeParse(event);
      assert.ok(read.success, `${JSON.stringify(event)}: ${read.error}`);
      events.push(event);
    },
  });
  return {
    agent,
    events,
    say: (id, content) => agent.addMessage({ id, role: "user", content }),
    // Returns how the run ended.
    async run(parameters = {}) {
      events.length = 0;
      await agent.runAgent(parameters);
      return events.at(-1);
    },
    texts: () => agent.messages.map((message) => `${message.role}:${message.content ?? ""}`),
  };
}
const resolved = (agent, payload) =>
  agent.pendingInterrupts.map((each) => ({ interruptId: each.id, status: "resolved", payload }));

await run({
  "a chat is written in pieces, and continued": async () => {
    const { agent, events, say, run: send, texts } = page("garden");
    say("m1", "hello");
    const end = await send();
    assert.deepEqual(end.outcome, { type: "success" });
    assert.deepEqual(texts(), ["user:hello", "assistant:I hear: hello"]);
    const kinds = new Set(events.map((each) => each.type));
    for (const kind of ["STEP_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]) {
      assert.ok(kinds.has(kind), kind);
    }
    say("m2", "again");
    await send();
    assert.deepEqual(texts().slice(2), ["user:again", "assistant:I hear: again"]);
    assert.deepEqual(agent.messages.filter((each) => each.role === "user").map((each) => each.id), ["m1", "m2"]);
  },
  "a call that needs approval is an interrupt, which the page answers": async () => {
    const { agent, say, run: send, texts } = page("garden");
    say("m1", "burn it");
    const end = await send();
    assert.equal(end.outcome.type, "interrupt");
    assert.equal(agent.pendingInterrupts.length, 1);
    assert.equal(agent.pendingInterrupts[0].reason, "tool-approval");
    const calls = agent.messages.find((each) => each.toolCalls).toolCalls;
    assert.deepEqual(calls.map((each) => JSON.parse(each.function.arguments).what), ["dig", "burn"]);
    assert.equal(agent.pendingInterrupts[0].toolCallId, calls[1].id);
    await assert.rejects(agent.runAgent(), /pending interrupt/);
    const ended = await send({ resume: resolved(agent, { approved: true }) });
    assert.equal(ended.outcome.type, "success");
    assert.deepEqual(texts(), ["user:burn it", "reasoning:they want fire", "assistant:I begin.", "tool:did dig",
      "tool:did burn", "assistant:All is done."]);
  },
  "a page that is loaded shows the thread and its open question": async () => {
    const first = page("garden");
    first.say("m1", "burn it");
    await first.run();
    const second = page("garden", { threadId: first.agent.threadId });
    const end = await second.run();
    assert.equal(end.outcome.type, "interrupt");
    assert.deepEqual(second.agent.messages, first.agent.messages);
    assert.deepEqual(second.agent.state, first.agent.state);
    await second.run({ resume: resolved(second.agent, false) });
    assert.ok(second.texts().some((text) => text.startsWith("tool:Error: The call was not approved")));
    assert.equal(second.texts().at(-1), "assistant:All is done.");
  },
  "a call of the page's own tool is answered with a message": async () => {
    const { agent, say, run: send, texts } = page("garden");
    say("m1", "look");
    const end = await send();
    assert.equal(end.outcome.pendingToolCallIds.length, 1);
    agent.addMessage({ id: "r1", role: "tool", toolCallId: end.outcome.pendingToolCallIds[0], content: "a meadow" });
    await send();
    assert.deepEqual(texts(), ["user:look", "assistant:", "tool:a meadow", "assistant:All is done."]);
  },
  "the state is the graph's, and a change of the page is written": async () => {
    const { agent, say, run: send, texts } = page("talk");
    say("m1", "one");
    await send();
    assert.deepEqual(agent.state, { log: [":one"] });
    const tone = "x".repeat(300);
    agent.setState({ ...agent.state, tone });
    say("m2", "two");
    await send();
    assert.deepEqual(agent.state, { log: [":one", `${tone}:two`], tone });
    say("m3", "ask");
    const end = await send();
    assert.equal(end.outcome.interrupts[0].message, "Which one?");
    await send({ resume: resolved(agent, "the first") });
    assert.equal(texts().at(-1), "assistant:the first");
  },
  "a page that leaves loses nothing": async () => {
    const { agent, say, texts } = page("garden");
    say("m1", "hello");
    agent.subscribe({ onRunStartedEvent: () => agent.abortRun() });
    await agent.runAgent().catch(() => {});
    const again = page("garden", { threadId: agent.threadId });
    await eventually("the answer is stored", async () => {
      await again.run();
      return again.texts().length === 2;
    });
    assert.deepEqual(again.texts(), ["user:hello", "assistant:I hear: hello"]);
    assert.ok(texts().length >= 1);
  },
  "a failure ends a run, and a wrong request is refused": async () => {
    const { agent, say, run: send } = page("garden");
    say("m1", "fail");
    const end = await send().catch(() => null);
    assert.equal((end ?? { type: "RUN_ERROR" }).type, "RUN_ERROR");
    await assert.rejects(agent.runAgent({ resume: [{ interruptId: "x", status: "resolved" }] }), /409|waits/);
  },
});
assert.deepEqual(complaints.filter((text) => !/HTTP 409|409|swordfish|error/i.test(text)), []);
await server.stop();

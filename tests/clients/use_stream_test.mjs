// useStream of @langchain/langgraph-sdk/react and of @langchain/react, in jsdom: use_stream_test.mjs PROGRAM GRAPHS
import assert from "node:assert/strict";

import { act, mount, unmount } from "./react.mjs";
import { run, serve } from "./served.mjs";

const sdk = await import("@langchain/langgraph-sdk/react");
const react = await import("@langchain/react");
const [program, graphs] = process.argv.slice(2);
const server = await serve(program, ["--port", "0", "--graphs", graphs]);
const apiUrl = server.url.replace(/\/$/, "");
const human = (content) => ({ messages: [{ type: "human", content, id: `h-${content}` }] });
const submit = (hook, ...given) => act(async () => { void hook.now.submit(...given); });

// The cases that both packages have, each with its own way to answer.
function cases(title, useStream, answer) {
  const open = (assistantId, more = {}) => mount(() => {
    const stream = useStream({ apiUrl, assistantId, ...more });
    void stream.values;
    void stream.interrupt;
    return stream;
  });
  return {
    [`${title}: a chat is shown as it is written, and each message once`]: async () => {
      const hook = await open("tokens");
      await submit(hook, human("hi"));
      await hook.until("the answer", (now) => !now.isLoading && now.messages.length >= 2);
      assert.deepEqual(hook.shown.at(-1), ["human:hi", "ai:Hello there"]);
      for (const messages of hook.shown) assert.ok(messages.length <= 2, `shown twice: ${messages}`);
    },
    [`${title}: a question is shown and answered`]: async () => {
      const hook = await open("ask");
      await submit(hook, { log: ["in"] });
      await hook.until("the question", (now) => now.interrupt && !now.isLoading);
      assert.deepEqual(hook.now.interrupt.value, { question: "go on?" });
      await act(async () => { void answer(hook.now, "yes"); });
      await hook.until("the end", (now) => !now.isLoading && now.values?.log?.length === 4);
      assert.equal(hook.now.values.answer, "yes");
      assert.ok(!hook.now.interrupt);
    },
    [`${title}: a failure is shown`]: async () => {
      const hook = await open("fail");
      await submit(hook, { bad: true });
      await hook.until("the error", (now) => now.error && !now.isLoading);
      assert.match(String(hook.now.error?.message ?? hook.now.error), /it went wrong/);
    },
    [`${title}: a run is stopped`]: async () => {
      const hook = await open("slow");
      await submit(hook, { ms: 600_000, name: "n" });
      await hook.until("the first node", (now) => now.values?.log?.length === 1);
      await act(async () => { await hook.now.stop(); });
      await hook.until("the end", (now) => !now.isLoading);
    },
  };
}

await run(cases("@langchain/langgraph-sdk", sdk.useStream, (now, value) =>
  now.submit(undefined, { command: { resume: value } })));
await run({
  "@langchain/langgraph-sdk: a page that is loaded shows the thread, with its history": async () => {
    let threadId;
    const first = await mount(() => sdk.useStream({
      apiUrl, assistantId: "tokens", onThreadId: (id) => { threadId = id; },
    }));
    await submit(first, human("hi"));
    await first.until("the answer", (now) => !now.isLoading && now.messages.length >= 2);
    await unmount();
    const again = await mount(() => {
      const stream = sdk.useStream({ apiUrl, assistantId: "tokens", threadId, fetchStateHistory: true });
      void stream.history;
      return stream;
    });
    await again.until("the conversation", (now) => now.messages.length === 2);
    assert.ok(again.now.history.length >= 2);
  },
});
// The second protocol, which @langchain/react alone speaks.
const probe = await fetch(`${apiUrl}/threads/00000000-0000-0000-0000-000000000000/stream/events`,
  { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
const answer = await probe.text();
if (probe.status === 404 && !/thread/i.test(answer)) {
  console.log("left out: useStream of @langchain/react needs the second protocol, which this server does not have");
} else {
  await run(cases("@langchain/react", react.useStream, (now, value) => now.respond(value)));
}
await unmount();
await server.stop();
process.exit(0);

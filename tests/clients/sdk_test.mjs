// LangGraph's SDK as a client: sdk_test.mjs PROGRAM GRAPHS
import assert from "node:assert/strict";

import { Client } from "@langchain/langgraph-sdk";

import { eventually, run, serve } from "./served.mjs";

const [program, graphs] = process.argv.slice(2);
const server = await serve(program, ["--port", "0", "--graphs", graphs]);
const client = new Client({ apiUrl: server.url.replace(/\/$/, "") });
const all = async (stream) => {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
};
const hello = { messages: [{ type: "human", content: "hi", id: "h1" }] };

await run({
  "assistants are found, drawn and described": async () => {
    const found = await client.assistants.search({ graphId: "two_step" });
    assert.equal(found.length, 1);
    const assistant = await client.assistants.get(found[0].assistant_id);
    assert.equal(assistant.graph_id, "two_step");
    const drawn = await client.assistants.getGraph("two_step");
    assert.deepEqual(new Set(drawn.nodes.map((node) => node.id)), new Set(["__start__", "first", "second", "__end__"]));
    assert.ok((await client.assistants.getSchemas("two_step")).input_schema);
    await assert.rejects(client.assistants.get("00000000-0000-0000-0000-000000000000"), /404/);
  },
  "threads are created, found, changed, copied and deleted": async () => {
    const thread = await client.threads.create({ metadata: { color: "green" } });
    assert.equal(thread.status, "idle");
    assert.deepEqual((await client.threads.search({ metadata: { color: "green" } })).map((each) => each.thread_id),
      [thread.thread_id]);
    await client.threads.update(thread.thread_id, { metadata: { color: "blue" } });
    assert.equal((await client.threads.get(thread.thread_id)).metadata.color, "blue");
    await client.runs.wait(thread.thread_id, "two_step", { input: { name: "Ann" } });
    const copy = await client.threads.copy(thread.thread_id);
    assert.deepEqual((await client.threads.getState(copy.thread_id)).values.log, ["first", "second:Ann"]);
    await client.threads.delete(thread.thread_id);
    await assert.rejects(client.threads.get(thread.thread_id), /404/);
    assert.equal((await client.threads.get(copy.thread_id)).thread_id, copy.thread_id);
  },
  "a run is awaited, with a thread and without": async () => {
    const { thread_id } = await client.threads.create();
    const values = await client.runs.wait(thread_id, "two_step", { input: { name: "Ann" } });
    assert.deepEqual(values.log, ["first", "second:Ann"]);
    assert.equal(values.messages.at(-1).content, "hello Ann");
    assert.equal((await client.runs.wait(null, "two_step", { input: { name: "Bo" } })).count, 11);
    assert.deepEqual((await client.runs.list(thread_id)).map((each) => each.status), ["success"]);
  },
  "tokens are streamed under the id that the message has in the state": async () => {
    const { thread_id } = await client.threads.create();
    const events = await all(
      client.runs.stream(thread_id, "tokens", { input: hello, streamMode: ["messages-tuple", "values"] }));
    assert.equal(events[0].event, "metadata");
    const pieces = events.filter((each) => each.event === "messages").map((each) => each.data[0]);
    assert.equal(pieces.map((each) => each.content).join(""), "Hello there");
    const last = events.findLast((each) => each.event === "values").data.messages.at(-1);
    assert.equal(last.content, "Hello there");
    assert.deepEqual(new Set(pieces.map((each) => each.id)), new Set([last.id]));
  },
  "updates, custom data and subgraphs are streamed": async () => {
    const custom = await all(client.runs.stream(null, "custom", { input: { log: [] }, streamMode: ["custom", "updates"] }));
    assert.deepEqual(custom.filter((each) => each.event === "custom").map((each) => each.data), [{ n: 1 }, "two", [3]]);
    assert.equal(custom.filter((each) => each.event === "updates").length, 2);
    const outer = await all(
      client.runs.stream(null, "outer", { input: { name: "x" }, streamMode: "updates", streamSubgraphs: true }));
    assert.ok(outer.some((each) => each.event.startsWith("updates|inner:")));
  },
  "a question waits, is answered, and its history is read and forked": async () => {
    const { thread_id } = await client.threads.create();
    const asked = await client.runs.wait(thread_id, "ask", { input: { log: ["in"] } });
    assert.deepEqual(asked.__interrupt__.map((each) => each.value), [{ question: "go on?" }]);
    assert.equal((await client.threads.get(thread_id)).status, "interrupted");
    const state = await client.threads.getState(thread_id);
    assert.deepEqual(state.next, ["ask"]);
    assert.equal(state.tasks[0].interrupts.length, 1);
    const answered = await client.runs.wait(thread_id, "ask", { command: { resume: "yes" } });
    assert.deepEqual(answered.log, ["in", "before", "asked", "after"]);
    assert.equal(answered.answer, "yes");
    const history = await client.threads.getHistory(thread_id);
    assert.deepEqual(history[0].next, []);
    const before = history.find((each) => each.next[0] === "ask");
    const forked = await client.threads.updateState(thread_id, {
      values: { log: ["edited"] }, checkpointId: before.checkpoint.checkpoint_id, asNode: "before",
    });
    assert.ok(forked.checkpoint.checkpoint_id);
    assert.deepEqual((await client.threads.getState(thread_id)).values.log, ["in", "before", "edited"]);
  },
  "questions of two tasks are answered by their ids": async () => {
    const { thread_id } = await client.threads.create();
    const asked = await client.runs.wait(thread_id, "ask_two", { input: { log: [] } });
    assert.equal(asked.__interrupt__.length, 2);
    const resume = Object.fromEntries(asked.__interrupt__.map((each) => [each.id, `to ${each.value}`]));
    const answered = await client.runs.wait(thread_id, "ask_two", { command: { resume } });
    assert.deepEqual([answered.left, answered.right], ["to left?", "to right?"]);
  },
  "a stream that broke off is joined where it ended": async () => {
    const { thread_id } = await client.threads.create();
    let run_id;
    const seen = [];
    for await (const event of client.runs.stream(thread_id, "two_step", {
      input: { name: "Ann" }, streamMode: "updates", streamResumable: true,
      onRunCreated: (created) => { run_id = created.run_id; },
    })) {
      seen.push(event);
      if (event.event === "updates") break;
    }
    assert.ok(run_id);
    const rest = await all(client.runs.joinStream(thread_id, run_id, { lastEventId: seen.at(-1).id }));
    assert.deepEqual(rest.filter((each) => each.event === "updates").map((each) => Object.keys(each.data)[0]), ["second"]);
    await client.runs.join(thread_id, run_id);
    assert.equal((await client.runs.get(thread_id, run_id)).status, "success");
  },
  "a failure is an error of the run, of the stream and of the thread": async () => {
    const { thread_id } = await client.threads.create();
    await assert.rejects(client.runs.wait(thread_id, "fail", { input: { bad: true } }), /it went wrong/);
    assert.equal((await client.threads.get(thread_id)).status, "error");
    assert.equal((await client.runs.list(thread_id))[0].status, "error");
    const events = await all(client.runs.stream(null, "fail", { input: { bad: true } }));
    assert.equal(events.at(-1).event, "error");
    assert.match(JSON.stringify(events.at(-1).data), /it went wrong/);
  },
  "a run is cancelled, a second one is refused or waits": async () => {
    const { thread_id } = await client.threads.create();
    const slow = await client.runs.create(thread_id, "slow", { input: { ms: 600_000, name: "one" } });
    await eventually("the run has begun", async () =>
      (await client.threads.getState(thread_id)).values?.log?.length === 1);
    await assert.rejects(
      client.runs.create(thread_id, "slow", { input: { ms: 0, name: "two" }, multitaskStrategy: "reject" }), /4\d\d/);
    const waits = await client.runs.create(thread_id, "slow",
      { input: { ms: 0, name: "two" }, multitaskStrategy: "enqueue" });
    assert.equal((await client.runs.get(thread_id, waits.run_id)).status, "pending");
    await client.runs.cancel(thread_id, slow.run_id, true);
    await client.runs.join(thread_id, waits.run_id);
    assert.equal((await client.runs.get(thread_id, waits.run_id)).status, "success");
    const { values } = await client.threads.getState(thread_id);
    assert.deepEqual(values.log, ["quick:one", "quick:two", "slept:two"]);
  },
  "the store keeps items, finds them and lists their namespaces": async () => {
    await client.store.putItem(["shop", "fruit"], "apple", { color: "green" });
    await client.store.putItem(["shop", "fruit"], "plum", { color: "blue" });
    assert.deepEqual((await client.store.getItem(["shop", "fruit"], "apple")).value, { color: "green" });
    const found = await client.store.searchItems(["shop"], { filter: { color: "blue" } });
    assert.deepEqual(found.items.map((each) => each.key), ["plum"]);
    const { namespaces } = await client.store.listNamespaces({ prefix: ["shop"] });
    assert.deepEqual(namespaces, [["shop", "fruit"]]);
    await client.store.deleteItem(["shop", "fruit"], "apple");
    assert.equal(await client.store.getItem(["shop", "fruit"], "apple"), null);
    await client.runs.wait(null, "store_user", { input: { name: "ann" } });
    assert.deepEqual((await client.store.getItem(["people"], "ann")).value, { seen: true });
  },
  "configuration and context reach the graph": async () => {
    const values = await client.runs.wait(null, "configured",
      { input: { log: [] }, config: { configurable: { model: "small" } } });
    assert.equal(values.log[0], "model=small");
    const coloured = await client.runs.wait(null, "configured", { input: { log: [] }, context: { color: "red" } });
    assert.equal(coloured.log[1], "color=red");
  },
});
await server.stop();

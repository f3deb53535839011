// A graph of the server inside of LangGraph.js: remote_graph_test.mjs PROGRAM GRAPHS
import assert from "node:assert/strict";

import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { RemoteGraph } from "@langchain/langgraph/remote";
import { Client } from "@langchain/langgraph-sdk";

import { run, serve } from "./served.mjs";

const [program, graphs] = process.argv.slice(2);
const server = await serve(program, ["--port", "0", "--graphs", graphs]);
const url = server.url.replace(/\/$/, "");
const client = new Client({ apiUrl: url });
const remote = (graphId) => new RemoteGraph({ graphId, url });
const newThread = async () => ({ configurable: { thread_id: (await client.threads.create()).thread_id } });

await run({
  "it is invoked and streamed": async () => {
    assert.deepEqual((await remote("two_step").invoke({ name: "Ann" })).log, ["first", "second:Ann"]);
    const updates = [];
    for await (const update of await remote("two_step").stream({ name: "Ann" }, { streamMode: "updates" })) {
      updates.push(Object.keys(update)[0]);
    }
    assert.deepEqual(updates, ["first", "second"]);
  },
  "its state is read, edited and listed": async () => {
    const graph = remote("ask");
    const config = await newThread();
    await graph.invoke({ log: ["in"] }, config).catch((error) => assert.match(String(error), /Interrupt/));
    const state = await graph.getState(config);
    assert.deepEqual(state.next, ["ask"]);
    await graph.updateState(config, { log: ["edited"] });
    assert.deepEqual((await graph.getState(config)).values.log, ["in", "before", "edited"]);
    const history = [];
    for await (const each of graph.getStateHistory(config)) history.push(each);
    assert.ok(history.length >= 3);
    const older = history.at(-1);
    assert.deepEqual((await graph.getState(older.config)).next, older.next);
  },
  "its graph is drawn": async () => {
    const drawn = await remote("outer").getGraphAsync({ xray: true });
    assert.ok(Object.keys(drawn.nodes).length >= 4);
  },
  "it is a node of a graph of JavaScript": async () => {
    const State = Annotation.Root({
      name: Annotation(),
      log: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }),
    });
    const outside = new StateGraph(State)
      .addNode("inside", async (state) => ({ log: (await remote("two_step").invoke({ name: state.name })).log }))
      .addNode("remote", remote("outer"))
      .addEdge(START, "inside").addEdge("inside", "remote").addEdge("remote", END)
      .compile();
    const values = await outside.invoke({ name: "Ann" });
    assert.ok(values.log.includes("second:Ann"));
    assert.ok(values.log.includes("prepare"));
  },
  "its failure is an error": async () => {
    await assert.rejects(remote("fail").invoke({ bad: true }), /it went wrong/);
  },
});
await server.stop();

// LangGraph's own SDK as a client of the second protocol, over server-sent events and over a WebSocket:
// langgraph_v2_test.mjs PROGRAM GRAPHS. PROGRAM is stategraph-langgraph-server, GRAPHS the description of its graphs.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Client } from "@langchain/langgraph-sdk";
import { eventually, run } from "./served.mjs";

const [program, graphs] = process.argv.slice(2);
const child = spawn(program, ["--graphs", graphs, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
process.once("exit", () => child.kill("SIGKILL"));
const [apiUrl] = await once(createInterface(child.stdout), "line");
const client = new Client({ apiUrl });

function stream(assistantId, transport) {
  return client.threads.stream(crypto.randomUUID(), { assistantId, transport, webSocketFactory: (url) => new WebSocket(url) });
}

const cases = {};
for (const transport of ["sse", "websocket"]) {
  const add = (name, body) => (cases[`${name} (${transport})`] = body);

  // What is subscribed to before the run begins is complete. The client ends later subscriptions without an event if it
  // learns of the run's end first.
  add("pieces of a message become its text, and the last values have the whole", async () => {
    const thread = stream("tokens", transport);
    const pieces = await thread.subscribe("messages");
    await thread.run.start({ input: { messages: [{ role: "user", content: "hi", id: "h1" }] } });
    let text = "";
    for await (const { params: { data } } of pieces) if (data.event === "content-block-delta") text += data.delta.text;
    assert.equal(text, "Hello there");
    const { values } = await thread.state.get({ namespace: [] });
    assert.deepEqual(values.messages.map((message) => message.content), ["hi", "Hello there"]);
    const { tree } = await thread.agent.getTree();
    assert.deepEqual([tree.status, tree.children[0].graph_name], ["completed", "model"]);
    await thread.close();
  });

  add("a question is reported, and its answer continues the thread", async () => {
    const thread = stream("ask", transport);
    const lifecycle = await thread.subscribe("lifecycle");
    await thread.run.start({ input: { log: ["in"] } });
    for await (const event of lifecycle) if (event.params.data.event === "interrupted") break;
    await eventually("the question", () => thread.interrupts.length === 1);
    assert.equal(thread.interrupted, true);
    assert.deepEqual(thread.interrupts.map((each) => each.payload), [{ question: "go on?" }]);
    const [{ interruptId, namespace }] = thread.interrupts;
    const values = await thread.subscribe("values");
    await thread.input.respond({ namespace, interrupt_id: interruptId, response: "yes" });
    for await (const event of values) if (event.params.data.answer === "yes" && event.params.data.log.length === 4) break;
    const state = await thread.state.get({ namespace: [] });
    assert.deepEqual(state.values, { log: ["in", "before", "asked", "after"], answer: "yes" });
    await assert.rejects(thread.input.respond({ namespace, interrupt_id: interruptId, response: "again" }));
    await thread.close();
  });

  add("events of a graph inside have its namespace", async () => {
    const thread = stream("outer", transport);
    const updates = await thread.subscribe({ channels: ["updates"], namespaces: [["inner"]] });
    await thread.run.start({ input: { name: "x" } });
    const names = [];
    for await (const event of updates) names.push([event.params.namespace[0].split(":")[0], event.params.data.name]);
    assert.deepEqual(names, [["inner", "inner name"], ["inner", "inner name!"]]);
    await thread.close();
  });

  add("a run that fails says why", async () => {
    const thread = stream("fail", transport);
    const lifecycle = await thread.subscribe("lifecycle");
    await thread.run.start({ input: { bad: true } });
    for await (const event of lifecycle) {
      if (event.params.data.event !== "failed") continue;
      assert.match(event.params.data.error, /it went wrong/);
      break;
    }
    await thread.close();
  });
}
await run(cases);
process.exit(0);

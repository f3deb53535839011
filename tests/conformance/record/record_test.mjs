// Tests of the recorder that need no LangGraph.js: node record_test.mjs FILE..., which are the scenarios.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { run } from "../../pages/served.mjs";
import { changes, rerecorded } from "./compare.mjs";
import { evaluate } from "./expression.mjs";
import { read, textOfFile } from "./files.mjs";
import { chunkOf, stateOf } from "./observe.mjs";
import { obstacles } from "./words.mjs";

const files = process.argv.slice(2);
const scenarios = files.flatMap(read);
const copy = (value) => JSON.parse(JSON.stringify(value));
const named = (name) => copy(scenarios.find((scenario) => scenario.name === name));
// What a recorder would observe that finds all as it is stored.
const observed = (scenario) => ({
  build: copy(scenario.expect_build ?? {}),
  run: scenario.run.map((op) => copy(op.expect ?? {})),
});
const pathsOf = (scenario, recorded) => changes(scenario, rerecorded(scenario, recorded)).map(({ path }) => path);

await run({
  "every word of the stored scenarios is known": () => {
    assert.ok(scenarios.length > 500, "these are not all scenarios");
    for (const scenario of scenarios) assert.deepEqual(obstacles(scenario), [], scenario.name);
  },
  "a word that is not known is named": () => {
    const strange = [
      [(scenario) => { scenario.graph.store = true; }, "the word store of a graph"],
      [(scenario) => { scenario.graph.channels.foo.kind = "topic"; }, 'the kind of channel "topic"'],
      [(scenario) => { scenario.graph.nodes[0].timeout = 1; }, "the word timeout of a node"],
      [(scenario) => { scenario.graph.nodes[0].actions.push({ sleep: 1 }); }, "the action sleep"],
      [(scenario) => { scenario.graph.nodes[0].actions[0].write.foo = { $sub: [1, 2] }; }, 'the expression "$sub"'],
      [(scenario) => { scenario.run.push({ op: "delete_thread" }); }, "the operation delete_thread"],
      [(scenario) => { scenario.run[0].tags = []; }, "the word tags of the operation invoke"],
      [(scenario) => { scenario.run.push({ op: "stream", modes: ["debug"] }); }, 'the mode of a stream "debug"'],
    ];
    for (const [change, word] of strange) {
      const scenario = named("overwrite");
      change(scenario);
      assert.deepEqual(obstacles(scenario), [`the recorder does not know ${word}`]);
    }
  },
  "a version that lacks what a word needs is told": () => {
    assert.deepEqual(obstacles(named("drain"), ["Overwrite"]),
      ["this version of LangGraph.js has no RunControl, which drain needs"]);
  },
  "what is observed as it is stored has not changed, and is written as it is stored": () => {
    for (const file of files) {
      const stored = read(file);
      const again = stored.map((scenario) => rerecorded(scenario, observed(scenario)));
      stored.forEach((scenario, i) => assert.deepEqual(changes(scenario, again[i]), [], scenario.name));
      assert.ok(textOfFile(file, again) === readFileSync(file, "utf8"), `${file} would be written differently`);
    }
  },
  "each place that differs is named, with what was and is there": () => {
    const scenario = named("overwrite");
    const recorded = observed(scenario);
    recorded.run[0].output.bar.push("more");
    recorded.run[1].history[1].step = 7;
    delete recorded.run[1].history[0].values.bar;
    assert.deepEqual(changes(scenario, rerecorded(scenario, recorded)), [
      { path: "run[0].expect.output.bar[2]", was: undefined, is: "more" },
      { path: "run[1].expect.history[0].values.bar", was: ["only", "c"], is: undefined },
      { path: "run[1].expect.history[1].step", was: 2, is: 7 },
    ]);
  },
  "the order in which a superstep's tasks end is no change, and that of supersteps is": () => {
    const scenario = named("stream-modes");
    const update = (name) => ({ mode: "updates", data: { [name]: {} } });
    const values = { mode: "values", data: { foo: 1 } };
    scenario.run = [{ op: "stream", modes: ["updates", "values"], expect: { chunks: [update("a"), update("b"), values] } }];
    const with_ = (...chunks) => ({ build: {}, run: [{ chunks }] });
    assert.deepEqual(pathsOf(scenario, with_(update("b"), update("a"), values)), []);
    assert.notDeepEqual(pathsOf(scenario, with_(update("a"), values, update("b"))), []);
  },
  "what a recording leaves out stays out, except that something runs, fails or waits": () => {
    const scenario = named("overwrite");
    delete scenario.run[0].expect.state;
    delete scenario.run[0].expect.executed;
    const recorded = observed(scenario);
    recorded.run[0].state = { values: {} };
    assert.deepEqual(pathsOf(scenario, recorded), []);
    recorded.run[0].executed = [{ node: "a" }];
    recorded.run[0].interrupts = ["why"];
    assert.deepEqual(pathsOf(scenario, recorded), ["run[0].expect.executed", "run[0].expect.interrupts"]);
    recorded.run[0] = { error: { kind: "node", message: "no" }, state: { values: {}, tasks: [], next: [] } };
    assert.deepEqual(pathsOf(scenario, recorded),
      ["run[0].expect.error", "run[0].expect.output", "run[0].expect.state"]);
  },
  "an operation without a recording gets all that is observed": () => {
    const scenario = named("overwrite");
    const recorded = observed(scenario);
    scenario.run.forEach((op) => delete op.expect);
    assert.deepEqual(rerecorded(scenario, recorded).run.map((op) => op.expect), recorded.run);
  },
  "a graph that is refused, or no longer, has changed": () => {
    const scenario = named("invalid-no-entry");
    assert.deepEqual(pathsOf(scenario, { build: { error: { kind: "invalid_graph", detail: "other words" } }, run: [] }), []);
    const built = { build: {}, run: scenario.run.map(() => ({})) };
    assert.deepEqual(pathsOf(scenario, built), ["expect_build.error.kind"]);
  },
  "expressions are calculated": () => {
    const environment = { input: { n: 2, list: [1, 2], gone: undefined }, variables: { v: "x" } };
    const table = [
      [{ $: "n" }, 2], [{ $: "unset" }, null], [{ $var: "v" }, "x"], [{ $add: [{ $: "n" }, { $: "unset" }] }, 2],
      [{ $concat: ["a", { $var: "v" }] }, "ax"], [{ $concat: [{ $: "list" }, null, 3] }, [1, 2, 3]],
      [{ $len: { $: "list" } }, 2], [{ $len: { $: "unset" } }, 0], [{ $lt: [{ $: "n" }, 3] }, true],
      [{ $eq: [{ a: 1, b: 2 }, { b: 2, a: 1 }] }, true], [{ $not: [] }, true], [{ a: { $: "n" } }, { a: 2 }],
    ];
    for (const [expression, value] of table) assert.deepEqual(evaluate(expression, environment), value);
  },
  "what is shown has no ids: questions are values, checkpoints numbers": () => {
    const snapshot = {
      values: { n: 1 }, next: ["b", "a"], config: { configurable: { checkpoint_id: "id-1" } },
      parentConfig: { configurable: { checkpoint_id: "id-0" } }, metadata: { source: "loop", step: 1, parents: {} },
      tasks: [{ id: "t", name: "a", path: [], interrupts: [{ id: "i", value: "why" }], result: { n: 2 } }],
    };
    assert.deepEqual(stateOf(snapshot, ["id-0", "id-1"]), {
      values: { n: 1 }, next: ["a", "b"], checkpoint: 1, parent: 0, source: "loop", step: 1,
      tasks: [{ name: "a", interrupts: ["why"] }],
    });
    assert.deepEqual(chunkOf("updates", { __interrupt__: [{ id: "i", value: "why" }] }, ["inner:uuid"]),
      { mode: "updates", data: { __interrupt__: ["why"] }, ns: ["inner"] });
  },
});

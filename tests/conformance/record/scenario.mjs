// Performs a scenario's operations on LangGraph.js, and records what it did.
import * as langgraph from "@langchain/langgraph";
import { InMemoryCache } from "@langchain/langgraph-checkpoint";
import { setTimeout } from "node:timers/promises";
import { textOf } from "./expression.mjs";
import { build, Failure, NumberedSaver, targetOf } from "./graph.mjs";
import { askedIn, chunkOf, ordered, outputOf, stateOf } from "./observe.mjs";

// Some are absent from older versions.
const { Command, isGraphDrained, RunControl } = langgraph;
export const exported = Object.keys(langgraph);

// For how many timers of a millisecond a node that fails waits, so that its siblings end first. They do nothing but wait
// for such timers, when they are tried again; that is why it is no time: a pause of the machine stops both.
const timers_of_siblings = 20;
// An interrupt's id that none has.
const no_id = "0".repeat(32);

// What the nodes of a scenario do and share.
class World {
  #executed = [];
  #failures = new Map();
  #asked = new Map();
  control = undefined;

  begin() {
    this.control = RunControl && new RunControl();
  }
  ran(execution) {
    this.#executed.push(JSON.parse(JSON.stringify(execution)));
  }
  takeExecuted() {
    return ordered(this.#executed.splice(0), ({ ns, step, node, input }) => [ns, String(step).padStart(6), node, input]);
  }
  // Whether an execution of a node is one of the first ones, which fail.
  fails(node, times) {
    const count = this.#failures.get(node) ?? 0;
    if (count < times) this.#failures.set(node, count + 1);
    return count < times;
  }
  async siblingsEnded() {
    for (let i = 0; i < timers_of_siblings; i += 1) await setTimeout(1);
  }
  asked(thread, interrupt) {
    this.#asked.set(textOf([thread, interrupt.value]), interrupt.id);
  }
  idOf(thread, question) {
    return this.#asked.get(textOf([thread, question])) ?? no_id;
  }
}

const kinds = {
  GraphRecursionError: "recursion_limit",
  InvalidUpdateError: "invalid_update",
  EmptyInputError: "empty_input",
};

function errorOf(error) {
  if (error instanceof Failure) return { kind: "node", message: error.message };
  if (isGraphDrained?.(error)) return { kind: "drained" };
  if (error.name === "UnknownInterruptError") return { kind: "unknown_interrupt", reason: error.reason };
  if (error.name in kinds) return { kind: kinds[error.name] };
  return { kind: "invalid_argument", detail: String(error) };
}

class Operation {
  constructor(op, graph, saver, world) {
    this.op = op;
    this.graph = graph;
    this.saver = saver;
    this.world = world;
    this.thread = op.thread ?? "t";
  }

  ids() {
    return this.saver?.ids(this.thread) ?? [];
  }
  place(ordinal) {
    const checkpoint = ordinal === undefined ? {} : { checkpoint_id: this.ids()[ordinal], checkpoint_ns: "" };
    return { configurable: { thread_id: this.thread, ...checkpoint } };
  }

  config() {
    const { op } = this;
    const config = this.place(op.at);
    if (op.strict) config.configurable.__pregel_strict_resume = true;
    const named = {
      recursionLimit: op.recursion_limit, interruptBefore: op.interrupt_before, interruptAfter: op.interrupt_after,
      durability: op.durability, control: this.world.control,
    };
    for (const [name, value] of Object.entries(named)) if (value !== undefined) config[name] = value;
    return config;
  }

  input() {
    const { op } = this;
    if (!("resume" in op || "answers" in op || "command" in op)) return op.input ?? null;
    const given = {};
    if ("resume" in op) given.resume = op.resume;
    if ("answers" in op) {
      given.resume = Object.fromEntries(op.answers.map(({ to, value }) => [this.world.idOf(this.thread, to), value]));
    }
    if (op.command?.update) given.update = op.command.update;
    if (op.command?.goto) given.goto = op.command.goto.map((target) => targetOf(target, {}));
    return new Command(given);
  }

  async perform(expect) {
    const { op, graph } = this;
    if (op.op === "invoke") {
      const { output, interrupts } = outputOf(await graph.invoke(this.input(), this.config()));
      expect.output = output;
      if (interrupts.length > 0) expect.interrupts = interrupts;
    } else if (op.op === "stream") {
      expect.chunks = [];
      const options = { ...this.config(), streamMode: op.modes, subgraphs: op.subgraphs ?? false };
      for await (const chunk of await graph.stream(this.input(), options)) {
        const [mode, shown, namespace] = op.subgraphs ? [chunk[1], chunk[2], chunk[0]] : chunk;
        expect.chunks.push(chunkOf(mode, shown, namespace));
      }
    } else if (op.op === "get_state") {
      const snapshot = await graph.getState(this.place(op.at), { subgraphs: op.subgraphs ?? false });
      expect.state = stateOf(snapshot, this.ids());
    } else if (op.op === "history") {
      expect.history = [];
      const options = {
        ...(op.limit === undefined ? {} : { limit: op.limit }),
        ...(op.filter ? { filter: op.filter } : {}),
        ...(op.before === undefined ? {} : { before: this.place(op.before) }),
      };
      for await (const snapshot of graph.getStateHistory(this.place(), options)) {
        expect.history.push(stateOf(snapshot, this.ids()));
      }
    } else if (op.op === "update_state") {
      await graph.updateState(this.place(op.at), op.values, op.as_node);
    } else if (op.op === "clear_cache") {
      await graph.cache.clear([]);
    }
  }

  // Remembers the ids of the questions that the thread shows, and shows its state, where the operation may change it.
  async look(expect) {
    if (!this.saver) return;
    for (const interrupt of askedIn(await this.graph.getState(this.place(), { subgraphs: true }))) {
      this.world.asked(this.thread, interrupt);
    }
    if (!["invoke", "stream", "update_state"].includes(this.op.op)) return;
    expect.state = stateOf(await this.graph.getState(this.place()), this.ids());
  }
}

async function recordOperation(op, graph, saver, world) {
  const expect = {};
  world.begin();
  const operation = new Operation(op, graph, saver, world);
  try {
    await operation.perform(expect);
  } catch (error) {
    expect.error = errorOf(error);
  }
  const executed = world.takeExecuted();
  if (executed.length > 0) expect.executed = executed;
  try {
    await operation.look(expect);
  } catch {
    // A thread whose superstep conflicts shows no state.
  }
  return expect;
}

// What LangGraph.js does in a scenario: `build`, which has an error if there is no such graph, and each operation's.
export async function record(scenario) {
  const world = new World();
  const saver = scenario.graph.checkpointer === false ? undefined : new NumberedSaver();
  let graph;
  try {
    graph = build(scenario.graph, world, saver, new InMemoryCache());
  } catch (error) {
    return { build: { error: { kind: "invalid_graph", detail: String(error) } }, run: [] };
  }
  const run = [];
  for (const op of scenario.run) run.push(await recordOperation(op, graph, saver, world));
  return { build: {}, run };
}

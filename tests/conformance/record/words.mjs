// The words of the scenarios' language that the recorder knows.
import { known_expressions, operationOf } from "./expression.mjs";
import { known_modes } from "./observe.mjs";

const graph_words = [
  "channels", "nodes", "edges", "branches", "input", "output", "checkpointer", "interrupt_before", "interrupt_after",
];
const channel_kinds = ["last_value", "append", "sum", "max", "merge"];
const node_words = ["name", "actions", "subgraph", "defer", "cache", "retry", "ends"];
const action_words = {
  write: [], overwrite: [], interrupt: ["into"], fail: [], goto: ["graph"], if: ["then", "else"], custom: [], drain: [],
};
const run_words = [
  "input", "resume", "answers", "strict", "command", "at", "recursion_limit", "interrupt_before", "interrupt_after",
  "durability",
];
const operation_words = {
  invoke: run_words,
  stream: [...run_words, "modes", "subgraphs"],
  get_state: ["at", "subgraphs"],
  history: ["limit", "before", "filter"],
  update_state: ["values", "as_node", "at"],
  clear_cache: [],
};

// What a version of LangGraph.js must export for a word.
const exported_for = { drain: "RunControl", overwrite: "Overwrite", delta: "DeltaChannel", strict: "UnknownInterruptError" };

class Reader {
  unknown = new Set();
  used = new Set();

  // Notes the words of an object of the language, in which those of `known` may occur.
  words(where, object, known) {
    for (const word of Object.keys(object)) {
      this.used.add(word);
      if (!known.includes(word)) this.unknown.add(`the word ${word} of ${where}`);
    }
  }
  oneOf(where, value, known) {
    if (!known.includes(value)) this.unknown.add(`${where} ${JSON.stringify(value)}`);
  }

  expression(value) {
    const operation = operationOf(value);
    if (operation !== undefined) this.oneOf("the expression", operation, known_expressions);
    if (value !== null && typeof value === "object") Object.values(value).forEach((each) => this.expression(each));
  }
  target(target) {
    if (typeof target === "string") return;
    this.words("a send", target, ["send", "arg"]);
    this.expression(target.arg);
  }

  actions(actions) {
    for (const action of actions ?? []) {
      const kind = Object.keys(action_words).find((word) => word in action);
      if (kind === undefined) {
        this.unknown.add(`the action ${Object.keys(action).join(", ")}`);
        continue;
      }
      this.words(`the action ${kind}`, action, [kind, ...action_words[kind]]);
      if (kind === "goto") action.goto.forEach((target) => this.target(target));
      else if (kind === "fail") this.words("the action fail", action.fail, ["times", "message"]);
      else this.expression(action[kind]);
      if (kind === "goto" && "graph" in action) this.oneOf("goto's graph", action.graph, ["parent"]);
      this.actions(action.then);
      this.actions(action.else);
    }
  }

  graph(graph) {
    this.words("a graph", graph, graph_words);
    for (const channel of Object.values(graph.channels)) {
      this.words("a channel", channel, ["kind", "delta"]);
      this.oneOf("the kind of channel", channel.kind, channel_kinds);
    }
    for (const node of graph.nodes) {
      this.words("a node", node, node_words);
      if (node.retry) this.words("a retry", node.retry, ["max_attempts"]);
      this.actions(node.actions);
      if (node.subgraph) this.graph(node.subgraph);
    }
    for (const branch of graph.branches ?? []) this.branch(branch);
  }
  branch(branch) {
    this.words("a branch", branch, ["from", "choose", "ends"]);
    for (const option of branch.choose) {
      this.words("a case", option, ["when", "to", "each"]);
      this.expression(option.when);
      option.to?.forEach((target) => this.target(target));
      if (!option.each) continue;
      this.words("an each", option.each, ["over", "send", "as"]);
      this.expression(option.each.over);
    }
  }

  operation(op) {
    if (!(op.op in operation_words)) {
      this.unknown.add(`the operation ${op.op}`);
      return;
    }
    this.words(`the operation ${op.op}`, op, ["op", "thread", "expect", ...operation_words[op.op]]);
    op.modes?.forEach((mode) => this.oneOf("the mode of a stream", mode, known_modes));
    op.answers?.forEach((answer) => this.words("an answer", answer, ["to", "value"]));
    if (op.command) this.words("a command", op.command, ["update", "goto"]);
    op.command?.goto?.forEach((target) => this.target(target));
  }
}

// Why a scenario cannot be recorded: a list of reasons, empty if it can be. `exported` are the names that the installed
// LangGraph.js exports; undefined: all that the recorder needs.
export function obstacles(scenario, exported) {
  const reader = new Reader();
  reader.words("a scenario", scenario, ["format", "name", "about", "graph", "run", "expect_build"]);
  reader.oneOf("the format", scenario.format, [1]);
  reader.graph(scenario.graph);
  scenario.run.forEach((op) => reader.operation(op));
  const found = [...reader.unknown].map((words) => `the recorder does not know ${words}`);
  for (const [word, name] of Object.entries(exported_for)) {
    if (exported && reader.used.has(word) && !exported.includes(name)) {
      found.push(`this version of LangGraph.js has no ${name}, which ${word} needs`);
    }
  }
  return found;
}

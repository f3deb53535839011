// Builds a scenario's graph in LangGraph.js.
import * as langgraph from "@langchain/langgraph";
import { evaluate, isTrue } from "./expression.mjs";

// Some are absent from older versions.
const { Annotation, Command, DeltaChannel, interrupt, MemorySaver, Overwrite, Send, StateGraph } = langgraph;

// What a `fail` of the scenario throws.
export class Failure extends Error {}

const reducers = {
  append: [(list, written) => list.concat(Array.isArray(written) ? written : [written]), () => []],
  sum: [(sum, written) => sum + written, () => 0],
  max: [Math.max, () => 0],
  merge: [(object, written) => ({ ...object, ...written }), () => ({})],
};

function channelOf({ kind, delta }) {
  if (kind === "last_value") return Annotation();
  const [fold, initial] = reducers[kind];
  if (delta === undefined) return Annotation({ reducer: (value, written) => fold(value, written), default: initial });
  const foldAll = (value, all) => all.reduce((folded, written) => fold(folded, written), value);
  return new DeltaChannel(foldAll, { snapshotFrequency: delta, initialValueFactory: initial });
}

export const targetOf = (target, environment) =>
  typeof target === "string" ? target : new Send(target.send, evaluate(target.arg ?? null, environment));

// Where a conditional edge leads from a state.
function choose(branch, state) {
  const environment = { input: state };
  for (const option of branch.choose) {
    if ("when" in option && !isTrue(evaluate(option.when, environment))) continue;
    if (!("each" in option)) return option.to.map((target) => targetOf(target, environment));
    const { over, send, as } = option.each;
    return (evaluate(over, environment) ?? []).map((item) => new Send(send, { [as]: item }));
  }
  return [];
}

// One execution of a node. `key` is the node's among those that fail.
class Execution {
  update = {};
  targets = null;
  is_for_parent = false;
  constructor(world, key, input, config) {
    this.world = world;
    this.key = key;
    this.config = config;
    this.environment = { input, variables: {} };
  }

  async perform(actions) {
    for (const action of actions) await this.performOne(action);
  }

  async performOne(action) {
    const value = (expression) => evaluate(expression, this.environment);
    if ("write" in action) {
      for (const [channel, written] of Object.entries(action.write)) this.update[channel] = value(written);
    } else if ("overwrite" in action) {
      for (const [channel, written] of Object.entries(action.overwrite)) {
        this.update[channel] = new Overwrite(value(written));
      }
    } else if ("interrupt" in action) {
      const answer = interrupt(value(action.interrupt));
      if (action.into !== undefined) this.environment.variables[action.into] = answer;
    } else if ("fail" in action) {
      if (this.world.fails(this.key, action.fail.times)) {
        await this.world.siblingsEnded();
        throw new Failure(action.fail.message);
      }
    } else if ("goto" in action) {
      this.targets = [...(this.targets ?? []), ...action.goto.map((target) => targetOf(target, this.environment))];
      this.is_for_parent ||= action.graph === "parent";
    } else if ("if" in action) {
      await this.perform((isTrue(value(action.if)) ? action.then : action.else) ?? []);
    } else if ("custom" in action) {
      this.config.writer(value(action.custom));
    } else if ("drain" in action) {
      this.world.control.requestDrain(action.drain);
    }
  }

  result() {
    if (this.targets === null) return this.update;
    return new Command({
      update: this.update,
      goto: this.targets,
      ...(this.is_for_parent ? { graph: Command.PARENT } : {}),
    });
  }
}

// `place` is the names of the nodes around the graph, joined by |.
function addNode(graph, node, place, world) {
  const options = {
    ...(node.defer ? { defer: true } : {}),
    ...(node.ends ? { ends: node.ends } : {}),
    ...(node.cache ? { cachePolicy: {} } : {}),
  };
  if (node.retry) {
    options.retryPolicy = {
      maxAttempts: node.retry.max_attempts, initialInterval: 1, backoffFactor: 1, jitter: false,
      retryOn: () => true, logWarning: false,
    };
  }
  if (node.subgraph) {
    const inside = place === "" ? node.name : `${place}|${node.name}`;
    graph.addNode(node.name, compiled(node.subgraph, inside, world, node.subgraph.checkpointer), options);
    return;
  }
  graph.addNode(node.name, async (input, config) => {
    world.ran({ input, node: node.name, ns: place, step: config.metadata.langgraph_step });
    const execution = new Execution(world, `${place}/${node.name}`, input, config);
    await execution.perform(node.actions ?? []);
    return execution.result();
  }, options);
}

function compiled(spec, place, world, checkpointer, cache) {
  const channels = Object.fromEntries(Object.entries(spec.channels).map(([name, kind]) => [name, channelOf(kind)]));
  const only = (names) => Annotation.Root(Object.fromEntries(names.map((name) => [name, channels[name]])));
  const graph = new StateGraph(Annotation.Root(channels), {
    ...(spec.input ? { input: only(spec.input) } : {}),
    ...(spec.output ? { output: only(spec.output) } : {}),
  });
  for (const node of spec.nodes) addNode(graph, node, place, world);
  for (const [from, to] of spec.edges ?? []) graph.addEdge(from, to);
  for (const branch of spec.branches ?? []) {
    graph.addConditionalEdges(branch.from, (state) => choose(branch, state), branch.ends);
  }
  return graph.compile({
    checkpointer, cache, interruptBefore: spec.interrupt_before, interruptAfter: spec.interrupt_after,
  });
}

// The compiled graph. Its nodes tell `world` what they do.
export const build = (spec, world, saver, cache) => compiled(spec, "", world, saver, cache);

// Keeps the ids of the checkpoints of each thread's outermost graph in the order in which they were made.
export class NumberedSaver extends MemorySaver {
  #ids = new Map();
  async put(config, checkpoint, metadata, versions) {
    if (!config.configurable.checkpoint_ns) this.ids(config.configurable.thread_id).push(checkpoint.id);
    return super.put(config, checkpoint, metadata, versions);
  }
  ids(thread) {
    if (!this.#ids.has(thread)) this.#ids.set(thread, []);
    return this.#ids.get(thread);
  }
}

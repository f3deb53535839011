// Each workload: a function of `quick` that gives its cases, {names, run, items}. The names are those of stategraph's own cases; one
// figure serves several where LangGraph.js makes no difference (it runs tasks at once, on one thread).
import { Annotation, Command, END, MemorySaver, Send, START, StateGraph, interrupt } from "@langchain/langgraph";
import { postgres } from "./postgres.mjs";
import { fanoutToSubgraph, pydanticState, reactLoop, sequential, wideDict, wideState } from "./langgraph_workloads.mjs";

const append = () => Annotation({ reducer: (a, b) => a.concat(b), default: () => [] });
const limit = 1_000_000;

function check(ok) {
  if (!ok) throw new Error("wrong result");
}

const Counter = Annotation.Root({ n: Annotation });
const loopGraph = (steps) =>
  new StateGraph(Counter)
    .addNode("a", (s) => ({ n: s.n + 1 }))
    .addEdge(START, "a")
    .addConditionalEdges("a", (s) => (s.n < steps ? "a" : END));

let thread = 0;
const fresh = () => ({ configurable: { thread_id: `t${thread++}` }, recursionLimit: limit });

function loop(steps, options) {
  return async () => {
    const app = loopGraph(steps).compile(options ? { checkpointer: new MemorySaver() } : {});
    check((await app.invoke({ n: 0 }, { ...fresh(), ...options })).n === steps);
  };
}

function chain(size) {
  const graph = new StateGraph(Counter);
  let before = START;
  for (let i = 0; i < size; ++i) {
    graph.addNode(`n${i}`, (s) => ({ n: s.n + 1 })).addEdge(before, `n${i}`);
    before = `n${i}`;
  }
  const app = graph.addEdge(before, END).compile();
  return async () => check((await app.invoke({ n: 0 }, { recursionLimit: limit })).n === size);
}

const Team = Annotation.Root({ done: append(), count: Annotation });
function fanOut(size, work = (i) => ({ done: [i] })) {
  const graph = new StateGraph(Team);
  const workers = [];
  for (let i = 0; i < size; ++i) {
    workers.push(`w${i}`);
    graph.addNode(`w${i}`, () => work(i)).addEdge(START, `w${i}`);
  }
  const app = graph
    .addNode("join", (s) => ({ count: s.done.length }))
    .addEdge(workers, "join")
    .addEdge("join", END)
    .compile();
  return async () => check((await app.invoke({})).count === size);
}

function sends(size) {
  const app = new StateGraph(Team)
    .addNode("work", (item) => ({ done: [item.number] }))
    .addNode("join", (s) => ({ count: s.done.length }))
    .addConditionalEdges(START, () => Array.from({ length: size }, (_, number) => new Send("work", { number })), ["work"])
    .addEdge("work", "join")
    .addEdge("join", END)
    .compile();
  return async () => check((await app.invoke({})).count === size);
}

// The step at the end of a thread of `size` messages: the median gap of the last 80.
const text = "m".repeat(200);
const Conversation = Annotation.Root({ messages: append(), n: Annotation });
const conversation = (size, calls) =>
  new StateGraph(Conversation)
    .addNode("say", (s) => {
      calls?.push(performance.now());
      return { messages: [text], n: (s.n ?? 0) + 1 };
    })
    .addEdge(START, "say")
    .addConditionalEdges("say", (s) => (s.n < size ? "say" : END));

async function stored(size) {
  const app = conversation(size).compile({ checkpointer: new MemorySaver() });
  const config = fresh();
  await app.invoke({}, config);
  return { app, config };
}

async function history(quick) {
  const cases = [];
  for (const size of quick ? [100] : [100, 1000]) {
    const { app, config } = await stored(size);
    cases.push({ names: [`history/get_state_memory/${size}`], run: async () => check((await app.getState(config)).values.messages.length === size) });
    cases.push({
      names: [`history/newest_10_values_memory/${size}`],
      run: async () => {
        let count = 0;
        for await (const snapshot of app.getStateHistory(config, { limit: 10 })) count += snapshot.config ? 1 : 0;
        check(count === 10);
      },
    });
  }
  const app = loopGraph(1000).compile({ checkpointer: new MemorySaver() });
  const config = fresh();
  await app.invoke({ n: 0 }, config);
  cases.push({ names: ["history/update_state_memory"], run: async () => void (await app.updateState(config, { n: 1000 }, "a")), iterations: 50 });
  return cases;
}

function resume() {
  const graph = (asks) =>
    new StateGraph(Counter)
      .addNode("a", (s) => ({ n: s.n + 1 }))
      .addNode("b", (s) => ({ n: s.n + (asks ? interrupt("how many?") : 1) }))
      .addEdge(START, "a")
      .addEdge("a", "b")
      .addEdge("b", END);
  const goOn = (how) => {
    const app = graph(how === "answer").compile({ checkpointer: new MemorySaver(), interruptBefore: how === "answer" ? [] : ["b"] });
    const prepare = async () => {
      const config = fresh();
      await app.invoke({ n: 0 }, config);
      return config;
    };
    const run = async (config) => {
      if (how === "update") await app.updateState(config, { n: 1 }, "a");
      check((await app.invoke(how === "answer" ? new Command({ resume: 1 }) : null, config)).n === 2);
    };
    return { names: [`resume/${how}_memory`], prepare, run };
  };
  return ["breakpoint", "update", "answer"].map(goOn);
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export const workloads = {
  superstep: () => [{ names: ["superstep/loop/1000"], items: 1000, run: loop(1000) }],
  chain: () => [{ names: ["chain/invoke/3"], run: chain(3) }],
  chain_1000: (quick) =>
    (quick ? [10] : [10, 100, 1000]).map((size) => ({ names: [`chain_1000/invoke/${size}`], items: size, run: chain(size) })),
  fan_out: (quick) => (quick ? [5] : [5, 100]).map((size) => ({ names: [`fan_out/inline/${size}`, `fan_out/pool/${size}`], run: fanOut(size) })),
  send_1000: (quick) =>
    (quick ? [10] : [10, 100, 1000]).map((size) => ({ names: [`send_1000/inline/${size}`, `send_1000/pool/${size}`], items: size, run: sends(size) })),
  growing_thread: (quick) =>
    (quick ? [1900] : [1000, 1900]).map((size) => ({
      names: [`growing_thread/one_run_memory/${size}`],
      is_long: true,
      sample: async () => {
        const calls = [];
        await conversation(size, calls).compile({ checkpointer: new MemorySaver() }).invoke({}, fresh());
        const gaps = calls.slice(-81).map((at, i, all) => at - all[i - 1]).slice(1).sort((a, b) => a - b);
        return gaps[gaps.length >> 1] * 1000;
      },
    })),
  savers: (quick) => [{ names: ["savers/memory/1000"], items: 1000, run: loop(1000, { durability: "async" }) }, ...postgres(quick)],
  history,
  threads: () => {
    const app = loopGraph(5).compile({ checkpointer: new MemorySaver() });
    return [{ names: ["threads/cores/1"], run: async () => check((await app.invoke({ n: 0 }, fresh())).n === 5) }];
  },
  resume,
  blocking_nodes: (quick) =>
    (quick ? [5] : [1, 5, 64]).map((size) => ({
      names: [`blocking_nodes/parallel/${size}`],
      waits: true,
      run: fanOut(size, async (i) => (await sleep(20), { done: [i] })),
    })),
  wide_state: wideState,
  wide_dict: wideDict,
  pydantic_state: pydanticState,
  sequential,
  fanout_to_subgraph: fanoutToSubgraph,
  react_loop: reactLoop,
};

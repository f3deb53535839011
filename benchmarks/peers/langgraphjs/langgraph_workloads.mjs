// LangGraph's own benchmarks (wide state in three forms, fan-out to a subgraph, ReAct loop, sequential), with the shapes and sizes of stategraph's workloads.
import { Annotation, END, MemorySaver, Send, START, StateGraph } from "@langchain/langgraph";
import { withLangGraph } from "@langchain/langgraph/zod";
import { z } from "zod";

const list = () => Annotation({ reducer: (a, b) => a.concat(b), default: () => [] });
const reduced = (reducer, initial) => Annotation({ reducer, default: () => initial });
const unlessNull = (a, b) => b ?? a;
const merged = (a, b) => ({ ...a, ...b });
const config = () => ({ configurable: { thread_id: `t${Math.random()}` }, recursionLimit: 1_000_000, durability: "exit" });
function check(ok) {
  if (!ok) throw new Error("wrong result");
}
// Without a saver and with one. As in stategraph's cases, building and compiling the graph and its saver take no part in the time.
const withAndWithout = (name, checkpointed, graph, run) =>
  [name, checkpointed].map((full, i) => ({
    names: [full],
    prepare: async () => graph().compile(i === 0 ? {} : { checkpointer: new MemorySaver() }),
    run,
  }));

// ------------------------------------------------------------------------------------------------------------- wide state
const digits = (n) => String(n % 10).repeat(10);
function wideMessage(outer, inner) {
  const values = Array.from({ length: 5 }, () => ["hi?".repeat(10), true, 1, 6327816386138, null]).flat();
  const message = {};
  for (let i = 0; i < outer; ++i) {
    message[digits(i)] = {};
    for (let j = 0; j < inner; ++j) message[digits(i)][digits(j)] = values;
  }
  return message;
}

const Wide = Annotation.Root({
  messages: list(),
  trigger_events: list(),
  primary_issue_medium: reduced((a, b) => b || a, "email"),
  autoresponse: reduced((_, b) => b, null),
  issue: reduced((a, b) => b || a, null),
  relevant_rules: Annotation,
  memory_docs: Annotation,
  categorizations: list(),
  responses: list(),
  user_info: reduced(unlessNull, null),
  crm_info: reduced(unlessNull, null),
  email_thread_id: reduced(unlessNull, null),
  slack_participants: reduced(merged, {}),
  bot_id: Annotation,
  notified_assignees: reduced(merged, {}),
});

const letters = (n) => {
  let text = "";
  for (let i = 0; i < n; ++i) text += String.fromCharCode(97 + Math.floor(Math.random() * 26));
  return text;
};
function wideGraph(schema, n) {
  return new StateGraph(schema)
    .addNode("one", (s) => ({ trigger_events: s.messages, primary_issue_medium: letters(n) }))
    .addNode("two", (s) => ({ autoresponse: s.trigger_events.at(-1), issue: s.trigger_events.at(-1) }))
    .addNode("three", (s) => ({ relevant_rules: [s.autoresponse] }))
    .addNode("four", (s) => ({ categorizations: s.trigger_events, responses: s.trigger_events, memory_docs: s.trigger_events }))
    .addNode("five", (s) => {
      const last = s.categorizations.at(-1);
      return { user_info: last, crm_info: last, email_thread_id: letters(n), slack_participants: last, bot_id: letters(n), notified_assignees: last };
    })
    .addNode("six", (s) => ({ messages: s.responses }))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", "three")
    .addEdge("two", "four")
    .addEdge(["three", "four"], "five")
    .addEdge("five", "six")
    .addConditionalEdges("six", (s) => (s.messages.length > n ? END : "one"));
}

// What the run ends with; benchmarks/support/wide.hpp (isWideResult) checks the same of stategraph.
function isWideResult(s, n, outer, inner) {
  const [messages, events, responses] = n === 300 ? [595, 277, 406] : [1873, 872, 1278];
  const lengths = { messages, trigger_events: events, memory_docs: events, categorizations: responses, responses, relevant_rules: 1 };
  const isWhole = (map) =>
    Object.keys(map).length === outer &&
    Object.keys(map[digits(0)]).length === inner &&
    map[digits(0)][digits(0)].length === 25;
  return (
    Object.entries(lengths).every(([name, length]) => s[name].length === length) &&
    [s.messages.at(-1), s.user_info, s.crm_info, s.issue, s.slack_participants, s.notified_assignees].every(isWhole) &&
    [s.primary_issue_medium, s.email_thread_id, s.bot_id].every((text) => text.length === n)
  );
}

const wide = (name, schema) => (quick) =>
  [["25x300", 300, 5, 5], ["15x600", 600, 3, 5], ["9x1200", 1200, 3, 3]].slice(0, quick ? 1 : 3).flatMap(([size, n, outer, inner]) => {
    const message = wideMessage(outer, inner);
    const cases = withAndWithout(`${name}/${size}`, `${name}/${size}_checkpoint`, () => wideGraph(schema, n), async (app) => {
      check(isWideResult(await app.invoke({ messages: [message] }, config()), n, outer, inner));
    });
    // stategraph's wide_dict has a second form, whose state is JSON.
    if (name === "wide_dict") for (const one of cases) one.names.push(`${one.names[0]}_json`);
    return cases;
  });
export const wideState = wide("wide_state", Wide);
// In JavaScript both states are plain objects.
export const wideDict = wide("wide_dict", Wide);

const dict = z.record(z.string(), z.any());
const dicts = () => withLangGraph(z.array(dict), { reducer: { fn: (a, b) => a.concat(b) }, default: () => [] });
const reducedAs = (type, fn, initial) => withLangGraph(type, { reducer: { fn }, default: () => initial });
const Validated = z.object({
  messages: dicts(),
  trigger_events: dicts(),
  primary_issue_medium: reducedAs(z.string(), (a, b) => b || a, "email"),
  autoresponse: reducedAs(dict.nullable(), (_, b) => b, null),
  issue: reducedAs(dict.nullable(), (a, b) => b || a, null),
  relevant_rules: z.array(dict).nullable().optional(),
  memory_docs: z.array(dict).nullable().optional(),
  categorizations: dicts(),
  responses: dicts(),
  user_info: reducedAs(dict.nullable(), unlessNull, null),
  crm_info: reducedAs(dict.nullable(), unlessNull, null),
  email_thread_id: reducedAs(z.string().nullable(), unlessNull, null),
  slack_participants: reducedAs(dict, merged, {}),
  bot_id: z.string().nullable().optional(),
  notified_assignees: reducedAs(dict, merged, {}),
});
export const pydanticState = wide("pydantic_state", Validated);

// ------------------------------------------------------------------------------------------------------- fan-out to a subgraph
const Joke = Annotation.Root({ letters: Annotation, subject: Annotation, jokes: Annotation });
const JokeOut = Annotation.Root({ jokes: Annotation });
const bumps = " a".repeat(10);
const child = () =>
  new StateGraph({ stateSchema: Joke, output: JokeOut })
    .addNode("edit", (s) => ({ subject: `['${s.letters.join("', '")}'] - hohoho` }))
    .addNode("generate", (s) => ({ jokes: [`Joke about ${s.subject}`] }))
    .addNode("bump", (s) => ({ jokes: [`${s.jokes[0]} a`] }))
    .addEdge(START, "edit")
    .addEdge("edit", "generate")
    .addEdge("generate", "bump")
    .addConditionalEdges("bump", (s) => (s.jokes[0].endsWith(bumps) ? END : "bump"))
    .compile();
const Jokes = Annotation.Root({ subjects: Annotation, jokes: list() });

export const fanoutToSubgraph = (quick) =>
  (quick ? [10] : [10, 100]).flatMap((size) => {
    const subjects = Array.from({ length: size }, () => Array.from({ length: 1000 }, (_, i) => String.fromCharCode(97 + ((i * 7) % 26))));
    const graph = new StateGraph(Jokes)
      .addNode("generate_joke", child())
      .addConditionalEdges(START, (s) => s.subjects.map((letters) => new Send("generate_joke", { letters })), ["generate_joke"])
      .addEdge("generate_joke", END);
    const cases = withAndWithout(`fanout_to_subgraph/inline/${size}`, `fanout_to_subgraph/checkpoint/${size}`, () => graph, async (app) => {
      check((await app.invoke({ subjects }, config())).jokes.length === size);
    });
    cases[0].names.push(`fanout_to_subgraph/pool/${size}`);
    return cases;
  });

// ------------------------------------------------------------------------------------------------------------- ReAct loop
const byId = (a, b) => {
  const result = a.slice();
  for (const message of b) {
    const at = result.findIndex((m) => m.id === message.id);
    if (at < 0) result.push(message);
    else result[at] = message;
  }
  return result;
};
const Agent = Annotation.Root({ messages: Annotation({ reducer: byId, default: () => [] }) });
const query = "0b9d9c3e-4a57-4f0c-9c0e-1f2d3c4b5a69".repeat(100);
function modelSays(said, calls) {
  const turn = said >> 1;
  if (turn >= calls) return { role: "ai", content: "answer".repeat(100), calls: [], id: `m${said}` };
  return { role: "ai", content: "", calls: [{ id: String(turn), query }], id: `m${said}` };
}
const agentGraph = (calls) =>
  new StateGraph(Agent)
    .addNode("agent", (s) => ({ messages: [modelSays(s.messages.length, calls)] }))
    .addNode("tools", (call) => ({ messages: [{ role: "tool", content: `result for query: ${call.query}`.repeat(10), calls: [], id: `t${call.id}` }] }))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", (s) => s.messages.at(-1).calls.map((call) => new Send("tools", call)), ["tools", END])
    .addEdge("tools", "agent");

export const reactLoop = (quick) =>
  (quick ? [10] : [10, 100, 1000]).flatMap((calls) =>
    withAndWithout(`react_loop/no_saver/${calls}`, `react_loop/memory/${calls}`, () => agentGraph(calls), async (app) => {
      const human = { role: "human", content: "hi?", calls: [], id: "h" };
      check((await app.invoke({ messages: [human] }, config())).messages.length === 2 * calls + 2);
    }),
  );

// ------------------------------------------------------------------------------------------------------------- sequential
const Notes = Annotation.Root({ messages: Annotation({ reducer: byId, default: () => [] }) });

export const sequential = (quick) =>
  (quick ? [10] : [10, 100, 1000]).flatMap((size) => {
    let calls = 0;
    const graph = new StateGraph(Notes);
    let before = START;
    for (let i = 0; i < size; ++i) {
      graph.addNode(`node_${i}`, () => {
        ++calls;
        return {};
      });
      graph.addEdge(before, `node_${i}`);
      before = `node_${i}`;
    }
    graph.addEdge(before, END);
    return withAndWithout(`sequential/no_saver/${size}`, `sequential/checkpoint/${size}`, () => graph, async (app) => {
      calls = 0;
      check((await app.invoke({ messages: [] }, config())).messages.length === 0 && calls === size);
    });
  });

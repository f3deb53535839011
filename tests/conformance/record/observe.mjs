// What LangGraph.js shows, in the form of the recordings: no ids and times, questions by their values, checkpoints by
// their numbers.
import { textOf } from "./expression.mjs";

const plain = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
const questions = (interrupts) => (interrupts ?? []).map((asked) => plain(asked.value) ?? null);
// Items in the order of the texts of what `key` makes of them.
export const ordered = (items, key = (item) => item) =>
  items.map((item) => [textOf(key(item)), item])
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, item]) => item);

function taskOf(task) {
  const shown = { interrupts: questions(task.interrupts), name: task.name };
  if (task.error) shown.error = true;
  const result = plain(task.result);
  // What a task that failed or asked has written before is an accident of the reference.
  if (result && Object.keys(result).length > 0 && !task.error && shown.interrupts.length === 0) shown.result = result;
  if (!task.error && task.state?.metadata) shown.state = valuesOf(task.state);
  return shown;
}

function valuesOf(snapshot) {
  return {
    next: [...snapshot.next].sort(),
    tasks: ordered(snapshot.tasks.map(taskOf)),
    values: plain(snapshot.values) ?? {},
  };
}

// A state snapshot; `ids` are the thread's checkpoints.
export function stateOf(snapshot, ids) {
  const number = (config) => {
    const at = ids.indexOf(config?.configurable?.checkpoint_id);
    return at < 0 ? null : at;
  };
  const shown = {
    ...valuesOf(snapshot),
    checkpoint: number(snapshot.config),
    parent: number(snapshot.parentConfig),
  };
  if (snapshot.metadata?.source !== undefined) {
    shown.source = snapshot.metadata.source;
    shown.step = snapshot.metadata.step;
  }
  return shown;
}

// All questions that a snapshot shows, with those of subgraphs.
export const askedIn = (snapshot) =>
  snapshot.tasks.flatMap((task) => [...(task.interrupts ?? []), ...(task.state?.tasks ? askedIn(task.state) : [])]);

// A returned state as its values and its questions.
export function outputOf(returned) {
  const { __interrupt__: interrupts, ...values } = returned ?? {};
  return { output: plain(values), interrupts: questions(interrupts) };
}

const data = {
  values(shown) {
    const { __interrupt__: interrupts, ...values } = shown;
    return { data: plain(values), ...(interrupts ? { interrupts: questions(interrupts) } : {}) };
  },
  updates: (shown) => ({
    data: "__interrupt__" in shown ? { __interrupt__: questions(shown.__interrupt__) } : plain(shown),
  }),
  tasks(shown) {
    const told = { interrupts: questions(shown.interrupts), name: shown.name };
    if (!("result" in shown)) return { data: { ...told, input: plain(shown.input) } };
    return { data: { ...told, result: plain(shown.result), error: shown.error ? true : null } };
  },
  checkpoints: ({ metadata, next, values }) => ({
    data: { next: [...next].sort(), source: metadata.source, step: metadata.step, values: plain(values) },
  }),
  custom: (shown) => ({ data: plain(shown) }),
};
export const known_modes = Object.keys(data);

// A chunk of a stream. The namespace is absent unless subgraphs were asked for.
export const chunkOf = (mode, shown, namespace) => ({
  ...data[mode](shown),
  mode,
  ...(namespace ? { ns: namespace.map((part) => part.split(":")[0]) } : {}),
});

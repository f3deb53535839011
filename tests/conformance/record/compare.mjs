// Compares what was recorded of a scenario with what is stored.
import { canonical } from "./expression.mjs";
import { ordered } from "./observe.mjs";

// A state snapshot as it is compared: without what is an accident of the reference.
function comparableState(snapshot) {
  const tasks = (snapshot.tasks ?? []).map(({ error, result, state, ...task }) => ({
    ...task,
    error: Boolean(error),
    ...(result !== undefined && !error && task.interrupts.length === 0 ? { result } : {}),
    ...(state !== undefined && !error ? { state: comparableState(state) } : {}),
  }));
  return { ...snapshot, next: [...(snapshot.next ?? [])].sort(), tasks: ordered(tasks) };
}

// Whether a task tells a chunk when it ends: its update, its end, its questions.
function isOfOneTask({ mode, data, interrupts }) {
  if (mode === "values") return interrupts !== undefined && Object.keys(data).length === 0;
  return mode === "updates" || (mode === "tasks" && "result" in data);
}

// Chunks as they are compared: tasks of a superstep end in any order.
function settled(chunks) {
  const result = [];
  let group = [];
  for (const chunk of chunks) {
    if (isOfOneTask(chunk)) {
      group.push(chunk);
      continue;
    }
    result.push(...ordered(group), chunk);
    group = [];
  }
  return [...result, ...ordered(group)];
}

const comparables = {
  state: comparableState,
  history: (history) => history.map(comparableState),
  executed: (executed) => ordered(executed),
  interrupts: (interrupts) => ordered(interrupts),
  chunks: settled,
  error: ({ detail: _, ...error }) => error,
};
const comparable = (key, value) => canonical(comparables[key] ? comparables[key](value) : value);

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

// The places at which two values differ: {path, was, is}; `was` or `is` is undefined where one of them has nothing.
export function differences(was, is, path) {
  if (Array.isArray(was) && Array.isArray(is)) {
    return Array.from({ length: Math.max(was.length, is.length) }, (_, i) => i)
      .flatMap((i) => differences(was[i], is[i], `${path}[${i}]`));
  }
  if (isObject(was) && isObject(is)) {
    return [...new Set([...Object.keys(was), ...Object.keys(is)])].sort()
      .flatMap((key) => differences(was[key], is[key], `${path}.${key}`));
  }
  return was === is ? [] : [{ path, was, is }];
}

// Which parts of what was observed belong into an operation's recording. A recording leaves out on purpose what the
// reference leaves to accident; nothing may run, fail or wait unseen.
function recordedKeys(stored, observed) {
  if (stored === undefined || stored.error?.kind !== observed.error?.kind) return Object.keys(observed);
  const seen = ["error", "executed", ...("output" in stored ? ["interrupts"] : [])];
  return Object.keys(observed).filter((key) => key in stored || seen.includes(key));
}

// The stored scenario with what was recorded of it now.
export function rerecorded(scenario, recorded) {
  const sameError = scenario.expect_build?.error?.kind === recorded.build.error?.kind;
  const run = scenario.run.map((op, i) => {
    const observed = recorded.run[i] ?? {};
    const kept = recordedKeys(op.expect, observed).map((key) => [key, observed[key]]);
    return { ...op, expect: canonical(Object.fromEntries(kept)) };
  });
  return { ...scenario, run, expect_build: sameError ? scenario.expect_build ?? {} : recorded.build };
}

// What differs between a stored scenario and the same, recorded again: a list as of `differences`.
export function changes(stored, again) {
  const found = differences(stored.expect_build?.error?.kind, again.expect_build.error?.kind, "expect_build.error.kind");
  stored.run.forEach((op, i) => {
    const was = op.expect ?? {};
    const is = again.run[i].expect;
    for (const key of [...new Set([...Object.keys(was), ...Object.keys(is)])].sort()) {
      const of = (expect) => (key in expect ? comparable(key, expect[key]) : undefined);
      const path = `run[${i}].expect.${key}`;
      const here = differences(of(was), of(is), path);
      if (here.length > 0 && is[key]?.detail) here.push({ path: `${path}.detail`, is: is[key].detail });
      found.push(...here);
    }
  });
  return found;
}

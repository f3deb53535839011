// Records scenarios with the installed LangGraph.js, and reports what differs from what is stored:
// node record.mjs [--write] [--only TEXT] FILE...
// Exits with 0 if nothing changed, with 1 if something did, and with 2 after an error.
import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { changes, rerecorded } from "./compare.mjs";
import { read, write } from "./files.mjs";
import { obstacles } from "./words.mjs";

setMaxListeners(0); // LangGraph.js adds one to the same signal for each task
const paths_shown = 12;
const length_shown = 160;
const minute = 60_000;

const short = (value) => {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length > length_shown ? `${text.slice(0, length_shown)}…` : text;
};

function shown(found) {
  const lines = found.slice(0, paths_shown).map(({ path, was, is }) => `${path}: was ${short(was)}, is ${short(is)}`);
  return found.length > paths_shown ? [...lines, `and ${found.length - paths_shown} more places`] : lines;
}

// A scenario that has not ended within a minute has none; the program then goes on with the next one.
async function withinAMinute(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("it has not ended within a minute")), minute);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// What became of one scenario: {outcome, lines, again}.
async function tried(scenario, { record, exported }) {
  const reasons = obstacles(scenario, exported);
  if (reasons.length > 0) return { outcome: "cannot be recorded", lines: reasons };
  const again = rerecorded(scenario, await withinAMinute(record(scenario)));
  const found = changes(scenario, again);
  if (found.length === 0) return { outcome: "same", lines: [] };
  const unsteady = changes(again, rerecorded(again, await withinAMinute(record(scenario))));
  if (unsteady.length > 0) {
    return { outcome: "cannot be recorded", lines: ["two recordings of it differ", ...shown(unsteady)] };
  }
  return { outcome: "changed", lines: shown(found), again };
}

function versions() {
  const version = (name) =>
    JSON.parse(readFileSync(new URL(`./node_modules/@langchain/${name}/package.json`, import.meta.url), "utf8")).version;
  return `LangGraph.js ${version("langgraph")}, @langchain/core ${version("core")}, ` +
    `@langchain/langgraph-checkpoint ${version("langgraph-checkpoint")}, node ${process.versions.node}`;
}

async function main() {
  const { values, positionals } = parseArgs({
    options: { write: { type: "boolean" }, only: { type: "string" } }, allowPositionals: true,
  });
  console.log(versions());
  // Only here, so that a library that cannot be loaded is an error like others.
  const recorder = await import("./scenario.mjs");
  const counts = { same: 0, changed: 0, "cannot be recorded": 0 };
  for (const path of positionals) {
    const scenarios = read(path);
    let has_new = false;
    for (const [i, scenario] of scenarios.entries()) {
      if (values.only !== undefined && !scenario.name.includes(values.only)) continue;
      const { outcome, lines, again } = await tried(scenario, recorder).catch((error) => ({
        outcome: "cannot be recorded", lines: [String(error)],
      }));
      counts[outcome] += 1;
      console.log([`${scenario.name}: ${outcome}`, ...lines].join("\n  "));
      if (again) [scenarios[i], has_new] = [again, true];
    }
    if (!values.write || !has_new) continue;
    write(path, scenarios);
    console.log(`written: ${path}`);
  }
  if (Object.values(counts).every((count) => count === 0)) throw new Error("there is no such scenario");
  console.log(Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`).join(", "));
  return counts.changed > 0 ? 1 : 0;
}

main().then((code) => process.exit(code), (error) => {
  console.error(`error: ${error.message}`);
  process.exit(2);
});

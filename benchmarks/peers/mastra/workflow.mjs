// The workload `workflow` on Mastra, with its in-memory store: node workflow.mjs OUT.json. QUICK=yes: fewer samples. The cases have the names
// and the sizes of stategraph's (benchmarks/workloads/workflow). Every run is a new one, and the store keeps it.
//
// Mastra's in-memory store keeps one snapshot of a run, by reference: each write replaces it, and nothing is encoded or copied. A store that is to
// outlive the process has to write text, as Mastra's others do, so the case `chain_encoded` keeps each snapshot as JSON. `chain_unsaved` has no store.
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Mastra } from "@mastra/core";
import { InMemoryStore } from "@mastra/core/storage";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { z } from "zod";
import { measure } from "./measure.mjs";

const [out] = process.argv.slice(2);

// ------------------------------------------------------------------------------------------------------------- workloads
function check(ok) {
  if (!ok) throw new Error("wrong result");
}

const number = z.number();
const numbers = z.array(number);
const inc = (id) => createStep({ id, inputSchema: number, outputSchema: number, execute: async ({ inputData }) => inputData + 1 });
// A function that creates a run, in a store of the workflow's own.
function runsOf(workflow, storage = new InMemoryStore()) {
  const mastra = new Mastra({ workflows: { [workflow.id]: workflow }, logger: false, ...(storage && { storage }) });
  return () => mastra.getWorkflow(workflow.id).createRun();
}
// An in-memory store that keeps snapshots as JSON, which it reads too.
function encodingStore() {
  const storage = new InMemoryStore();
  const ready = storage.getStore("workflows").then((workflows) => {
    const persist = workflows.persistWorkflowSnapshot.bind(workflows);
    workflows.persistWorkflowSnapshot = (row) => persist({ ...row, snapshot: JSON.stringify(row.snapshot) });
  });
  return { storage, ready };
}

function chain({ storage, ready } = {}) {
  const workflow = createWorkflow({ id: "chain", inputSchema: number, outputSchema: number }).then(inc("a")).then(inc("b")).then(inc("c")).commit();
  const create = runsOf(workflow, storage);
  return async () => {
    await ready;
    const run = await create();
    check((await run.start({ inputData: 1 })).result === 4);
  };
}

function foreach(concurrency) {
  const workflow = createWorkflow({ id: "each", inputSchema: numbers, outputSchema: numbers }).foreach(inc("item"), { concurrency }).commit();
  const create = runsOf(workflow);
  const list = Array(1000).fill(1);
  return async () => {
    const run = await create();
    const { result } = await run.start({ inputData: list });
    check(result.length === list.length && result.every((n) => n === 2));
  };
}

function suspendAndResume() {
  const ask = createStep({
    id: "ask",
    inputSchema: number,
    outputSchema: number,
    suspendSchema: z.object({ question: z.string() }),
    resumeSchema: number,
    execute: async ({ inputData, resumeData, suspend }) => (resumeData === undefined ? suspend({ question: "how much?" }) : inputData + resumeData),
  });
  const create = runsOf(createWorkflow({ id: "asks", inputSchema: number, outputSchema: number }).then(ask).commit());
  return async () => {
    const run = await create();
    check((await run.start({ inputData: 1 })).status === "suspended");
    check((await run.resume({ step: "ask", resumeData: 2 })).result === 3);
  };
}

const cases = {
  "workflow/chain": () => chain(),
  "workflow/chain_encoded": () => chain(encodingStore()),
  "workflow/chain_unsaved": () => chain({ storage: null }),
  "workflow/foreach_1000": () => foreach(10),
  "workflow/foreach_1000_serial": () => foreach(1),
  "workflow/suspend_resume": suspendAndResume,
};

const figures = [];
for (const [name, make] of Object.entries(cases)) figures.push({ name, unit: "us", samples: await measure(make) });
const version = createRequire(import.meta.url)("./node_modules/@mastra/core/package.json").version;
writeFileSync(out, JSON.stringify({ peer: `Mastra ${version}`, figures }));

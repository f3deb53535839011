// The workloads on LangGraph.js: node bench.mjs WORKLOAD OUT.json. QUICK=yes: fewer samples. A workload that is not here writes no file.
import { writeFileSync } from "node:fs";
import { setMaxListeners } from "node:events";
import { performance } from "node:perf_hooks";
import { createRequire } from "node:module";
import { workloads } from "./workloads.mjs";

setMaxListeners(0); // LangGraph.js adds one to the same signal for each task
const [name, out] = process.argv.slice(2);
const quick = process.env.QUICK === "yes";
const cases = workloads[name];
if (!cases) process.exit(0);

// Microseconds of one item, of several samples of at least 50 ms each.
// `without` is taken off: what a case needs before the work that counts. `sample` measures itself.
async function measure({ run, sample, without, items = 1, iterations }) {
  const samples = [];
  const count_samples = quick ? 2 : 5;
  if (sample) {
    for (let i = 0; i < count_samples; ++i) samples.push(await sample());
    return samples;
  }
  await run();
  const begin = performance.now();
  await run();
  const once = performance.now() - begin;
  const count = iterations ?? Math.max(1, Math.ceil((quick ? 10 : 50) / Math.max(once, 0.001)));
  for (let number = 0; number < count_samples; ++number) {
    const start = performance.now();
    for (let i = 0; i < count; ++i) await run();
    let took = performance.now() - start;
    if (without) {
      const before = performance.now();
      for (let i = 0; i < count; ++i) await without();
      took -= performance.now() - before;
    }
    samples.push((took * 1000) / count / items);
  }
  return samples;
}

const figures = [];
for (const one of await cases(quick)) {
  const samples = await measure(one);
  for (const as of one.names) figures.push({ name: as, unit: "us", samples });
}
const version = createRequire(import.meta.url)("./node_modules/@langchain/langgraph/package.json").version;
writeFileSync(out, JSON.stringify({ peer: `LangGraph.js ${version}`, figures }));

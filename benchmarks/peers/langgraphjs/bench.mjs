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

// Real time, or the CPU time of the process if that is less: other programs on the machine are not LangGraph.js's fault. In ms.
function clock() {
  const start = performance.now();
  const cpu = process.cpuUsage();
  return (waits) => {
    const real = performance.now() - start;
    const used = process.cpuUsage(cpu);
    return waits ? real : Math.min(real, (used.user + used.system) / 1000);
  };
}

// Microseconds of one item, of several samples of at least 50 ms each. A case that `waits` is measured in real time alone.
// What `prepare` makes, outside the time, is given to `run`. `sample` measures itself.
// One that `is_long` warms up with a single sample.
async function measure({ run, sample, prepare, waits = false, is_long = false, items = 1, iterations }) {
  const samples = [];
  const count_samples = quick ? 2 : 5;
  // The compiler of V8 needs many calls: what is cold is several times slower.
  const warm = performance.now() + (quick ? 100 : 700);
  for (let i = 0; i < (is_long ? 1 : 3) || (!is_long && i < 300 && performance.now() < warm); ++i)
    sample ? await sample() : await run(await prepare?.());
  if (sample) {
    for (let i = 0; i < count_samples; ++i) samples.push(await sample());
    return samples;
  }
  const begin = performance.now();
  for (let i = 0; i < 3; ++i) await run(await prepare?.());
  const once = (performance.now() - begin) / 3;
  const count = iterations ?? Math.max(1, Math.ceil((quick ? 10 : 60) / Math.max(once, 0.001)));
  for (let number = 0; number < count_samples; ++number) {
    const prepared = [];
    for (let i = 0; i < count; ++i) prepared.push(await prepare?.());
    const took = clock();
    for (let i = 0; i < count; ++i) await run(prepared[i]);
    samples.push((took(waits) * 1000) / count / items);
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

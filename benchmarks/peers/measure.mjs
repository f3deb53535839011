// How the programs of the peers measure. QUICK=yes: fewer samples.
import { performance } from "node:perf_hooks";

const quick = process.env.QUICK === "yes";

// As for LangGraph.js (peers/langgraphjs/bench.mjs). Real time, or the CPU time of the process if that is less: other programs on the machine
// are not the peer's fault. In ms.
function clock() {
  const start = performance.now();
  const cpu = process.cpuUsage();
  return () => {
    const used = process.cpuUsage(cpu);
    return Math.min(performance.now() - start, (used.user + used.system) / 1000);
  };
}

// Microseconds of one run, of several samples of at least 60 ms each. Each sample has a store of its own, since
// some find a run by looking at all that they keep. `make` gives a function that makes one run.
export async function measure(make) {
  let run = make();
  // V8 compiles what is called often: the first calls are several times slower.
  const warm = performance.now() + (quick ? 100 : 700);
  for (let i = 0; i < 3 || (i < 300 && performance.now() < warm); ++i) await run();
  const once = clock();
  for (let i = 0; i < 3; ++i) await run();
  const count = Math.max(1, Math.ceil((quick ? 10 : 60) / Math.max(once() / 3, 0.001)));
  const samples = [];
  for (let sample = 0; sample < (quick ? 2 : 5); ++sample) {
    run = make();
    const took = clock();
    for (let i = 0; i < count; ++i) await run();
    samples.push((took() * 1000) / count);
  }
  return samples;
}

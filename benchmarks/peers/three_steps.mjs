// Three steps, each of which is stored before the next one begins, on DBOS and on LangGraph.js: node three_steps.mjs OUT. QUICK=yes: for a shorter
// time. Writes OUT-dbos.json and OUT-langgraph.json. The cases have the names of stategraph's (benchmarks/workloads/three_steps): one run after
// the other, and 64 at once, each a workflow or thread of its own. PostgreSQL is the server that STATEGRAPH_BENCH_POSTGRES names; without it, or
// without a saver's addon, those cases are left out. With `sync` each commit waits for the disk, which SQLite's saver does not ask for by itself.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import pg from "pg";
import { settings } from "./postgres.mjs";

const [out] = process.argv.slice(2);
const seconds = process.env.QUICK === "yes" ? 1 : 5;
const width = 64;
const has_server = Boolean(process.env.STATEGRAPH_BENCH_POSTGRES);
const version = (name) => JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version;

async function alone(run, lasts) {
  const times = [];
  for (const end = performance.now() + lasts * 1000; performance.now() < end; ) {
    const begin = performance.now();
    await run();
    times.push(performance.now() - begin);
  }
  return times;
}

// The figures of a case.
async function measure(name, run) {
  await alone(run, seconds / 5);
  const times = (await alone(run, seconds)).sort((a, b) => a - b);
  let ended = 0;
  const begin = performance.now();
  const end = begin + seconds * 1000;
  const repeat = async () => {
    for (; performance.now() < end; ++ended) await run();
  };
  await Promise.all(Array.from({ length: width }, repeat));
  const rate = ended / ((performance.now() - begin) / 1000);
  const p95 = times[Math.min(times.length - 1, Math.floor(times.length * 0.95))];
  return [
    { name, unit: "ms", samples: times },
    { name: `${name}:p95_us`, unit: "", samples: [p95 * 1000] },
    { name: `${name}:runs_per_second`, unit: "/s", samples: [rate] },
  ];
}

function check(ok) {
  if (!ok) throw new Error("wrong result");
}

// ------------------------------------------------------------------------------------------------------------------ DBOS
async function dbos() {
  const { host, user } = settings("on");
  const server = new pg.Client(settings("on"));
  await server.connect();
  await server.query("DROP DATABASE IF EXISTS bench_dbos WITH (FORCE)");
  await server.query("CREATE DATABASE bench_dbos");
  const url = `postgresql://${user}@localhost/bench_dbos?host=${encodeURIComponent(host)}`;
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: url, systemDatabasePoolSize: 32, logLevel: "error", runAdminServer: false });
  const chain = DBOS.registerWorkflow(
    async (n) => {
      for (const name of ["a", "b", "c"]) n = await DBOS.runStep(async () => n + 1, { name });
      return n;
    },
    { name: "chain" },
  );
  await DBOS.launch();
  const figures = await measure("three_steps/postgres_sync", async () => check((await chain(0)) === 3));
  await DBOS.shutdown();
  await server.query("DROP DATABASE IF EXISTS bench_dbos WITH (FORCE)");
  await server.end();
  return figures;
}

// ---------------------------------------------------------------------------------------------------------- LangGraph.js
const Counter = Annotation.Root({ n: Annotation });
const inc = (s) => ({ n: s.n + 1 });
let thread = 0;

async function onSaver(name, durability, checkpointer) {
  const graph = new StateGraph(Counter).addNode("a", inc).addNode("b", inc).addNode("c", inc);
  const app = graph.addEdge(START, "a").addEdge("a", "b").addEdge("b", "c").addEdge("c", END).compile({ checkpointer });
  return measure(name, async () => check((await app.invoke({ n: 0 }, { configurable: { thread_id: `t${thread++}` }, durability })).n === 3));
}

async function onSqlite(durability) {
  const folder = mkdtempSync(join(tmpdir(), "stategraph-bench-"));
  try {
    const saver = SqliteSaver.fromConnString(join(folder, "threads.db"));
    saver.db.pragma("journal_mode=WAL");
    saver.db.pragma(durability === "sync" ? "synchronous=FULL" : "synchronous=NORMAL");
    return await onSaver(`three_steps/sqlite_${durability}`, durability, saver);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function onPostgres(durability) {
  const schema = "bench_langgraph_steps";
  const pool = new pg.Pool({ ...settings(durability === "sync" ? "on" : "off"), max: 16 });
  try {
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    const saver = new PostgresSaver(pool, undefined, { schema });
    await saver.setup();
    return await onSaver(`three_steps/postgres_${durability}`, durability, saver);
  } finally {
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await pool.end();
  }
}

// What fails leaves its cases empty.
async function attempt(what, run) {
  try {
    return await run();
  } catch (error) {
    console.error(`${what}: ${error.message.split("\n")[0]}`);
    return [];
  }
}
const langgraph = [];
for (const durability of ["sync", "async"]) {
  langgraph.push(...(await attempt("LangGraph.js on SQLite", () => onSqlite(durability))));
  if (has_server) langgraph.push(...(await attempt("LangGraph.js on PostgreSQL", () => onPostgres(durability))));
}
writeFileSync(`${out}-langgraph.json`, JSON.stringify({ peer: `LangGraph.js ${version("@langchain/langgraph")}`, figures: langgraph }));
if (has_server) {
  const figures = await attempt("DBOS", dbos);
  writeFileSync(`${out}-dbos.json`, JSON.stringify({ peer: `DBOS ${version("@dbos-inc/dbos-sdk")}`, figures }));
}
process.exit(0);

// Runs that append a message of 200 bytes in each superstep, with LangGraph.js's PostgresSaver on the server that STATEGRAPH_BENCH_POSTGRES names
// (libpq's keywords). With `async` no transaction waits for the server's disk (synchronous_commit=off, as stategraph's), with `sync` each does.
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { performance } from "node:perf_hooks";
import pg from "pg";

const schema = `bench_langgraph_${process.pid}`;
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-";
const texts = (count) => Array.from({ length: count }, () => Array.from({ length: 200 }, () => letters[Math.floor(Math.random() * 64)]).join(""));

export function settings(commit) {
  const words = Object.fromEntries((process.env.STATEGRAPH_BENCH_POSTGRES ?? "").split(/\s+/).filter(Boolean).map((word) => word.split(/=(.*)/).slice(0, 2)));
  return {
    host: words.host, port: words.port ? Number(words.port) : 5432, user: words.user, password: words.password, database: words.dbname ?? words.user,
    options: `-c synchronous_commit=${commit}`, max: 4,
  };
}

const Conversation = Annotation.Root({ messages: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }), n: Annotation });
function graphOf(said) {
  return new StateGraph(Conversation)
    .addNode("say", (s) => ({ messages: [said[s.n]], n: s.n + 1 }))
    .addEdge(START, "say")
    .addConditionalEdges("say", (s) => (s.n < said.length ? "say" : END));
}

async function numberOf(pool, sql) {
  return Number((await pool.query(sql)).rows[0].number);
}
const stored = `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS number FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = '${schema}' AND c.relkind = 'r'`;
const logged = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS number";

// One run of `size` supersteps on each of `threads` threads, one after the other: the microseconds of a superstep.
async function runs(durability, size, threads) {
  const pool = new pg.Pool(settings(durability === "sync" ? "on" : "off"));
  try {
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    const saver = new PostgresSaver(pool, undefined, { schema });
    await saver.setup();
    const said = texts(size);
    const app = graphOf(said).compile({ checkpointer: saver });
    const before = [await numberOf(pool, stored), await numberOf(pool, logged)];
    const begin = performance.now();
    for (let i = 0; i < threads; ++i) {
      const config = { configurable: { thread_id: `messages ${i}` }, recursionLimit: 1_000_000, durability };
      if ((await app.invoke({ n: 0 }, config)).messages.length !== size) throw new Error("wrong result");
    }
    const steps = size * threads;
    const us = ((performance.now() - begin) * 1000) / steps;
    const after = [await numberOf(pool, stored), await numberOf(pool, logged)];
    console.log(
      `savers/postgres_messages_${durability}/${size}: ${us.toFixed(0)} us, stored ${((after[0] - before[0]) / steps).toFixed(0)} B and ` +
        `${((after[1] - before[1]) / steps).toFixed(0)} B of the server's log a superstep`,
    );
    return us;
  } finally {
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await pool.end();
  }
}

export const postgres = (quick) => {
  if (!process.env.STATEGRAPH_BENCH_POSTGRES) return [];
  const size = quick ? 30 : 300;
  return [
    { names: [`savers/postgres_messages_async/${size}`], is_long: true, sample: () => runs("async", size, quick ? 1 : 3) },
    { names: [`savers/postgres_messages_sync/${size}`], is_long: true, sample: () => runs("sync", size, 1) },
  ];
};

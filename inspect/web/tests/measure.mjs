// Measures how long pages of a list of many threads take, as the page asks for them: node tests/measure.mjs [THREADS]
//
// STATEGRAPH_INSPECTED names the program; the preset `once` does not optimise. Each page is a request to the server on this machine, to
// the end of its JSON. tests/large.test.mjs prints the times of long threads and large states.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { processorTime, program } from './support.mjs';

const threads = Number(process.argv[2] ?? 1_000_000);
const key = 'a-key-to-measure-with';
const pages = 50;

async function serve(words) {
  const server = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise((resolve, reject) => {
    server.stdout.once('data', (data) => resolve(String(data).trim()));
    server.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
  return { server, origin: url.split('/#')[0] };
}

async function timed(origin, path) {
  const began = performance.now();
  const response = await fetch(`${origin}/api/${path}`, { headers: { 'X-Stategraph-Key': key } });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${path}: ${answer.error}`);
  return { ms: performance.now() - began, answer };
}

function report(what, times, processor) {
  const sorted = [...times].sort((a, b) => a - b);
  console.log(`  ${what}: the first ${times[0].toFixed(1)} ms, the middle one of ${times.length} ${sorted[times.length >> 1].toFixed(1)} ms, the longest ${sorted.at(-1).toFixed(1)} ms; the server's processor time is ${(processor / times.length).toFixed(1)} ms a page`);
}

// One page after the other, from a place on.
async function walk({ server, origin }, what, operation, query, items) {
  const times = [];
  const before = processorTime(server.pid);
  let after = query.after ?? '';
  for (let i = 0; i < pages; i += 1) {
    const { ms, answer } = await timed(origin, `${operation}?${new URLSearchParams({ limit: 50, ...query, after })}`);
    if (answer.next && answer[items].length !== 50) throw new Error(`${what}: a page has ${answer[items].length}`);
    times.push(ms);
    after = answer.next;
    if (!after) break;
  }
  report(what, times, processorTime(server.pid) - before);
}

async function measure(name, served) {
  console.log(`${name}, ${threads} threads, load ${loadavg()[0].toFixed(1)}`);
  try {
    await walk(served, 'the newest threads, 50 a page', 'threads', {}, 'threads');
    const middle = `thread-${threads >> 1}`;
    const head = (await timed(served.origin, `threads/${middle}/head`)).answer.checkpoint_id;
    await walk(served, 'threads in the middle', 'threads', { after: `${head}/${middle}` }, 'threads');
    await walk(served, 'threads that ask', 'threads', { status: 'interrupted' }, 'threads');
    await walk(served, 'questions', 'questions', {}, 'questions');
    console.log(`  load ${loadavg()[0].toFixed(1)} at the end`);
  } finally {
    served.server.kill('SIGKILL');
  }
}

const folder = mkdtempSync(join(tmpdir(), 'measured-'));
try {
  const store = join(folder, 'checkpoints');
  execFileSync(program, ['many', store, String(threads)]);
  await measure('RocksDB', await serve(['serve', store, key]));
  await measure('memory', await serve(['serve-many', String(threads), key]));
} finally {
  rmSync(folder, { recursive: true });
}

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { align } from '../src/compare.js';
import { Lanes } from '../src/lanes.js';
import { dueOf, visible } from '../src/text.js';

const web = dirname(dirname(fileURLToPath(import.meta.url)));

test('dist is what the sources give', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dist-'));
  try {
    execFileSync(process.execPath, [join(web, 'build.mjs'), folder]);
    const names = readdirSync(folder).sort();
    assert.deepEqual(readdirSync(join(web, 'dist')).sort(), names);
    for (const name of names) assert.ok(readFileSync(join(folder, name)).equals(readFileSync(join(web, 'dist', name))), `${name} differs; run npm run build`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('dist names no other host', () => {
  const namespaces = /^http:\/\/www\.w3\.org\/(1998\/Math\/MathML|1999\/xhtml|2000\/svg|1999\/xlink)/;
  for (const name of readdirSync(join(web, 'dist'))) {
    if (name === 'licences.txt') continue;
    const text = readFileSync(join(web, 'dist', name), 'utf8');
    const found = [...text.matchAll(/(?:https?|wss?):\/\/[^\s"'`)\\]+/g)].map((match) => match[0]).filter((address) => !namespaces.test(address));
    assert.deepEqual(found, [], name);
    assert.ok(!/\beval\(|new Function\(/.test(text), name);
  }
});

test('branches get lanes of their own, and end at their parents', () => {
  const row = (checkpoint_id, parent, source = 'loop') => ({ checkpoint_id, parent, source });
  const rows = [row('e', 'c'), row('d', 'b'), row('c', 'b', 'fork'), row('b', 'a'), row('a', null, 'input')];
  const lanes = new Lanes().upTo(rows, rows.length);
  assert.deepEqual(lanes.map((each) => each.lane), [0, 1, 0, 0, 0]);
  assert.deepEqual(lanes[3].joins, [1]);
  assert.deepEqual(lanes[4].after, []);
});

test('lanes that newer checkpoints precede are those of the whole log', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9);
  let state = seed;
  const random = (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
  for (let round = 0; round < 200; round += 1) {
    const log = []; // the newest first
    for (let i = 0; i < 30; i += 1) {
      const parent = log.length === 0 ? null : random(4) === 0 ? log[random(log.length)].checkpoint_id : log[0].checkpoint_id;
      log.unshift({ checkpoint_id: `${i}`, parent, source: random(9) === 0 ? 'fork' : 'loop' });
    }
    const count = 1 + random(28);
    const old = log.slice(count);
    const lanes = new Lanes();
    lanes.upTo(old, random(old.length) + 1, 1 + random(9));
    const known = lanes.preceded(log.slice(0, count), old[0]).upTo(log, log.length);
    assert.deepEqual(known, new Lanes().upTo(log, log.length), `SEED=${seed}, round ${round}`);
  }
});

test('threads are aligned by what was due', () => {
  const checkpoint = (name) => ({ source: 'loop', next: [name] });
  const pairs = align(['a', 'b', 'c', 'd'].map(checkpoint), ['a', 'x', 'c', 'd', 'e'].map(checkpoint));
  const names = pairs.map((pair) => pair.map((each) => each?.next[0] ?? '-').join(''));
  assert.deepEqual(names, ['aa', 'b-', '-x', 'cc', 'dd', '-e']);
});

test('what turns or hides text is shown', () => {
  assert.equal(visible('a\u202eb\u0000c\ud800\u200b'), 'a⟨202e⟩b⟨0000⟩c⟨d800⟩⟨200b⟩');
  assert.equal(visible('🚀 é\n\t'), '🚀 é\n\t');
});

test('of many due tasks the first are named, and the rest is counted', () => {
  const due = ['failed', 'asks', 'due', 'due', 'due', 'due', 'due', 'due'].map((state, i) => ({ name: `n${i}`, state }));
  assert.equal(dueOf({ due, next: [] }), '! n0, ? n1, n2, n3, n4, n5, 2 more');
  assert.equal(dueOf({ due, due_count: 100, next: [] }), '! n0, ? n1, n2, n3, n4, n5, 94 more');
  assert.equal(dueOf({ due: due.slice(0, 2), due_count: 2, next: [] }, true), 'n0 failed, n1 asks');
});

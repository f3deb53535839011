import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

// The real server (stategraph-inspected, tests/pages/inspected_store.cpp) on a real database, and a real browser.
export const program = process.env.STATEGRAPH_INSPECTED;
if (!program) throw new Error('STATEGRAPH_INSPECTED names no program; inspect/web/tests/run.sh sets it');
export const key = 'a-key-of-the-tests';

export class Server {
  static async start(options = {}) {
    const server = new Server();
    server.folder = options.folder ?? mkdtempSync(join(tmpdir(), 'inspector-'));
    server.store = join(server.folder, 'checkpoints');
    for (const words of options.make ?? [['make']]) execFileSync(program, [words[0], server.store, ...words.slice(1)]);
    server.options = options;
    await server.begin();
    return server;
  }
  async begin() {
    const words = ['serve', this.store, key];
    if (this.options.readOnly) words.push('--read-only');
    words.push(...(this.options.flags ?? []));
    if (this.port) words.push(String(this.port));
    this.process = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    const url = await new Promise((resolve, reject) => {
      this.process.stdout.once('data', (data) => resolve(String(data).trim()));
      this.process.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
    });
    this.origin = url.split('/#')[0];
    this.port = Number(new URL(this.origin).port);
    this.url = url;
  }
  async kill() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGKILL');
    await ended;
  }
  async stop() {
    await this.kill();
    if (!this.options.folder) rmSync(this.folder, { recursive: true, force: true });
  }
  async api(path, body) {
    const response = await fetch(`${this.origin}/api/${path}`, {
      headers: { 'X-Stategraph-Key': key, ...(body && { Origin: this.origin }) },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
    return response.json();
  }
}

// For root, and for machines without a graphics card or a network.
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags });

/** A page of a browser that has never been here. What it must not do is in `faults`. */
export async function open(browser, server, hash = '') {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000); // a machine that others use gives a server of 50 MB a twentieth of a core at times
  page.faults = [];
  page.on('console', (message) => message.type() === 'error' && !/ERR_CONNECTION|Failed to load resource/.test(message.text()) && page.faults.push(message.text()));
  page.on('pageerror', (error) => page.faults.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(server.origin) && !/^(data|blob):/.test(request.url())) page.faults.push(`asks ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    page.faults.push(`shows ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(`${server.url}${hash}`);
  await drawn(page);
  return page;
}

/** Until the page has drawn all that its address names. */
export const drawn = (page) => page.waitForFunction(() => document.getElementById('app')?.dataset.drawn === (location.hash || '#/'));

/** Goes to another view of a page that is open. */
export async function visit(page, server, hash) {
  await page.goto(`${server.origin}/#${hash}`);
  await drawn(page);
}

export async function close(page) {
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

/** Holds requests to such addresses back, until what it gives is called. */
export async function hold(page, address) {
  let release;
  const isReleased = new Promise((resolve) => (release = resolve));
  await page.route(address, async (route) => {
    await isReleased;
    await route.continue().catch(() => {}); // the page may have given it up
  });
  return async () => {
    release();
    await page.unrouteAll({ behavior: 'wait' });
  };
}

/** An assertion about what the page shows, which it may still be drawing: it has ten seconds to become true. */
export async function eventually(assertion) {
  const end = Date.now() + 10_000;
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** What a process has used so far, in ms of processor time; NaN where the system does not say it. */
export function processorTime(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10; // in ticks, of which a second has 100
  } catch {
    return NaN;
  }
}

export const hostile = '</script><script>alert(1)</script>';
export const rowsOf = (page) => page.locator('.timeline .row:not([hidden])');
export const task = (page, name) => page.locator(`.tasks li[data-task="${name}"]`);

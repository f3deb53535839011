import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { close, key, launch, open, program, Server } from './support.mjs';

// The command `stategraph serve`, next to a program that writes.

describe('the command, beside a program that writes', () => {
  let browser, server, command, origin;
  before(async () => {
    browser = await launch();
    server = await Server.start();
    command = spawn(join(dirname(program), 'stategraph'), ['serve', server.store, '--key', key], { stdio: ['ignore', 'pipe', 'inherit'] });
    const url = await new Promise((resolve) => command.stdout.once('data', (data) => resolve(String(data).trim())));
    origin = url.split('/#')[0];
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('it shows what the program stores while it runs, and after it was killed', async () => {
    const page = await open(browser, { origin, url: `${origin}/#k=${key}` }, '/t/live//');
    await page.getByText("there is no thread 'live'").waitFor();
    await server.api('threads/live/run', { input: { customer: 'Live', items: ['tea'] } });
    await page.locator('.graph .node.asks[data-node="approve"]').waitFor();
    await server.kill();
    await page.keyboard.press('w');
    await page.locator('.causes dd').first().waitFor();
    await page.getByText('read-only').waitFor();
    await close(page);
  });

  test('it ends well when it is asked to', async () => {
    const ended = new Promise((resolve) => command.once('exit', (code, signal) => resolve(code ?? signal)));
    command.kill('SIGTERM');
    assert.equal(await ended, 0);
  });
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { close, key, launch, open, program, Server } from './support.mjs';

// Each row of what the inspector offers, in a browser, over the threads that tests/pages/inspected_store.cpp makes.
const hostile = '</script><script>alert(1)</script>';
const rowsOf = (page) => page.locator('.timeline .row');
const task = (page, name) => page.locator(`.tasks li[data-task="${name}"]`);

describe('a program that shows its threads', () => {
  let browser, server;
  before(async () => {
    browser = await launch();
    server = await Server.start();
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('threads are listed, the newest first, by status and by text', async () => {
    const page = await open(browser, server);
    await page.waitForSelector('table.threads');
    assert.equal(await page.locator('tr[data-thread]').count(), 7);
    assert.equal(await page.locator('tr[data-thread]').last().getAttribute('data-thread'), 'done');
    await page.getByRole('button', { name: /failed/ }).click();
    await page.waitForFunction(() => document.querySelectorAll('tr[data-thread]').length === 1);
    assert.match(await page.locator('tr[data-thread="failed"]').innerText(), /no stock of unicorn/);
    await page.getByRole('button', { name: 'all' }).click();
    await page.getByLabel('Search').fill('Grace');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelectorAll('tr[data-thread]').length === 1);
    assert.equal(await page.locator('tr[data-thread]').getAttribute('data-thread'), 'asks');
    assert.ok(!page.url().includes('k='), 'the key is not in the address');
    await close(page);
  });

  test('a timeline draws its forks, and a step is shown with its state', async () => {
    const page = await open(browser, server, '/t/forked//');
    await rowsOf(page).first().waitFor();
    assert.equal(await rowsOf(page).count(), 10);
    assert.equal(await page.locator('.row[data-source="fork"]').count(), 1);
    assert.equal(await page.locator('.row[data-source="input"]').count(), 1);
    await page.locator('.row[data-step="1"]').click();
    await page.getByRole('heading', { name: /Step 1/ }).waitFor();
    assert.match(page.url(), /#\/t\/forked\/\/[0-9a-f-]{36}$/);
    await page.locator('.tree .key', { hasText: 'customer' }).waitFor();
    assert.match(await page.locator('.tree').innerText(), /Edsger/);
    await close(page);
  });

  test('the graph is drawn with what asks, failed and is done', async () => {
    let page = await open(browser, server, '/t/asks//');
    await page.locator('.graph .node.asks[data-node="approve"]').waitFor();
    assert.equal(await page.locator('.graph .node').count(), 8);
    assert.equal(await page.locator('.graph .line.lit').count(), 1);
    assert.match(await page.locator('.graph svg').getAttribute('aria-label'), /approve asks/);
    await close(page);
    page = await open(browser, server, '/t/failed//');
    await page.locator('.graph .node.failed[data-node="price"]').waitFor();
    assert.match(await task(page, 'price').last().innerText(), /no stock of unicorn/);
    assert.match(await task(page, 'price').first().innerText(), /tea costs 3/);
    await close(page);
  });

  test('diff with the parent, with any other checkpoint, and with another thread', async () => {
    const page = await open(browser, server, '/t/done//');
    await rowsOf(page).first().waitFor();
    await page.keyboard.press('d');
    await page.locator('.changes li[data-channel="messages"] .added').waitFor();
    assert.match(await page.locator('.changes').innerText(), /paid/);
    await page.getByLabel('Compare with').fill('0');
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.locator('.changes li[data-channel="total"]').waitFor();
    assert.match(await page.locator('.changes li[data-channel="total"]').innerText(), /0[\s\S]*7/);
    const head = await server.api('threads/asks/head');
    await page.getByLabel('Compare with').fill(`asks@${head.checkpoint_id}`);
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.locator('.changes li[data-channel="customer"]').waitFor();
    assert.match(await page.locator('.changes li[data-channel="customer"]').innerText(), /Grace[\s\S]*Ada/);
    await close(page);
  });

  test('why a task is due, and who wrote a value', async () => {
    const page = await open(browser, server, '/t/failed//?view=why');
    await page.locator('.causes dd').first().waitFor();
    assert.deepEqual(await page.locator('.causes dd').allInnerTexts(), ['Send 0 of gather', 'Send 1 of gather']);
    await page.goto(`${server.origin}/#/t/done//`);
    await page.getByRole('button', { name: 'who wrote total' }).click();
    await page.locator('section[aria-label="blame"] tbody tr').first().waitFor();
    assert.match(await page.locator('section[aria-label="blame"] tbody').innerText(), /price #0/);
    await close(page);
  });

  test('bytes by channel and durations are shown, of a thread and of the store', async () => {
    const page = await open(browser, server, '/t/done//?view=sizes');
    await page.getByText('bytes by channel').waitFor();
    assert.match(await page.locator('.bars').first().innerText(), /messages/);
    assert.equal(await page.locator('.curve').count(), 2);
    assert.match(await rowsOf(page).first().innerText(), /µs|ms/);
    await page.getByRole('link', { name: 'Store' }).click();
    await page.getByText(/7 threads/).waitFor();
    await close(page);
  });

  test('every view is there as JSON', async () => {
    const page = await open(browser, server, '/t/done//?view=diff');
    await page.locator('.changes').waitFor();
    await page.locator('section[aria-label="changes"]').getByRole('button', { name: 'JSON' }).click();
    await page.locator('section[aria-label="as JSON"] pre').waitFor();
    assert.match(await page.locator('section[aria-label="as JSON"]').innerText(), /GET \/api\/threads\/done\/checkpoints\/[\s\S]*"changes"/);
    await close(page);
  });

  test('two threads stand beside each other, up to their first difference', async () => {
    const page = await open(browser, server, '/compare/done/forked');
    await page.locator('.pairs').waitFor();
    assert.match(await page.locator('main').innerText(), /Their ways part at step \d/);
    await page.goto(`${server.origin}/#/compare/asks/${encodeURIComponent('name/with slash?&#%')}`);
    await page.getByText('Both took the same way.').waitFor();
    await page.getByRole('button', { name: 'First different values' }).click();
    await page.getByText(/Values differ first at step 0: .*customer/).waitFor();
    await page.locator('.pairs a', { hasText: 'diff' }).first().click();
    await page.locator('section[aria-label="difference"]').waitFor();
    await close(page);
  });

  test('what is hostile or redacted is text', async () => {
    const page = await open(browser, server);
    await page.locator(`tr[data-thread]`, { hasText: 'alert(1)' }).getByRole('link').click();
    await page.locator('.graph .node.asks').waitFor();
    const text = await page.locator('body').innerText();
    assert.ok(text.includes(`${hostile}⟨202e⟩evil⟨0001⟩`), 'marks of direction and control characters are visible');
    assert.ok(!text.includes('4111') && !text.includes('sk-secret'), 'nothing redacted is shown');
    assert.ok(text.includes('•••'));
    assert.equal(await page.locator('script').count(), 1);
    assert.equal(await page.getByRole('button', { name: 'Export' }).count(), 0);
    await page.goto(`${server.origin}/#/t/${encodeURIComponent('name/with slash?&#%')}//`);
    await page.getByRole('heading', { name: 'name/with slash?&#%' }).waitFor();
    await close(page);
  });

  test('a link shows the same view again, also in a tab that has the key from before', async () => {
    const page = await open(browser, server, '/t/forked//?view=diff');
    await page.locator('.row[data-step="2"]').click();
    await page.locator('.changes').waitFor();
    const [address, shown] = [page.url(), await page.locator('#view').innerText()];
    await page.reload();
    await page.locator('.changes').waitFor();
    assert.equal(page.url(), address);
    assert.equal(await page.locator('#view').innerText(), shown);
    assert.equal(await page.locator('.row.selected').getAttribute('data-step'), '2');
    const other = await browser.newPage();
    await other.goto(address);
    await other.getByText('Open the address that the program has printed').waitFor();
    await other.close();
    await close(page);
  });

  test('everything is reached by keyboard alone', async () => {
    const page = await open(browser, server);
    await page.waitForSelector('table.threads');
    await page.keyboard.press('/');
    await page.keyboard.type('forked');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelectorAll('tr[data-thread]').length === 1);
    for (let i = 0; i < 12 && !(await page.evaluate(() => document.activeElement?.matches('a.name'))); i += 1) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await rowsOf(page).first().waitFor();
    const selected = () => page.locator('.row.selected').getAttribute('data-step');
    await page.waitForFunction(() => document.querySelector('.row.selected'));
    await page.keyboard.press('j');
    await page.waitForFunction(() => document.querySelector('.row.selected')?.dataset.step === '5');
    await page.keyboard.press('k');
    await page.waitForFunction(() => document.querySelector('.row.selected')?.dataset.step === '6');
    await page.keyboard.press('[');
    await page.waitForFunction(() => document.querySelector('.row.selected')?.dataset.source === 'fork');
    assert.equal(await selected(), '4');
    for (const [pressed, tab] of [['d', 'Diff'], ['w', 'Why'], ['b', 'Blame'], ['z', 'Sizes'], ['s', 'State']]) {
      await page.keyboard.press(pressed);
      await page.locator(`[role="tab"][aria-selected="true"]`, { hasText: tab }).waitFor();
    }
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('n');
    await page.waitForFunction(() => location.hash === '#/t/forked//?view=state');
    // The question of another thread, answered without a mouse.
    await page.keyboard.press('q');
    await page.locator('.inbox').waitFor();
    await page.keyboard.press('t');
    await page.waitForSelector('table.threads');
    await close(page);
  });

  test('axe finds nothing in any view', async () => {
    const { default: axe } = await import('axe-core');
    for (const hash of ['/', '/t/asks//', '/t/failed//?view=why', '/t/forked//?view=diff', '/t/done//?view=blame&channel=total', '/t/done//?view=sizes', '/questions', '/store', '/compare/done/forked']) {
      const page = await open(browser, server, hash);
      await page.waitForSelector('main');
      await page.waitForTimeout(700);
      for (const scheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme: scheme });
        // The page's policy allows no script of others: axe is evaluated from outside of it.
        await page.evaluate(axe.source);
        const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
        assert.deepEqual(found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html).join(' | ')}`), [], `${hash} ${scheme}`);
      }
      await close(page);
    }
  });
});

describe('a program that lets the page write', () => {
  let browser, server;
  before(async () => {
    browser = await launch();
    server = await Server.start();
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('a question is answered in the inbox, and the thread runs to its end', async () => {
    const page = await open(browser, server, '/questions');
    const question = page.locator('.inbox li', { hasText: 'Pay 3 for Grace?' });
    await question.getByLabel('Answer').fill('yes');
    await question.getByRole('button', { name: 'Answer and run' }).click();
    await page.waitForFunction(() => !document.body.innerText.includes('Pay 3 for Grace?'));
    await page.goto(`${server.origin}/#/t/asks//?view=diff`);
    await page.locator('.changes', { hasText: 'paid' }).waitFor();
    await close(page);
  });

  test('an answer that is stored alone waits for the program', async () => {
    const page = await open(browser, server, `/t/${encodeURIComponent(hostile)}//`);
    await page.getByLabel('Answer').fill('no');
    await page.getByRole('button', { name: 'Store the answer' }).click();
    await page.getByText('stored; the program takes it').or(page.getByText('(answered)')).first().waitFor();
    await page.locator('.tasks li', { hasText: '(answered)' }).waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Nothing is due.').waitFor();
    await page.keyboard.press('d');
    await page.locator('.changes', { hasText: 'cancelled' }).waitFor();
    await close(page);
  });

  test('a failed thread is edited, and continues', async () => {
    const page = await open(browser, server, '/t/failed//');
    await page.locator('.row[data-step="-1"]').click();
    await page.getByRole('heading', { name: /Step -1/ }).waitFor();
    await page.getByRole('button', { name: 'Fork…' }).click();
    await page.getByLabel('Note').fill('stock is back');
    await page.getByRole('button', { name: 'Fork here' }).click();
    await page.locator('.checkpoint .tag', { hasText: 'stock is back' }).waitFor();
    await page.getByRole('button', { name: 'Edit…' }).click();
    await page.getByLabel('Channels, as JSON').fill('{"items": ["tea"]}');
    await page.getByLabel('as node').fill('__input__');
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.locator('.row[data-source="update"], .row[data-source="input"]').first().waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.graph .node.asks[data-node="approve"]').waitFor();
    await close(page);
  });

  test('a thread is replayed from a step, one superstep at a time', async () => {
    const page = await open(browser, server, '/t/done//');
    await page.locator('.row[data-step="0"]').click();
    await page.getByRole('heading', { name: /Step 0/ }).waitFor();
    await page.getByRole('button', { name: 'One superstep' }).click();
    await page.locator('.row[data-source="fork"]').waitFor();
    await page.waitForFunction(() => document.querySelector('.row.selected')?.dataset.step === '2');
    await page.getByRole('button', { name: 'One superstep' }).click();
    await page.waitForFunction(() => document.querySelector('.row.selected')?.dataset.step === '3');
    await close(page);
  });

  test('what a run stores appears by itself', async () => {
    const page = await open(browser, server, '/t/new//');
    await page.getByText('has no such checkpoint').waitFor();
    await server.api('threads/new/run', { input: { customer: 'Live', items: ['tea'] } });
    await page.locator('.graph .node.asks[data-node="approve"]').waitFor();
    const before = await rowsOf(page).count();
    await server.api('threads/new/run', { answers: [{ key: 'approve', value: 'yes' }] });
    await page.waitForFunction((count) => document.querySelectorAll('.timeline .row').length > count, before);
    await page.getByText('Nothing is due.').waitFor();
    await page.keyboard.press('d');
    await page.locator('.changes', { hasText: 'paid' }).waitFor();
    await close(page);
  });

  test('a server that is killed is missed, and followed again when it is back', async () => {
    const page = await open(browser, server, '/t/asks//');
    await rowsOf(page).first().waitFor();
    await server.kill();
    await page.getByText('The server is gone').waitFor();
    await server.begin();
    await page.getByText('The server is gone').waitFor({ state: 'detached' });
    await server.api('threads/asks/run', { input: { items: ['tea'] } });
    await page.locator('.graph .node.asks[data-node="approve"]').waitFor();
    await close(page);
  });
});

describe('a store that is only read', () => {
  let browser, server;
  before(async () => {
    browser = await launch();
    server = await Server.start({ readOnly: true, make: [['make'], ['long', 'long', '100000'], ['large', 'large', '50000000']] });
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('nothing that cannot work is offered', async () => {
    const page = await open(browser, server, '/t/asks//');
    await page.locator('.graph .node.asks').waitFor();
    for (const name of ['Resume', 'One superstep', 'Edit…', 'Fork…', 'Answer and run', 'Store the answer']) assert.equal(await page.getByRole('button', { name }).count(), 0, name);
    await page.getByText('read-only').waitFor();
    await close(page);
  });

  test('100,000 checkpoints are scrolled without long tasks', async (t) => {
    const page = await open(browser, server, '/');
    await page.waitForSelector('table.threads');
    await page.evaluate(() => {
      globalThis.longTasks = [];
      new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask' });
      globalThis.began = performance.now();
      location.hash = '#/t/long//';
    });
    await rowsOf(page).first().waitFor();
    const first = await page.evaluate(() => performance.now() - globalThis.began);
    const timeline = page.locator('.timeline');
    let top = 0;
    for (let i = 0; i < 400; i += 1) {
      top = await timeline.evaluate((element) => (element.scrollTop += 2000));
      if (i % 20 === 19) await page.waitForTimeout(30);
    }
    const rows = await rowsOf(page).count();
    const long = await page.evaluate(() => globalThis.longTasks);
    t.diagnostic(`first view ${first.toFixed(0)} ms; ${Math.round(top / 30)} rows scrolled; ${long.length} tasks over 50 ms, the longest ${Math.max(0, ...long).toFixed(0)} ms`);
    assert.ok(top > 30 * 5000, `it has scrolled to ${top}`);
    assert.ok(rows < 150, `${rows} rows are in the document`);
    await close(page);
  });

  test('a state of 50 MB opens in pages', async (t) => {
    const page = await open(browser, server, '/t/large//');
    await page.locator('.tree .key', { hasText: 'messages' }).waitFor();
    const began = Date.now();
    await page.getByRole('button', { name: 'open messages' }).click();
    await page.getByRole('button', { name: /^99\d{3} more/ }).click();
    await page.getByRole('button', { name: /^998\d{2} more/ }).waitFor();
    t.diagnostic(`two pages of 100 of 100,000 messages in ${Date.now() - began} ms`);
    assert.equal(await page.locator('.tree ul > li').count(), 201);
    await close(page);
  });
});

describe('the command, beside a program that writes', () => {
  let browser, server, command, origin;
  before(async () => {
    browser = await launch();
    server = await Server.start();
    command = spawn(join(dirname(program), 'stategraph'), ['serve', '--store', server.store, '--key', key], { stdio: ['ignore', 'pipe', 'inherit'] });
    const url = await new Promise((resolve) => command.stdout.once('data', (data) => resolve(String(data).trim())));
    origin = url.split('/#')[0];
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('it shows what the program stores while it runs, and after it was killed', async () => {
    const page = await open(browser, { origin, url: `${origin}/#k=${key}` }, '/t/live//');
    await page.getByText('has no such checkpoint').waitFor();
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

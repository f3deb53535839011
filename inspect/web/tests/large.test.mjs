import assert from 'node:assert/strict';
import { loadavg } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { close, eventually, launch, open, processorTime, rowsOf, Server } from './support.mjs';

const row_height = 44;

// Long threads and large states, from a store that is only read. Times are printed and not asserted.

describe('a store that is only read', () => {
  let browser, server;
  before(async () => {
    browser = await launch();
    server = await Server.start({ readOnly: true, make: [['make'], ['long', 'long', '100000']] });
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('nothing that cannot work is offered', async () => {
    const page = await open(browser, server, '/t/asks//');
    await page.locator('.graph .node.asks').waitFor();
    for (const name of ['Resume', 'One superstep', 'Edit…', 'Fork…', 'Answer and run', 'Store the answer', 'Copy, prune, delete…']) assert.equal(await page.getByRole('button', { name }).count(), 0, name);
    await page.getByText('read-only').waitFor();
    await page.keyboard.press('m');
    await page.keyboard.press('w');
    await page.locator('.causes dd').first().waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0, 'its key opens nothing');
    await close(page);
  });

  test('100,000 checkpoints are scrolled with the elements of one screen', async (t) => {
    const page = await open(browser, server, '/');
    await page.waitForSelector('table.threads');
    const served = processorTime(server.process.pid);
    await browser.startTracing(page, { categories: ['toplevel'] });
    const first = await page.evaluate(() => {
      globalThis.longTasks = [];
      new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask' });
      const began = performance.now();
      location.hash = '#/t/long//';
      return new Promise((resolve) => {
        const look = () => requestAnimationFrame(() => (document.querySelector('.timeline .row') ? setTimeout(() => resolve(performance.now() - began)) : look()));
        look();
      });
    });
    const opened = tasksOf(await browser.stopTracing());
    const answered = processorTime(server.process.pid) - served;
    const opening = await page.evaluate(() => globalThis.longTasks.splice(0));
    await page.evaluate(() => {
      globalThis.added = 0;
      new MutationObserver((list) => (globalThis.added += list.reduce((sum, each) => sum + each.addedNodes.length, 0))).observe(document.querySelector('.timeline'), { childList: true, subtree: true });
    });
    const rows = await page.locator('.timeline .row').count();
    const timeline = page.locator('.timeline');
    await browser.startTracing(page, { categories: ['toplevel'] });
    let top = 0;
    for (let i = 0; i < 400; i += 1) {
      top = await timeline.evaluate((element) => (element.scrollTop += 2000));
      if (i % 20 === 19) await page.waitForTimeout(30);
    }
    const scrolled = tasksOf(await browser.stopTracing());
    const { added, longTasks } = await page.evaluate(() => ({ added: globalThis.added, longTasks: globalThis.longTasks }));
    const longest = (walls, processor) => `${walls.length} tasks over 50 ms, the longest ${Math.max(0, ...walls).toFixed(0)} ms, by processor time ${Math.max(0, ...processor).toFixed(1)} ms`;
    const sum = opened.reduce((total, each) => total + each, 0);
    t.diagnostic(`first view ${first.toFixed(0)} ms, of which ${sum.toFixed(0)} ms processor time of the page's thread and ${answered.toFixed(0)} ms of the server; ${longest(opening, opened)}`);
    t.diagnostic(`${Math.round(top / row_height)} rows scrolled; ${longest(longTasks, scrolled)}; load ${loadavg()[0].toFixed(1)}`);
    assert.ok(top > row_height * 5000, `it has scrolled to ${top}`);
    assert.ok(rows < 60, `${rows} rows are in the document`);
    await eventually(async () => assert.equal(await page.locator('.timeline .row').count(), rows));
    assert.equal(added, 0, 'scrolling makes no elements');
    // What is on the screen is what belongs there.
    await page.waitForFunction(() => {
      const box = document.querySelector('.timeline').getBoundingClientRect();
      const at = document.elementFromPoint(box.x + 60, box.y + 100).closest('.row');
      return at && Math.abs(at.getBoundingClientRect().y - box.y - 100) < 44;
    });
    const steps = await page.evaluate(() => [...document.querySelectorAll('.timeline .row:not([hidden])')].sort((a, b) => a.getBoundingClientRect().y - b.getBoundingClientRect().y).map((row) => Number(row.dataset.step)));
    assert.ok(steps.every((step, i) => i === 0 || step === steps[i - 1] - 1), `steps ${steps}`);
    await close(page);
  });

  test('a checkpoint is selected by keys, far from the newest', async () => {
    const page = await open(browser, server, '/t/long//');
    await rowsOf(page).first().waitFor();
    await page.locator('.timeline').evaluate((element) => (element.scrollTop = 60 * 44));
    await page.locator('.row[data-step="99930"]').click();
    await page.waitForFunction(() => document.querySelector('.row.selected')?.dataset.step === '99930');
    for (let i = 0; i < 12; i += 1) await page.keyboard.press('j');
    await page.waitForFunction(() => document.querySelector('.row.selected')?.dataset.step === '99918');
    await page.getByRole('heading', { name: 'Step 99918' }).waitFor();
    await close(page);
  });

  test('a link to an old checkpoint is shown where it is', async () => {
    const wanted = (await server.api('threads/long/timeline?limit=2000')).checkpoints.at(-1);
    const page = await open(browser, server, `/t/long//${wanted.checkpoint_id}`);
    await page.locator('.row.selected').waitFor();
    await eventually(async () => assert.equal(await page.locator('.row.selected').getAttribute('data-step'), String(wanted.step)));
    const [row, box] = [await page.locator('.row.selected').boundingBox(), await page.locator('.timeline').boundingBox()];
    assert.ok(row.y >= box.y && row.y + row.height <= box.y + box.height + 1, 'it is on the screen');
    await close(page);
  });

  // In a store of its own: RocksDB unpacks the whole row for each search that comes near it.
  test('a state of 50 MB opens in pages', async (t) => {
    const other = await Server.start({ readOnly: true, make: [['large', 'large', '50000000']] });
    t.after(() => other.stop());
    const page = await open(browser, other, '/t/large//');
    await page.locator('.tree .key', { hasText: 'messages' }).waitFor();
    const began = Date.now();
    await page.getByRole('button', { name: 'open messages' }).click();
    await page.getByRole('button', { name: /^99\d{3} more/ }).click();
    await page.getByRole('button', { name: /^998\d{2} more/ }).waitFor();
    t.diagnostic(`two pages of 100 of 100,000 messages in ${Date.now() - began} ms`);
    await eventually(async () => assert.equal(await page.locator('.tree ul > li').count(), 201));
    await close(page);
  });
});

// The tasks of the page's thread, in ms of processor time: that does not grow with what else the machine does.
function tasksOf(trace) {
  const events = JSON.parse(trace.toString()).traceEvents;
  const mains = new Set(events.filter((each) => each.name === 'thread_name' && each.args.name === 'CrRendererMain').map((each) => `${each.pid} ${each.tid}`));
  return events.filter((each) => mains.has(`${each.pid} ${each.tid}`) && /RunTask$/.test(each.name)).map((each) => (each.tdur ?? 0) / 1000);
}

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { close, drawn, eventually, hold, launch, open, rowsOf, Server, visit } from './support.mjs';

// Supersteps as rows, filters, the first step at which a condition holds, the chart of a run, and windows of any width.

describe('supersteps of threads of which nothing is hidden', () => {
  let browser, server;
  const long_name = 'an order with a very long name '.repeat(7).slice(0, 119);
  before(async () => {
    browser = await launch();
    server = await Server.start({ flags: ['--open'] });
    await server.api('threads/forked/copy', { to: long_name });
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });
  const cell = (page, step, name) => page.locator(`.row[data-step="${step}"] .${name}`).innerText();

  test('a row says what ran, how long each task took and what it wrote, and apart from that what is due', async () => {
    const page = await open(browser, server, '/t/done//');
    await rowsOf(page).first().waitFor();
    await eventually(async () => assert.match(await cell(page, 2, 'ran'), /^price #0 [\d.]+ (µs|ms), price #1 [\d.]+ (µs|ms)$/));
    assert.equal(await cell(page, 2, 'due'), 'review');
    assert.equal(await cell(page, 2, 'wrote'), 'messages, total');
    assert.match(await cell(page, 2, 'took'), /^[\d.]+ (µs|ms)$/);
    assert.equal(await cell(page, -1, 'ran'), 'input');
    const newest = rowsOf(page).and(page.locator('.selected'));
    assert.equal(await newest.locator('.ran').innerText(), 'pay');
    assert.equal(await newest.locator('.due').innerText(), 'nothing');
    assert.match(await page.locator('.row[data-step="2"]').getAttribute('aria-label'), /^step 2; ran price #0 .*; took .*; wrote messages, total; due next: review$/);
    await page.locator('.row[data-step="2"]').click();
    await drawn(page);
    await page.locator('tr[data-ran="price #1"]').waitFor();
    await eventually(async () => assert.match(await page.locator('tr[data-ran="price #1"]').innerText(), /(µs|ms)\s+messages [\d.]+ B, total [\d.]+ B/));
    await page.locator('.graph .node.ran[data-node="price"]').waitFor();
    await page.locator('.graph .node.done[data-node="review"]').waitFor();
    await visit(page, server, '/t/failed//');
    await eventually(async () => assert.match(await page.locator('.row.failed .due').innerText(), /! price #1, ✓ price #0/));
    await close(page);
  });

  test('supersteps are selected by node, status and text, and a link keeps the selection', async () => {
    const page = await open(browser, server, '/t/forked//');
    await rowsOf(page).first().waitFor();
    const all = await rowsOf(page).count();
    await page.keyboard.press('f');
    await page.getByLabel('Node').fill('price');
    await page.keyboard.press('Enter');
    await eventually(async () => assert.equal(await rowsOf(page).count(), 1));
    await page.getByText('1 found').waitFor();
    assert.match(page.url(), /node=price/);
    await page.reload();
    await drawn(page);
    await eventually(async () => assert.equal(await rowsOf(page).count(), 1));
    await page.getByRole('button', { name: 'Show all' }).click();
    await eventually(async () => assert.equal(await rowsOf(page).count(), all));
    await page.getByLabel('Status').selectOption('fork');
    await eventually(async () => assert.equal(await rowsOf(page).getAttribute('data-source'), 'fork'));
    await page.getByLabel('Status').selectOption('failed');
    await page.getByText('No superstep is like this.').waitFor();
    await close(page);
  });

  test('a filter looks on where parts of the log have nothing, and asks before it reads the whole log', async () => {
    const page = await open(browser, server, '/t/forked//');
    await rowsOf(page).first().waitFor();
    const rows = (await server.api('threads/forked/timeline?limit=2')).checkpoints;
    const found = { 7: rows[0], 14: rows[1] };
    const asked = [];
    await page.route('**/timeline?*node=*', async (route) => {
      asked.push(new URL(route.request().url()).searchParams.get('before'));
      await route.fulfill({ json: { checkpoints: [found[asked.length]].filter(Boolean), next: asked.length < 14 ? `before${asked.length}` : null } });
    });
    await page.keyboard.press('f');
    await page.getByLabel('Node').fill('price');
    await page.keyboard.press('Enter');
    const more = page.getByRole('button', { name: 'Continue' });
    await more.waitFor();
    await page.getByText('0 or more found').waitFor();
    assert.equal(await page.getByText('No superstep is like this.').count(), 0);
    assert.deepEqual(asked.slice(0, 3), [null, 'before1', 'before2']);
    await eventually(async () => {
      if (await more.count()) await more.click();
      assert.equal(await page.locator('.find').getByText('2 found').count(), 1);
    });
    assert.equal(await rowsOf(page).count(), 2);
    assert.equal(await more.count(), 0);
    await page.unrouteAll();
    await close(page);
  });

  test('a filter on a thread that grows is read once at a time, and what it shows grows too', async () => {
    await server.api('threads/done/copy', { to: 'grows' });
    const page = await open(browser, server, '/t/grows//');
    await rowsOf(page).first().waitFor();
    let asked = 0;
    page.on('request', (request) => (asked += /timeline\?.*status=input/.test(request.url())));
    const release = await hold(page, '**/timeline?*status=input*');
    await page.keyboard.press('f');
    await page.getByLabel('Status').selectOption('input');
    for (let i = 0; i < 3; i += 1) {
      const { checkpoint_id: id } = await server.api('threads/grows/checkpoints/newest/edit', { values: { customer: `customer ${i}` }, as_node: '__input__' });
      await page.locator(`.right[data-checkpoint="${id}"]`).waitFor();
    }
    assert.equal(asked, 1);
    await release();
    await eventually(async () => assert.equal(await rowsOf(page).count(), 4));
    await close(page);
  });

  test('what ran is shown of a superstep that the filter does not select', async () => {
    const { checkpoints } = await server.api('threads/done/timeline');
    const page = await open(browser, server, `/t/done//${checkpoints.find((each) => each.step === 2).checkpoint_id}?status=input`);
    await page.locator('tr[data-ran="price #1"]').waitFor();
    await page.locator('.graph .node.ran[data-node="price"]').waitFor();
    await eventually(async () => assert.equal(await rowsOf(page).getAttribute('data-source'), 'input'));
    assert.equal(await page.locator('.row.selected').count(), 0);
    await close(page);
  });

  test('the first step at which a condition holds is gone to; a wrong condition is answered with its place', async () => {
    const page = await open(browser, server, '/t/done//');
    await rowsOf(page).first().waitFor();
    await page.keyboard.press('f');
    await page.getByLabel('First step where').fill('total > 5');
    await page.keyboard.press('Enter');
    await page.getByText(/step 2, price, price ran/).waitFor();
    await page.locator('.row.selected[data-step="2"]').waitFor();
    await page.getByRole('link', { name: 'what it changed' }).click();
    await page.locator('.changes li[data-channel="total"]').waitFor();
    await page.getByLabel('First step where').fill('total > 5000');
    await page.keyboard.press('Enter');
    await page.getByText(/at none of \d+ checkpoints/).waitFor();
    await page.getByLabel('First step where').fill('total >');
    await page.keyboard.press('Enter');
    await page.locator('.first .problem', { hasText: 'was expected at character 8' }).waitFor();
    await close(page);
  });

  test('a search that reads more than a request may is continued', async () => {
    const page = await open(browser, server, '/t/done//');
    await rowsOf(page).first().waitFor();
    const newest = (await server.api('threads/done/head')).checkpoint_id;
    const asked = [];
    const branches = new Set();
    await page.route('**/first?*', async (route) => {
      branches.add(new URL(route.request().url()).pathname.split('/').at(-2));
      asked.push(new URL(route.request().url()).searchParams.get('from'));
      const found = asked.length > 21 ? { checkpoint_id: 'x', step: 7, ran: [] } : null;
      await route.fulfill({ json: { found: null, looked_at: 1000, is_cut: true, more: found ? null : `id${asked.length}` } });
    });
    await page.keyboard.press('f');
    await page.getByLabel('First step where').fill('total > 5');
    await page.keyboard.press('Enter');
    await page.getByText('at none of the oldest 20000').waitFor();
    assert.deepEqual(asked.slice(0, 3), [null, 'id1', 'id2']);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('at none of 22000 checkpoints; older ones were not looked at').waitFor();
    assert.deepEqual([...branches], [newest], 'each part is of the branch that was the newest when it began');
    await page.unrouteAll();
    await close(page);
  });

  test('the chart of a run has its tasks, those of its subgraphs, and what is not finished', async () => {
    const page = await open(browser, server, '/t/nested//?view=chart');
    await page.locator('.chart tbody tr').first().waitFor();
    const names = () => page.locator('.chart tbody th').allInnerTexts();
    await eventually(async () => assert.deepEqual((await names()).map((name) => name.split(/\s/)[0]).filter((name) => /receive|ship|pick|pack/.test(name)), ['receive', 'ship', 'pick', 'pack']));
    await eventually(async () => assert.match(await page.locator('.chart tr.asks').last().innerText(), /pack\s+\? asks/));
    const bars = page.locator('.chart .bar rect');
    assert.equal(await bars.count(), (await names()).length);
    await page.locator('.chart').getByRole('link', { name: 'pick' }).click();
    await page.getByText('namespace ship:').waitFor();
    await drawn(page);
    await close(page);
  });

  test('the error of a bar, and of a task that ran again, is read by keyboard', async () => {
    const chart = await server.api('threads/failed/checkpoints/newest/chart');
    const page = await open(browser, server, '/t/failed//?view=chart');
    const cause = page.locator('.chart tr.failed .cause');
    await cause.locator('summary').focus();
    await page.keyboard.press('Enter');
    await cause.getByText(chart.bars.find((bar) => bar.state === 'failed').error).waitFor();
    assert.deepEqual(await page.locator('.chart thead th').allInnerTexts().then((names) => names.length), 4);
    await page.route('**/timeline?*', async (route) => {
      const answer = await (await route.fetch()).json();
      for (const row of answer.checkpoints) for (const task of row.ran) task.error = 'the first attempt failed';
      await route.fulfill({ json: answer });
    });
    await visit(page, server, '/t/done//');
    const before = page.locator('.ran-tasks tr[data-ran="pay"] .cause');
    await before.getByText('! failed before').click();
    await before.getByText('the first attempt failed').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await close(page);
  });

  test('an unknown page and an unknown thread say so', async () => {
    const page = await open(browser, server, '/nonsense');
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await visit(page, server, '/t/nobody//');
    await page.getByText("there is no thread 'nobody'").waitFor();
    await page.getByRole('link', { name: 'All threads' }).click();
    await page.waitForSelector('table.threads');
    await close(page);
  });

  test('no window is too narrow, and a name as long as one may be breaks nothing', async () => {
    const views = ['/', `/t/${encodeURIComponent(long_name)}//`, `/t/${encodeURIComponent(long_name)}//?view=chart`, '/t/nested//?open=ship', '/t/failed//?view=why', '/store', '/questions', `/compare/done/${encodeURIComponent(long_name)}`];
    for (const width of [360, 1024, 1920]) {
      const page = await open(browser, server);
      await page.setViewportSize({ width, height: 800 });
      for (const hash of views) {
        await visit(page, server, hash);
        const widest = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(widest <= width, `${hash.slice(0, 30)} is ${widest} wide in ${width}`);
      }
      await close(page);
    }
  });
});

test('where values are hidden no condition is asked for', async () => {
  const browser = await launch();
  const server = await Server.start();
  try {
    const page = await open(browser, server, '/t/done//');
    await rowsOf(page).first().waitFor();
    await page.keyboard.press('f');
    await page.getByLabel('Node').waitFor();
    assert.equal(await page.getByLabel('First step where').count(), 0);
    await close(page);
  } finally {
    await browser.close();
    await server.stop();
  }
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { close, drawn, eventually, hold, hostile, launch, open, rowsOf, Server, task, visit } from './support.mjs';

// What the page shows, in a browser, over the threads that tests/pages/inspected_store.cpp makes.

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
    await eventually(async () => assert.equal(await page.locator('tr[data-thread]').count(), 8));
    await eventually(async () => assert.equal(await page.locator('tr[data-thread]').last().getAttribute('data-thread'), 'done'));
    await page.getByRole('button', { name: /failed/ }).click();
    await page.waitForFunction(() => document.querySelectorAll('tr[data-thread]').length === 1);
    await eventually(async () => assert.match(await page.locator('tr[data-thread="failed"]').innerText(), /no stock of unicorn/));
    await page.getByRole('button', { name: 'all' }).click();
    await page.getByLabel('Search').fill('Grace');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.querySelectorAll('tr[data-thread]').length === 1);
    await eventually(async () => assert.equal(await page.locator('tr[data-thread]').getAttribute('data-thread'), 'asks'));
    assert.ok(!page.url().includes('k='), 'the key is not in the address');
    await close(page);
  });

  test('threads are found by their metadata, of which nothing redacted is shown', async () => {
    const page = await open(browser, server);
    await page.getByRole('button', { name: 'shop=Paris' }).click();
    await page.waitForFunction(() => document.querySelectorAll('tr[data-thread]').length === 1);
    await eventually(async () => assert.match(await page.locator('tr[data-thread="asks"]').innerText(), /api_token=•••/));
    await page.getByLabel('Metadata').fill('shop=Vienna');
    await page.keyboard.press('Enter');
    await page.locator('tr[data-thread="nested"]').waitFor();
    await eventually(async () => assert.equal(await page.locator('tr[data-thread]').count(), 1));
    await eventually(async () => assert.match(page.url(), /metadata=shop%3DVienna/));
    await page.getByLabel('Metadata').fill('api_token=sk-secret-metadata');
    await page.keyboard.press('Enter');
    await page.getByText('There are no such threads.').waitFor();
    await page.getByLabel('Metadata').fill('shop');
    await page.keyboard.press('Enter');
    await page.getByText('an entry of metadata is NAME=VALUE').waitFor();
    await close(page);
  });

  test('a graph inside the graph opens in place, with what is due in it, and its log by a link', async () => {
    const page = await open(browser, server, '/t/nested//');
    await page.getByRole('button', { name: 'the graph inside ship' }).click();
    await page.locator('.node.asks[data-at="ship/pack"]').waitFor();
    await eventually(async () => assert.match(page.url(), /open=ship/));
    const [outer, inner] = await Promise.all(['ship', 'ship/pack'].map((at) => page.locator(`.node[data-at="${at}"] > rect`).boundingBox()));
    assert.ok(inner.x > outer.x && inner.y > outer.y && inner.x + inner.width < outer.x + outer.width && inner.y + inner.height < outer.y + outer.height, 'it is drawn inside');
    await page.reload();
    await page.locator('.node.asks[data-at="ship/pack"]').waitFor();
    await page.keyboard.press('o');
    await page.locator('.node[data-at="ship/pack"]').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'the graph inside ship' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('.node[data-at="ship/pack"]').waitFor();
    await page.getByRole('link', { name: 'subgraph' }).click();
    await page.getByText('namespace ship:').waitFor();
    await page.locator('.graph .node.asks[data-node="pack"]').waitFor();
    await close(page);
  });

  test('time in which nothing happened is a word', async () => {
    const page = await open(browser, server);
    await page.route('**/api/threads/done/timeline*', async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      for (const row of answer.checkpoints.slice(2)) row.created_at = new Date(Date.parse(row.created_at) - 3 * 3600_000).toISOString();
      await route.fulfill({ response, json: answer });
    });
    await page.evaluate(() => (location.hash = '#/t/done//'));
    await page.locator('.row .idle', { hasText: '3 h idle' }).waitFor();
    await eventually(async () => assert.equal(await page.locator('.row .idle:not(:empty)').count(), 1));
    await page.unrouteAll({ behavior: 'ignoreErrors' }); // the page may just be reading it again
    await close(page);
  });

  test('a timeline draws its forks, and a step is shown with its state', async () => {
    const page = await open(browser, server, '/t/forked//');
    await rowsOf(page).first().waitFor();
    await eventually(async () => assert.equal(await rowsOf(page).count(), 10));
    await eventually(async () => assert.equal(await page.locator('.row[data-source="fork"]').count(), 1));
    await eventually(async () => assert.equal(await page.locator('.row[data-source="input"]').count(), 1));
    await page.locator('.row[data-step="1"]').click();
    await page.getByRole('heading', { name: /Step 1/ }).waitFor();
    await drawn(page);
    await eventually(async () => assert.match(page.url(), /#\/t\/forked\/\/[0-9a-f-]{36}$/));
    await page.locator('.tree .key', { hasText: 'customer' }).waitFor();
    await eventually(async () => assert.match(await page.locator('.tree').innerText(), /Edsger/));
    await close(page);
  });

  test('the graph is drawn with what asks, failed and is done', async () => {
    let page = await open(browser, server, '/t/asks//');
    await page.locator('.graph .node.asks[data-node="approve"]').waitFor();
    await eventually(async () => assert.equal(await page.locator('.graph .node').count(), 8));
    await eventually(async () => assert.equal(await page.locator('.graph .line.lit').count(), 1));
    await eventually(async () => assert.match(await page.locator('.graph svg').getAttribute('aria-label'), /approve asks/));
    await close(page);
    page = await open(browser, server, '/t/failed//');
    await page.locator('.graph .node.failed[data-node="price"]').waitFor();
    await eventually(async () => assert.match(await task(page, 'price').last().innerText(), /no stock of unicorn/));
    await eventually(async () => assert.match(await task(page, 'price').first().innerText(), /tea costs 3/));
    await close(page);
  });

  test('diff with the parent, with any other checkpoint, and with another thread', async () => {
    const page = await open(browser, server, '/t/done//');
    await rowsOf(page).first().waitFor();
    await page.keyboard.press('d');
    await page.locator('.changes li[data-channel="messages"] .added').waitFor();
    await eventually(async () => assert.match(await page.locator('.changes').innerText(), /paid/));
    await page.getByLabel('Compare with').fill('0');
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.locator('.changes li[data-channel="total"]').waitFor();
    await eventually(async () => assert.match(await page.locator('.changes li[data-channel="total"]').innerText(), /0[\s\S]*7/));
    const head = await server.api('threads/asks/head');
    await page.getByLabel('Compare with').fill(`asks@${head.checkpoint_id}`);
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.locator('.changes li[data-channel="customer"]').waitFor();
    await eventually(async () => assert.match(await page.locator('.changes li[data-channel="customer"]').innerText(), /Grace[\s\S]*Ada/));
    await close(page);
  });

  test('why a task is due, and who wrote a value', async () => {
    const page = await open(browser, server, '/t/failed//?view=why');
    await page.locator('.causes dd').first().waitFor();
    await eventually(async () => assert.deepEqual(await page.locator('.causes dd').allInnerTexts(), ['Send 0 of gather', 'Send 1 of gather']));
    await visit(page, server, '/t/done//');
    await page.getByRole('button', { name: 'who wrote total' }).click();
    await page.locator('section[aria-label="blame"] tbody tr').first().waitFor();
    await eventually(async () => assert.match(await page.locator('section[aria-label="blame"] tbody').innerText(), /price #0/));
    await close(page);
  });

  test('bytes by channel and durations are shown, of a thread and of the store', async () => {
    const page = await open(browser, server, '/t/done//?view=sizes');
    await page.getByText('bytes by channel').waitFor();
    await eventually(async () => assert.match(await page.locator('.bars').first().innerText(), /messages/));
    await eventually(async () => assert.equal(await page.locator('.curve').count(), 2));
    const times = page.locator('.bars', { hasText: 'time of tasks by node' });
    await eventually(async () => assert.match(await times.innerText(), /gather\s+[\d.]+ (µs|ms)/));
    await eventually(async () => assert.match(await times.innerText(), /price\s+[\d.]+ (µs|ms)/));
    await eventually(async () => assert.match(await rowsOf(page).first().innerText(), /µs|ms/));
    await page.getByRole('link', { name: 'Store' }).click();
    await page.getByText(/8 threads/).waitFor();
    await page.getByText('RocksDB compresses. The bytes below are of records, not compressed.').waitFor();
    const { channels } = await server.api('stats?largest=20');
    const named = page.locator('.bars', { hasText: 'bytes by channel' }).locator('th');
    await eventually(async () => assert.deepEqual((await named.allInnerTexts()).sort(), Object.keys(channels).sort()));
    const { largest } = await server.api('stats?largest=20');
    assert.equal(largest.length, 8);
    const shown = page.locator('table.largest tr[data-thread]');
    await eventually(async () => assert.deepEqual(await shown.evaluateAll((rows) => rows.map((row) => row.dataset.thread)), largest.map((each) => each.thread_id)));
    await shown.first().getByRole('link').click();
    await page.waitForURL(/\?view=sizes$/);
    await page.getByRole('heading', { level: 1, name: largest[0].thread_id }).waitFor();
    await close(page);
  });

  test('sizes over the steps are drawn though the timeline comes after the bytes', async () => {
    const page = await open(browser, server);
    const release = await hold(page, '**/api/threads/done/timeline*');
    await page.evaluate(() => (location.hash = '#/t/done//?view=sizes'));
    await page.getByText('bytes by channel').waitFor();
    assert.equal(await page.locator('.curve').count(), 0);
    await release();
    await page.locator('.curve').nth(1).waitFor();
    await close(page);
  });

  test('every view is there as JSON', async () => {
    const page = await open(browser, server, '/t/done//?view=diff');
    await page.locator('.changes').waitFor();
    await page.locator('section[aria-label="changes"]').getByRole('button', { name: 'JSON' }).click();
    await page.locator('section[aria-label="as JSON"] pre').waitFor();
    await eventually(async () => assert.match(await page.locator('section[aria-label="as JSON"]').innerText(), /GET \/api\/threads\/done\/checkpoints\/[\s\S]*"changes"/));
    await close(page);
  });

  test('two threads stand beside each other, up to their first difference', async () => {
    const page = await open(browser, server, '/compare/done/forked');
    await page.locator('.pairs:not(.conversations)').waitFor();
    await eventually(async () => assert.match(await page.locator('main').innerText(), /Their ways part at step \d/));
    await visit(page, server, `/compare/asks/${encodeURIComponent('name/with slash?&#%')}`);
    await page.getByText('Both took the same way.').waitFor();
    await page.getByRole('button', { name: 'First different values' }).click();
    await page.getByText(/Values differ first at step 0: .*customer/).waitFor();
    await page.locator('.pairs:not(.conversations) a', { hasText: 'diff' }).first().click();
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
    await eventually(async () => assert.equal(await page.locator('script').count(), 1));
    await eventually(async () => assert.equal(await page.getByRole('button', { name: 'Export' }).count(), 0));
    await visit(page, server, `/t/${encodeURIComponent('name/with slash?&#%')}//`);
    await page.getByRole('heading', { name: 'name/with slash?&#%' }).waitFor();
    await close(page);
  });

  test('a link shows the same view again, also in a tab that has the key from before', async () => {
    const page = await open(browser, server, '/t/forked//?view=diff');
    await page.locator('.row[data-step="2"]').click();
    await page.locator('.changes', { hasText: 'bread costs 5' }).waitFor(); // and no longer those of the newest one
    await drawn(page);
    const [address, shown] = [page.url(), await page.locator('#view').innerText()];
    await page.reload();
    await page.locator('.changes').waitFor();
    await page.locator('.row.selected[data-step="2"]').waitFor();
    assert.equal(page.url(), address);
    await eventually(async () => assert.equal(await page.locator('#view').innerText(), shown));
    await eventually(async () => assert.equal(await page.locator('.row.selected').getAttribute('data-step'), '2'));
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
    await eventually(async () => assert.equal(await selected(), '4'));
    for (const [pressed, tab] of [['d', 'Diff'], ['w', 'Why'], ['b', 'Blame'], ['c', 'Chart'], ['z', 'Sizes'], ['s', 'State']]) {
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
    for (const hash of ['/', '/t/asks//', '/t/failed//?view=why', '/t/forked//?view=diff', '/t/nested//?open=ship', '/t/done//?view=blame&channel=total', '/t/done//?view=sizes', '/t/nested//?view=chart', '/t/forked//?status=fork', '/t/nobody//', '/nonsense', '/questions', '/store', '/compare/done/forked']) {
      const page = await open(browser, server, hash);
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

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { close, drawn, eventually, launch, open, Server, task, visit } from './support.mjs';

// Breakpoints before and after nodes of the drawn graph, and runs to the next of them.

describe('a program that lets the page run', () => {
  let browser, server;
  before(async () => {
    browser = await launch();
    server = await Server.start();
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  const input = (thread) => server.api(`threads/${thread}/checkpoints/newest/edit`, { values: { customer: thread, items: ['tea', 'milk'] }, as_node: '__input__' });
  const toNext = (page) => page.getByRole('button', { name: 'To the next breakpoint' });
  const due = (page, node) => page.locator(`.graph .node.due[data-node="${node}"]`).waitFor();

  test('a run stops before and after the chosen nodes', async () => {
    await input('stops');
    const page = await open(browser, server, '/t/stops//');
    await page.getByRole('button', { name: 'breakpoint before review' }).click();
    await page.getByRole('button', { name: 'breakpoint after gather' }).click();
    await page.getByText('breakpoints: before review, after gather').waitFor();
    await toNext(page).click();
    await due(page, 'price'); // what gather sends
    await toNext(page).click();
    await due(page, 'review');
    assert.equal((await server.api('threads?text=stops')).threads[0].status, 'breakpoint');
    await toNext(page).click();
    await page.locator('.graph .node.asks[data-node="approve"]').waitFor();
    await close(page);
  });

  test('breakpoints are kept for their thread while the tab is open, hold for answers, and are cleared', async () => {
    await input('kept');
    const page = await open(browser, server, '/t/kept//');
    await page.getByRole('button', { name: 'breakpoint before pay', exact: true }).click();
    await page.getByText('breakpoints: before pay').waitFor();
    await visit(page, server, '/t/done//');
    await page.locator('.graph .node').first().waitFor();
    assert.equal(await page.locator('.breakpoints').count(), 0, 'another thread has none');
    await visit(page, server, '/t/kept//');
    await page.reload();
    await page.getByText('breakpoints: before pay').waitFor();
    await eventually(async () => assert.equal(await page.getByRole('button', { name: 'breakpoint before pay', exact: true }).getAttribute('aria-pressed'), 'true'));
    await toNext(page).click();
    await page.getByLabel('Answer').fill('yes');
    await page.getByRole('button', { name: 'Answer and run to a breakpoint' }).click();
    await due(page, 'pay');
    await page.getByRole('button', { name: 'clear the breakpoints' }).click();
    await toNext(page).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Nothing is due.').waitFor();
    await close(page);
  });

  test('breakpoints are set, used and cleared by keyboard alone', async () => {
    await input('keys');
    const page = await open(browser, server, '/t/keys//');
    await page.locator('.graph .stop').first().waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '');
    const tabTo = async (name) => {
      for (let i = 0; i < 40 && (await focused()) !== name; i += 1) await page.keyboard.press('Tab');
      assert.equal(await focused(), name);
    };
    const stop = await page.locator('.graph .stop[tabindex="0"]').getAttribute('aria-label');
    assert.equal(await page.locator('.graph .stop[tabindex="0"]').count(), 1, 'the graph is one tab stop');
    await tabTo(stop);
    for (let i = 0; i < 12 && (await focused()) !== 'breakpoint before review'; i += 1) await page.keyboard.press('ArrowDown');
    assert.equal(await focused(), 'breakpoint before review');
    await page.keyboard.press('Space');
    await page.getByText('breakpoints: before review').waitFor();
    assert.equal(await focused(), 'breakpoint before review', 'it keeps the focus');
    await page.evaluate(() => document.activeElement.blur());
    await tabTo('To the next breakpoint');
    await page.keyboard.press('Enter');
    await due(page, 'review');
    assert.equal(await task(page, 'review').count(), 1);
    await tabTo('clear the breakpoints');
    await page.keyboard.press('Enter');
    await toNext(page).waitFor({ state: 'detached' });
    await close(page);
  });

  test('axe finds nothing in a graph with breakpoints; a page that cannot run has none', async () => {
    const { default: axe } = await import('axe-core');
    const page = await open(browser, server, '/t/asks//');
    await page.getByRole('button', { name: 'breakpoint before approve' }).click();
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.evaluate(axe.source);
      const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      assert.deepEqual(found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html).join(' | ')}`), [], scheme);
    }
    await page.route('**/api/about', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), write: false, app: false } });
    });
    await page.reload();
    await drawn(page);
    await page.locator('.graph .node.asks').waitFor();
    assert.equal(await page.locator('.stop, .breakpoints').count(), 0);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await close(page);
  });
});

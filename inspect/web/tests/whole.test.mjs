import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { close, drawn, eventually, launch, open, rowsOf, Server, visit } from './support.mjs';

// A whole thread is copied, pruned and deleted.

describe('whole threads', () => {
  let browser, server;
  before(async () => {
    browser = await launch();
    server = await Server.start();
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });
  const manage = (page) => page.getByRole('button', { name: 'Copy, prune, delete…' }).click();
  const names = async () => (await server.api('threads')).threads.map((each) => each.thread_id);
  const countOf = async (thread) => (await server.api(`threads/${thread}/timeline`)).checkpoints.length;

  test('a thread is copied, and the page shows the copy', async () => {
    const page = await open(browser, server, '/t/done//');
    await manage(page);
    await page.getByLabel('Copy to').fill('a copy/2');
    await page.getByRole('button', { name: 'Copy', exact: true }).click();
    await page.waitForURL(/#\/t\/a%20copy%2F2\/\/$/);
    await page.getByRole('heading', { name: 'a copy/2' }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByText('Nothing is due.').waitFor();
    assert.ok((await names()).includes('a copy/2'));
    // Over a thread that exists it is refused, with the reason.
    await manage(page);
    await page.getByLabel('Copy to').fill('done');
    await page.getByRole('button', { name: 'Copy', exact: true }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await close(page);
  });

  test('a prune says what it drops before it drops it', async () => {
    const all = await countOf('done');
    const page = await open(browser, server, '/t/done//');
    await rowsOf(page).last().click();
    await drawn(page);
    await manage(page);
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Keep the newest').fill('3');
    await dialog.getByRole('button', { name: 'Try to prune' }).click();
    await dialog.getByText(`A prune drops ${all - 3} checkpoints and keeps 3`).waitFor();
    assert.equal(await countOf('done'), all, 'it was only tried');
    // Other numbers have to be tried again.
    await dialog.getByLabel('Keep the newest').fill('2');
    assert.equal(await dialog.getByRole('button', { name: /^Drop \d/ }).count(), 0);
    await dialog.getByRole('button', { name: 'Try to prune' }).click();
    await dialog.getByRole('button', { name: `Drop ${all - 2} checkpoints` }).click();
    await dialog.getByText(`dropped ${all - 2} checkpoints; 2 checkpoints remain`).waitFor();
    assert.equal(await countOf('done'), 2);
    await dialog.getByRole('button', { name: 'Close' }).click();
    // The page was at a checkpoint that was dropped.
    await page.waitForURL(/#\/t\/done\/\/$/);
    await eventually(async () => assert.equal(await rowsOf(page).count(), 2));
    await drawn(page);
    await close(page);
  });

  test('a prune of a thread with forks is tried too', async () => {
    const page = await open(browser, server, '/t/forked//');
    const wanted = await server.api('threads/forked/prune', { keep_last: 3, dry_run: true });
    assert.ok(wanted.dropped > 0);
    await manage(page);
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Keep the newest').fill('3');
    await dialog.getByRole('button', { name: 'Try to prune' }).click();
    await dialog.getByText(`A prune drops ${wanted.dropped} checkpoints and keeps ${wanted.kept}`).waitFor();
    await close(page);
  });

  test('a prune that says nothing to drop is refused, with the reason', async () => {
    const page = await open(browser, server, '/t/nested//');
    await manage(page);
    await page.getByRole('button', { name: 'Try to prune' }).click();
    await page.getByRole('dialog').getByText('say what to drop').waitFor();
    await close(page);
  });

  test('a deletion says what it removes before it is confirmed', async () => {
    const wanted = await server.api('threads/asks/deletion');
    assert.ok(wanted.checkpoints > 0 && wanted.questions.length > 0);
    const page = await open(browser, server, '/t/asks//');
    await manage(page);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Delete…', exact: true }).click();
    await dialog.getByText(`deleted: ${wanted.checkpoints} checkpoint`).waitFor();
    await dialog.getByText(/open questions? (is|are) lost/).waitFor();
    assert.ok((await names()).includes('asks'));
    await dialog.getByRole('button', { name: 'Delete…', exact: true }).click();
    await dialog.getByText('Nothing undoes this').waitFor({ state: 'detached' });
    await close(page);
  });

  test('a thread is deleted by keyboard alone, after a confirmation, and a page that shows it says so', async () => {
    const other = await open(browser, server, '/t/failed//');
    const page = await open(browser, server, '/t/failed//');
    await page.keyboard.press('m');
    await page.getByRole('dialog').waitFor();
    const isAt = (text) => page.evaluate((wanted) => document.activeElement?.textContent.startsWith(wanted), text);
    const tabTo = async (text) => {
      for (let i = 0; i < 20 && !(await isAt(text)); i += 1) await page.keyboard.press('Tab');
      assert.ok(await isAt(text), `Tab reaches ${text}`);
    };
    await tabTo('Delete…');
    await page.keyboard.press('d'); // no key of the page behind the dialog
    await page.keyboard.press('Enter');
    await page.getByText('Nothing undoes this').waitFor();
    assert.ok((await names()).includes('failed'), 'it was not confirmed yet');
    assert.ok(!page.url().includes('view=diff'));
    await tabTo('Delete failed');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/$/);
    await page.waitForFunction(() => document.querySelector('table.threads') && !document.querySelector('tr[data-thread="failed"]'));
    assert.ok(!(await names()).includes('failed'));
    await other.getByText("there is no thread 'failed'").first().waitFor();
    assert.equal(await rowsOf(other).count(), 0);
    await close(other);
    await close(page);
  });

  test('a checkpoint that comes after the question is not deleted unseen', async () => {
    const page = await open(browser, server, '/t/asks//');
    await manage(page);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Delete…', exact: true }).click();
    await server.api('threads/asks/run', { answers: [{ key: 'approve', value: 'yes' }] });
    await eventually(async () => assert.equal((await server.api('threads?text=asks')).threads[0].status, 'done'));
    await dialog.getByRole('button', { name: 'Delete asks' }).click();
    await dialog.getByText("'asks' has a newer checkpoint").waitFor();
    assert.ok((await names()).includes('asks'));
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await close(page);
  });

  test('axe finds nothing in the dialog', async () => {
    const { default: axe } = await import('axe-core');
    const page = await open(browser, server, '/t/edited//');
    await manage(page);
    await page.getByLabel('Keep the newest').fill('1');
    await page.getByRole('button', { name: 'Try to prune' }).click();
    await page.getByText('A prune drops').waitFor();
    const check = async () => {
      for (const scheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.evaluate(axe.source);
        const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
        assert.deepEqual(found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html).join(' | ')}`), [], scheme);
      }
    };
    await check();
    await page.getByRole('button', { name: 'Delete…', exact: true }).click();
    await page.getByText('Nothing undoes this').waitFor();
    await check();
    await visit(page, server, '/');
    await close(page);
  });
});

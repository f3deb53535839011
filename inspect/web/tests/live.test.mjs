import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { close, drawn, eventually, launch, open, Server, task } from './support.mjs';

// What a task writes while it runs, as a model does, on the page of its thread.

/** The tasks of a customer's thread go on, as tests/pages/inspected_store.cpp says. */
const letGo = (server, customer, word) => writeFileSync(join(server.folder, `${customer}.${word}`), '');
const begin = (server, thread) => server.api(`threads/${thread}/run`, { input: { customer: thread } });
const following = (page) => page.locator('.live-note[data-live]').waitFor({ state: 'attached' });

describe('a program whose tasks write as models do', () => {
  let browser, server;
  before(async () => {
    browser = await launch();
    server = await Server.start({ flags: ['--writer', '--open'], make: [['make']] });
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  // The thread exists, so that the page follows it before the run begins.
  async function opened(thread) {
    await server.api(`threads/${thread}/checkpoints/newest/edit`, { values: { customer: thread }, as_node: '__input__' });
    const page = await open(browser, server, `/t/${thread}//`);
    await following(page);
    return page;
  }
  const written = (page, name) => task(page, name).locator('.written');

  test('a text grows next to its task, and is dropped when its checkpoint comes', async () => {
    const page = await opened('grows');
    await begin(server, 'grows');
    await written(page, 'write').getByText('The answer', { exact: false }).waitFor();
    await eventually(async () => assert.match(await written(page, 'write').innerText(), /reports \{"progress":"half"\}/));
    await eventually(async () => assert.match(await written(page, 'deliberate').innerText(), /think writes\s+a second thought/));
    letGo(server, 'grows', 'go');
    await eventually(async () => assert.ok((await written(page, 'write').innerText()).includes('The answer is 42. </script><script>alert(1)</script>⟨202e⟩')));
    await eventually(async () => assert.equal(await page.locator('script').count(), 1));
    letGo(server, 'grows', 'end');
    await page.getByText('Nothing is due.').waitFor();
    assert.equal(await page.locator('.written').count(), 0);
    await page.keyboard.press('s');
    await close(page);
  });

  test('a checkpoint of before shows nothing of a run, and a graph inside shows its own', async () => {
    const page = await opened('inside');
    await begin(server, 'inside');
    await written(page, 'write').waitFor();
    await page.locator('.row[data-step="0"]').click();
    await page.getByRole('heading', { name: /Step 0/ }).waitFor();
    await drawn(page);
    assert.equal(await page.locator('.written').count(), 0);
    await page.keyboard.press('n');
    await written(page, 'write').waitFor();
    await task(page, 'deliberate').getByRole('link', { name: 'subgraph' }).click();
    await following(page);
    await page.getByText('namespace deliberate:').waitFor();
    await eventually(async () => assert.match(await written(page, 'think').innerText(), /a second thought/));
    for (const word of ['go', 'end']) letGo(server, 'inside', word);
    await page.locator('.written').waitFor({ state: 'detached' });
    await close(page);
  });

  test('axe finds nothing while a text grows, light and dark', async () => {
    const { default: axe } = await import('axe-core');
    const page = await opened('axe');
    await begin(server, 'axe');
    await written(page, 'write').waitFor();
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.evaluate(axe.source);
      const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      assert.deepEqual(found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html).join(' | ')}`), [], scheme);
    }
    for (const word of ['go', 'end']) letGo(server, 'axe', word);
    await page.getByText('Nothing is due.').waitFor();
    await close(page);
  });
});

describe('a program that hides values, whose tasks write', () => {
  let browser, server;
  before(async () => {
    browser = await launch();
    server = await Server.start({ flags: ['--writer'], make: [['make']] });
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('the page says how much is written, and not what', async () => {
    const page = await open(browser, server, '/t/done//');
    await following(page);
    await server.api('threads/done/run', { input: { customer: 'hidden' } });
    await page.locator('.written', { hasText: /writes\s*•••\(11 B\)/ }).waitFor();
    await page.getByText('What tasks write is hidden until it is stored').waitFor();
    const text = await page.locator('.tasks').innerText();
    assert.ok(!text.includes('answer') && !text.includes('thought') && !text.includes('half'), text);
    for (const word of ['go', 'end']) letGo(server, 'hidden', word);
    await page.getByText('Nothing is due.').waitFor();
    await close(page);
  });
});

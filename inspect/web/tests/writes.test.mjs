import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { close, drawn, eventually, hold, hostile, launch, open, rowsOf, Server, visit } from './support.mjs';

// What the page stores and runs, where its program lets it.

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
    await visit(page, server, '/t/asks//?view=diff');
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
    await page.getByText('edited; channels').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.graph .node.asks[data-node="approve"]').waitFor();
    await close(page);
  });

  // What a fork and an edit stored is asked for, and the answer is held back: a click of before would run what was shown.
  test('after a fork and an edit nothing is offered until the page has drawn what they stored', async () => {
    await server.api('threads/late/run', { input: { customer: 'Late', items: ['tea'] } });
    await eventually(async () => assert.equal((await server.api('threads?text=late')).threads[0]?.status, 'interrupted'));
    const page = await open(browser, server, '/t/late//');
    await page.locator('.row[data-step="0"]').click();
    await page.getByRole('heading', { name: /Step 0/ }).waitFor();
    const isHeld = /\/api\/threads\/late\/(checkpoints\/newest($|\?)|timeline)/;
    const action = (name) => page.locator('.actions').getByRole('button', { name, exact: true });
    const storedBy = async (operation, click) => {
      const release = await hold(page, isHeld);
      const response = page.waitForResponse((each) => each.request().method() === 'POST' && each.url().endsWith(operation));
      await click();
      const made = (await (await response).json()).checkpoint_id;
      await page.waitForURL(/#\/t\/late\/\/$/);
      await page.locator('.actions [role="status"]').waitFor();
      const drawnBefore = await page.locator('section[data-checkpoint]').getAttribute('data-checkpoint');
      assert.notEqual(drawnBefore, made, 'the answer is held back');
      for (const name of ['Resume', 'One superstep', 'Edit…', 'Fork…', 'Undo']) assert.ok(await action(name).isDisabled(), `${name} after ${operation}`);
      assert.equal(await action('Replay from here').count(), 0);
      await release();
      await page.locator(`section[data-checkpoint="${made}"]`).waitFor();
      return made;
    };
    await action('Fork…').click();
    const forked = await storedBy('/fork', () => action('Fork here').click());
    await action('Edit…').click();
    await page.getByLabel('Channels, as JSON').fill('{"customer": "Later"}');
    const edited = await storedBy('/edit', () => action('Edit').click());
    const asked = page.waitForRequest((each) => each.method() === 'POST' && each.url().endsWith('/run'));
    await action('Resume').click();
    assert.equal((await asked).postDataJSON().checkpoint_id, undefined, 'it runs on from the newest');
    await page.locator('.graph .node.asks[data-node="approve"]').waitFor();
    const { checkpoints } = await server.api('threads/late/timeline');
    const parentOf = (id) => checkpoints.find((each) => each.checkpoint_id === id).parent;
    assert.equal(parentOf(edited), forked);
    assert.ok(checkpoints.some((each) => each.parent === edited), 'the run goes on from the edit');
    await close(page);
  });

  test('a fork is undone by another from before it', async () => {
    const page = await open(browser, server, '/t/edited//');
    await rowsOf(page).first().waitFor();
    const before = (await server.api('threads/edited/head')).checkpoint_id;
    const { values } = await server.api(`threads/edited/checkpoints/${before}`);
    await rowsOf(page).last().click();
    await page.getByRole('button', { name: 'Fork…' }).click();
    await page.getByRole('button', { name: 'Fork here' }).click();
    await page.getByText('is the newest now').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('undone by a fork from before').waitFor();
    await page.locator('.checkpoint .tag', { hasText: 'note = undo' }).waitFor();
    const after = await server.api('threads/edited/checkpoints/newest');
    assert.deepEqual(after.values, values);
    assert.equal(after.parent, before);
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
    await page.getByText("there is no thread 'new'").waitFor();
    await server.api('threads/new/run', { input: { customer: 'Live', items: ['tea'] } });
    await page.locator('.graph .node.asks[data-node="approve"]').waitFor();
    const before = await rowsOf(page).count();
    await server.api('threads/new/run', { answers: [{ key: 'approve', value: 'yes' }] });
    await page.waitForFunction((count) => document.querySelectorAll('.timeline .row:not([hidden])').length > count, before);
    await page.getByText('Nothing is due.').waitFor();
    await page.keyboard.press('d');
    await page.locator('.changes', { hasText: 'paid' }).waitFor();
    await close(page);
  });

  test('what is typed stays while a page shows what is new', async () => {
    await server.api('threads/typed/run', { input: { customer: 'Typed', items: ['tea'] } });
    const page = await open(browser, server, '/t/typed//?view=diff');
    await page.getByLabel('Compare with').fill('0');
    const before = await rowsOf(page).count();
    await server.api('threads/typed/run', { answers: [{ key: 'approve', value: 'yes' }] });
    await page.waitForFunction((count) => document.querySelectorAll('.timeline .row:not([hidden])').length > count, before);
    await eventually(async () => assert.equal(await page.getByLabel('Compare with').inputValue(), '0'));
    await close(page);
  });

  test('lists change by themselves, and a page asks nothing while nothing happens', async () => {
    const [page, inbox] = [await open(browser, server), await open(browser, server, '/questions')];
    await page.waitForSelector('table.threads');
    await inbox.locator('.inbox').waitFor();
    await page.waitForTimeout(500);
    const asked = [];
    for (const each of [page, inbox]) each.on('request', (request) => asked.push(request.url()));
    await page.waitForTimeout(2500);
    assert.deepEqual(asked, []);
    await server.api('threads/pushed/run', { input: { customer: 'Pushed', items: ['tea'] } });
    await page.locator('tr[data-thread="pushed"]', { hasText: 'Pay 3 for Pushed?' }).waitFor();
    await inbox.locator('.inbox li', { hasText: 'Pay 3 for Pushed?' }).waitFor();
    assert.deepEqual(asked, [], 'both were pushed');
    await close(page);
    await close(inbox);
  });

  test('a page that is hidden is pushed nothing, and catches up when it is shown', async () => {
    const page = await open(browser, server, '/t/asks//');
    await rowsOf(page).first().waitFor();
    await page.locator('.live', { hasText: 'following' }).waitFor();
    const turn = (hidden) => page.evaluate((is) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => is });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
    const ended = page.waitForEvent('requestfailed', (request) => request.url().includes('/head'));
    await turn(true);
    await ended;
    await server.api('threads/asks/run', { input: { items: ['milk'] } });
    await page.waitForTimeout(500);
    const before = await rowsOf(page).count();
    await turn(false);
    await page.waitForFunction((count) => document.querySelectorAll('.timeline .row:not([hidden])').length > count, before);
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

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { close, drawn, eventually, launch, open, rowsOf, Server } from './support.mjs';

// A checkpoint that more than 20,000 others follow.

describe('a long thread, in a program that lets the page write', () => {
  let browser, server, old;
  before(async () => {
    browser = await launch();
    server = await Server.start({ make: [['long', 'long', '21000']] });
    for (let id = ''; ;) {
      const { checkpoints, next } = await server.api(`threads/long/timeline?limit=2000&before=${id}`);
      old = checkpoints.find((each) => each.step === 5);
      if (old || !next) break;
      id = next;
    }
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });
  const selectedStep = (page) => page.locator('.row.selected').getAttribute('data-step');

  test('a link to a checkpoint far from the newest shows it where it is', async () => {
    const page = await open(browser, server, `/t/long//${old.checkpoint_id}`);
    await page.getByRole('heading', { name: /^Step 5 / }).waitFor();
    await eventually(async () => assert.equal(await selectedStep(page), '5'));
    await page.getByText('newer checkpoints are not in this list').waitFor();
    const [row, box] = [await page.locator('.row.selected').boundingBox(), await page.locator('.timeline').boundingBox()];
    assert.ok(row.y >= box.y && row.y + row.height <= box.y + box.height + 1, 'it is on the screen');
    // It is the first of the list and not the newest: the page replays from it.
    await page.getByRole('button', { name: 'Replay from here' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Resume' }).count(), 0);
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: /^Step 4 / }).waitFor();
    await page.keyboard.press('k');
    await page.getByRole('heading', { name: /^Step 5 / }).waitFor();
    await close(page);
  });

  test('from there the newest checkpoint is one key away, and what a run stores appears', async () => {
    const page = await open(browser, server, `/t/long//${old.checkpoint_id}`);
    await page.getByText('newer checkpoints are not in this list').waitFor();
    const newest = (await server.api('threads/long/head')).checkpoint_id;
    await page.keyboard.press('n');
    await drawn(page);
    await eventually(async () => assert.equal(await page.locator('.row.selected').getAttribute('data-id'), newest));
    assert.equal(await page.getByText('newer checkpoints are not in this list').count(), 0);
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    await page.getByRole('button', { name: 'Fork…' }).click();
    await page.getByRole('button', { name: 'Fork here' }).click();
    await page.locator('.row[data-source="fork"]').waitFor();
    await close(page);
  });

  test('a step is gone to without scrolling, by keyboard', async () => {
    const page = await open(browser, server, '/t/long//');
    await rowsOf(page).first().waitFor();
    const goTo = async (step) => {
      await page.keyboard.press('g');
      await page.keyboard.press('Control+A');
      await page.keyboard.type(String(step));
      await page.keyboard.press('Enter');
    };
    await goTo(15000);
    await page.getByRole('heading', { name: /^Step 15000 / }).waitFor();
    await eventually(async () => assert.equal(await selectedStep(page), '15000'));
    await page.keyboard.press('j'); // the timeline has the focus
    await page.getByRole('heading', { name: /^Step 14999 / }).waitFor();
    await goTo('x');
    await page.getByText('a step is a whole number').waitFor();
    await goTo(90000);
    await page.getByText(/no step 90000/).waitFor();
    await page.getByRole('heading', { name: /^Step 14999 / }).waitFor();
    await close(page);
  });

  test('a link to a checkpoint that is not in the log says so', async () => {
    const missing = old.checkpoint_id.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    const page = await open(browser, server, `/t/long//${missing}`);
    await page.getByRole('alert').first().waitFor();
    await rowsOf(page).first().waitFor();
    assert.equal(await page.locator('.row.selected').count(), 0);
    await close(page);
  });
});

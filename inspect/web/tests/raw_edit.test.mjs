import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { close, drawn, launch, open, Server } from './support.mjs';

// A channel is set without the program.

describe('raw edits', () => {
  let browser, server;
  before(async () => {
    browser = await launch();
    server = await Server.start();
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('a channel is set in a fork, what is of another kind is refused, and the edit is undone', async () => {
    const before = (await server.api('threads/done/head')).checkpoint_id;
    const totalAt = async (id) => (await (await fetch(`${server.origin}/api/threads/done/checkpoints/${id}/value?path=/total`, { headers: { 'X-Stategraph-Key': 'a-key-of-the-tests' } })).json());
    const total = await totalAt(before);
    const page = await open(browser, server, '/t/done//');
    await page.getByRole('button', { name: 'Set a channel…' }).click();
    await page.getByLabel('Channel', { exact: true }).fill('total');
    await page.getByLabel('Value, as JSON').fill('many');
    await page.getByRole('button', { name: 'Set the channel' }).click();
    await page.getByText('a whole number is stored, and a text is given').waitFor();
    assert.equal((await server.api('threads/done/head')).checkpoint_id, before);

    await page.getByLabel('Value, as JSON').fill(String(total + 1));
    await page.getByLabel('Note').fill('wrong sum');
    await page.getByRole('button', { name: 'Set the channel' }).click();
    await page.getByText('set, in a fork').waitFor();
    await drawn(page);
    const edited = await server.api('threads/done/checkpoints/newest');
    assert.equal(edited.parent, before);
    assert.equal(edited.metadata.note, 'wrong sum');
    assert.deepEqual(edited.metadata.raw_edit, ['total']);
    assert.equal(await totalAt('newest'), total + 1);

    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('undone by a fork from before').waitFor();
    assert.equal(await totalAt('newest'), total);
    await close(page);
  });

  test('a page that only reads does not offer it', async () => {
    const reading = await Server.start({ readOnly: true });
    try {
      const page = await open(browser, reading, '/t/done//');
      assert.equal(await page.getByRole('button', { name: 'Set a channel…' }).count(), 0);
      await close(page);
    } finally {
      await reading.stop();
    }
  });
});

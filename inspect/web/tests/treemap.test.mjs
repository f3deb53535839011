import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { squarify } from '../src/squarify.js';
import { close, eventually, hostile, launch, open, Server, visit } from './support.mjs';

// Bytes as areas, of a thread and of the store.

test('areas are in proportion to bytes, fill the rectangle, and do not overlap', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9);
  let state = seed;
  const random = () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
  for (let round = 0; round < 200; round += 1) {
    const items = Array.from({ length: 1 + Math.floor(random() * 40) }, (_, i) => ({ name: String(i), bytes: Math.floor(random() ** 6 * 1e9) + (i === 0 ? 1 : 0) }));
    const [width, height] = [100 + random() * 900, 100 + random() * 500];
    const cells = squarify(items, width, height);
    const total = items.reduce((sum, item) => sum + item.bytes, 0);
    const said = `seed ${seed}, round ${round}`;
    assert.equal(cells.length, items.filter((item) => item.bytes > 0).length, said);
    for (const [i, cell] of cells.entries()) {
      assert.ok(Math.abs(cell.width * cell.height - (cell.item.bytes / total) * width * height) < 1e-3, said);
      assert.ok(cell.x > -1e-6 && cell.y > -1e-6 && cell.x + cell.width < width + 1e-6 && cell.y + cell.height < height + 1e-6, said);
      for (const other of cells.slice(i + 1)) {
        const across = Math.min(cell.x + cell.width, other.x + other.width) - Math.max(cell.x, other.x);
        const down = Math.min(cell.y + cell.height, other.y + other.height) - Math.max(cell.y, other.y);
        assert.ok(across < 1e-6 || down < 1e-6, said);
      }
    }
  }
  assert.deepEqual(squarify([{ bytes: 0 }], 10, 10), []);
});

describe('a store of a program', () => {
  let browser, server;
  before(async () => {
    browser = await launch();
    server = await Server.start();
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  const cell = (page, name) => page.locator(`.treemap .cell[data-name=${JSON.stringify(name)}]`);
  const areaOf = async (locator) => {
    const box = await locator.locator('rect').evaluate((rect) => ({ width: rect.width.baseVal.value, height: rect.height.baseVal.value }));
    return (box.width + 1) * (box.height + 1);
  };

  test('threads, channels and kinds are drawn by their bytes, and a thread is opened by its area', async () => {
    const page = await open(browser, server, '/store');
    const { largest, channels, bytes } = await server.api('stats?largest=20');
    await page.locator('.treemap .cell').first().waitFor();
    await eventually(async () => assert.equal(await page.locator('.treemap .cell').count(), largest.length));
    const [first, last] = [largest[0], largest.at(-1)];
    const ratio = (await areaOf(cell(page, first.thread_id))) / (await areaOf(cell(page, last.thread_id)));
    assert.ok(Math.abs(ratio / (first.bytes / last.bytes) - 1) < 0.05, `${ratio} and ${first.bytes / last.bytes}`);
    await page.getByRole('button', { name: 'channels', exact: true }).click();
    await cell(page, 'messages').waitFor();
    await eventually(async () => assert.match(page.url(), /map=channels/));
    await eventually(async () => assert.equal(await page.locator('.treemap .cell').count(), Object.values(channels).filter((each) => each > 0).length + 1));
    await cell(page, 'in no channel').waitFor();
    await page.reload();
    await cell(page, 'messages').waitFor();
    await page.getByRole('button', { name: 'kinds', exact: true }).click();
    await eventually(async () => assert.equal(await page.locator('.treemap .cell').count(), Object.values(bytes).filter((each) => each > 0).length));
    await page.getByRole('button', { name: 'threads', exact: true }).click();
    await cell(page, 'name/with slash?&#%').click();
    await page.getByRole('heading', { level: 1, name: 'name/with slash?&#%' }).waitFor();
    await page.locator('.treemap .cell[data-name="messages"]').waitFor();
    await close(page);
  });

  test('names are text', async () => {
    const page = await open(browser, server, '/store');
    await cell(page, hostile).waitFor();
    await eventually(async () => assert.ok((await cell(page, hostile).getAttribute('aria-label')).startsWith(`${hostile}: `)));
    await eventually(async () => assert.equal(await page.locator('script').count(), 1));
    await close(page);
  });

  test('areas are reached by keyboard alone: one tab stop, arrows, Enter', async () => {
    const page = await open(browser, server, '/t/done//?view=sizes');
    await cell(page, 'messages').waitFor();
    assert.equal(await page.locator('.treemap .cell[tabindex="0"]').count(), 1);
    const focused = () => page.evaluate(() => document.activeElement?.dataset?.name ?? '');
    for (let i = 0; i < 60 && !(await focused()); i += 1) await page.keyboard.press('Tab');
    const seen = new Set([await focused()]);
    const total = await page.locator('.treemap .cell').count();
    for (let i = 0; i < 40 && seen.size < 3; i += 1) {
      await page.keyboard.press(['ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp'][Math.floor(i / 3) % 4]);
      seen.add(await focused());
    }
    assert.ok(seen.size >= Math.min(3, total) && !seen.has(''), [...seen].join());
    await cell(page, 'messages').focus();
    await eventually(async () => assert.match(await page.locator('.treemap p').innerText(), /^messages: [\d,]+ bytes$/));
    await page.keyboard.press('Enter');
    await page.waitForURL(/view=blame&channel=messages/);
    await page.locator('section[aria-label="blame"]').waitFor();
    await close(page);
  });

  test('axe finds nothing in any map, light and dark', async () => {
    const { default: axe } = await import('axe-core');
    const page = await open(browser, server, '/store');
    for (const hash of ['/store?map=threads', '/store?map=channels', '/store?map=kinds', '/t/done//?view=sizes']) {
      await visit(page, server, hash);
      await page.locator('.treemap .cell').first().waitFor();
      for (const scheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.evaluate(axe.source);
        const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
        assert.deepEqual(found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html).join(' | ')}`), [], `${hash} ${scheme}`);
      }
    }
    await close(page);
  });
});

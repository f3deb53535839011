// Makes the pictures of docs/inspector.md: STATEGRAPH_INSPECTED=… node tests/pictures.mjs
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, open, Server } from './support.mjs';

const out = join(dirname(fileURLToPath(import.meta.url)), '../../../docs/pictures');
await mkdir(out, { recursive: true });
const browser = await launch();
const server = await Server.start();
for (const [name, hash, ready] of [
  ['threads', '/', 'table.threads'],
  ['failed', '/t/failed//?view=why', '.causes dd'],
  ['forked', '/t/forked//?view=diff', '.changes'],
]) {
  const page = await open(browser, server, hash);
  await page.setViewportSize({ width: 1100, height: name === 'threads' ? 380 : 640 });
  await page.waitForSelector(ready);
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(out, `inspector_${name}.png`) });
  await page.context().close();
}
await browser.close();
await server.stop();

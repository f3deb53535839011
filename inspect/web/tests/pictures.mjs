// Makes the pictures of docs/inspector.md and README.md, light and dark: STATEGRAPH_INSPECTED=… node tests/pictures.mjs
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, open, Server } from './support.mjs';

const out = join(dirname(fileURLToPath(import.meta.url)), '../../../docs/pictures');
await mkdir(out, { recursive: true });
const browser = await launch();
const server = await Server.start({ make: [['show']] });
for (const [name, hash, ready, height] of [
  ['threads', '/', 'table.threads', 350],
  ['failed', '/t/order-1045//?view=why', '.causes dd', 640],
  ['forked', '/t/order-1042//?view=diff', '.changes', 640],
  ['sizes', '/store?map=threads', '.treemap .cell', 520],
  ['nested', '/t/order-1043//?open=ship', '.node.asks[data-at="ship/pack"]', 690],
]) {
  for (const colorScheme of ['light', 'dark']) {
    const page = await open(browser, server, hash);
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 1120, height });
    await page.waitForSelector(ready);
    await page.waitForTimeout(400);
    await page.screenshot({ path: join(out, `inspector_${name}_${colorScheme}.png`) });
    await page.context().close();
  }
}
await browser.close();
await server.stop();

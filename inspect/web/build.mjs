// Makes dist/ of src/: `npm ci && npm run build`. The same sources give the same bytes. `node build.mjs FOLDER` writes elsewhere.
import { build } from 'esbuild';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, 'dist');
await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const result = await build({
  absWorkingDir: here,
  entryPoints: ['src/app.js', 'src/app.css'],
  outdir: out,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  legalComments: 'none',
  metafile: true,
});
for (const name of ['index.html', 'icon.svg']) await copyFile(join(here, 'src', name), join(out, name));

// The licences of what is in the bundle.
const packages = new Set(Object.keys(result.metafile.inputs).map((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]).filter(Boolean));
let text = 'The page contains these packages.\n';
for (const name of [...packages].sort()) {
  const folder = join(here, 'node_modules', name);
  const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  text += `\n== ${name} ${version} (${license})\n`;
  for (const file of ['LICENSE', 'LICENSE.txt', 'LICENSE.md', 'license']) {
    const terms = await readFile(join(folder, file), 'utf8').catch(() => null);
    if (terms) {
      text += terms.trim() + '\n';
      break;
    }
  }
}
await writeFile(join(out, 'licences.txt'), text);

// A page's dist/ is what its sources give: built_page_test.mjs PAGE. PAGE has build.mjs, and the npm packages that it needs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [page] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), "page-"));
try {
  execFileSync(process.execPath, [join(page, "build.mjs"), folder]);
  const names = (await readdir(folder)).sort();
  assert.deepEqual((await readdir(join(page, "dist"))).sort(), names);
  for (const name of names) {
    const [made, kept] = await Promise.all([folder, join(page, "dist")].map((each) => readFile(join(each, name))));
    assert.ok(made.equals(kept), `${join(page, "dist", name)} differs; run npm run build in ${page}`);
  }
  console.log("ok: dist is what the sources give");
} finally {
  await rm(folder, { recursive: true });
}

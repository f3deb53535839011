// Makes dist/ of src/: `npm ci --ignore-scripts && npm run build`. The same sources give the same bytes. `node build.mjs FOLDER`
// writes elsewhere.
//
// Preact takes the place of React, for a page of half the size. Of LangChain's packages what reports to LangSmith is left out: the page
// asks its own server and no other host.
import { build } from "esbuild";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");
const withoutLangsmith = {
  name: "without langsmith",
  setup(bundle) {
    bundle.onResolve({ filter: /^langsmith(\/|$)/ }, ({ path }) => ({ path, namespace: "left-out" }));
    bundle.onLoad({ filter: /./, namespace: "left-out" }, () => ({
      contents: ["Client", "RunTree", "convertToDottedOrderFormat", "getCurrentRunTree", "isRunTree", "isTraceableFunction"]
        .map((name) => `export const ${name} = undefined;`).join("\n"),
    }));
  },
};
const { outputFiles, metafile } = await build({
  absWorkingDir: here,
  entryPoints: ["src/app.jsx"],
  outfile: "app.js",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  legalComments: "none",
  metafile: true,
  write: false,
  alias: { react: "preact/compat", "react-dom": "preact/compat", "react/jsx-runtime": "preact/jsx-runtime" },
  define: { "process.env.NODE_ENV": '"production"' },
  plugins: [withoutLangsmith],
});
await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const page = await readFile(join(here, "src/index.html"), "utf8");
await writeFile(join(out, "index.html"), page.replace("/* app.jsx */", () => outputFiles[0].text.trim()));

// The licences of what is in the page.
const inputs = Object.entries(metafile.outputs["app.js"].inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
const names = inputs.map(([file]) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]);
let text = "The page contains these packages.\n";
for (const name of [...new Set(names)].filter(Boolean).sort()) {
  const read = (file) => readFile(join(here, "node_modules", name, file), "utf8").catch(() => null);
  const { version, license } = JSON.parse(await read("package.json"));
  const terms = (await read("LICENSE")) ?? (await read("license"));
  text += `\n== ${name} ${version} (${license})\n${terms ? `${terms.trim()}\n` : ""}`;
}
await writeFile(join(out, "licences.txt"), text);

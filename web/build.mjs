/** Makes gsg/http/page/files of src/: one script, one style sheet, and what is loaded only where a network is drawn; names have hashes. */

import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

const OUT = new URL("../gsg/http/page/files/", import.meta.url);
/** What the page may take in all, compressed; more is refused. */
const MOST_BYTES = 350_000;

const made = await build({
  entryPoints: { page: "src/page.js", style: "src/style.css" },
  absWorkingDir: new URL(".", import.meta.url).pathname,
  outdir: OUT.pathname,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  target: "es2022",
  legalComments: "eof",
  metafile: true,
  write: false,
  logLevel: "warning",
});

await rm(OUT, { recursive: true, force: true });
await mkdir(OUT, { recursive: true });
let bytes = 0;
const named = {};
for (const { path, contents } of made.outputFiles) {
  const name = path.split("/").at(-1);
  await writeFile(new URL(name, OUT), contents);
  bytes += gzipSync(contents).length;
  if (name.startsWith("page-")) named.script = name;
  if (name.startsWith("style-")) named.style = name;
}
const icon = await readFile(new URL("src/icon.svg", import.meta.url));
named.icon = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`;
await writeFile(new URL(named.icon, OUT), icon);
let index = await readFile(new URL("src/index.html", import.meta.url), "utf8");
for (const [name, file] of Object.entries(named)) index = index.replaceAll(`{${name}}`, `page/${file}`);
await writeFile(new URL("index.html", OUT), index);
console.log(`${made.outputFiles.length + 2} files, ${bytes.toLocaleString("en")} bytes compressed`);
if (bytes > MOST_BYTES) throw new Error(`the page takes ${bytes} bytes compressed; expected at most ${MOST_BYTES}`);

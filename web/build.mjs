/**
 * Makes gsg/http/page/files of src/: one script, one style sheet, what is loaded only where a network is drawn, and the advice of
 * docs/operating.md; names have hashes.
 */

import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

const OUT = new URL("../gsg/http/page/files/", import.meta.url);
/** What the page may take in all, compressed; more is refused. */
const MOST_BYTES = 350_000;

const digest = (content) => createHash("sha256").update(content).digest("hex").slice(0, 8);

/** The table of figures of the operators' guide, as data: what each is, and from when on somebody is to look. */
function adviceOf(page) {
  const rows = [];
  for (const line of page.slice(page.indexOf("| name | type |")).split("\n").slice(2)) {
    if (!line.startsWith("| `")) break;
    const [named, kind, text, alert] = line.slice(1, -1).split(" | ").map((cell) => cell.trim());
    const [, severity = "", direction = "above", threshold = "0"] = /^(critical|warning)(?: (above|below) ([\d,.]+))?/.exec(alert) ?? [];
    rows.push({
      names: [...named.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
      kind,
      text: text.replaceAll(/\s*\((?:\[[^\]]*\]\([^)]*\)[^)]*)\)/g, "").replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", ""),
      severity,
      direction,
      threshold: Number(threshold.replaceAll(",", "")),
    });
  }
  return rows;
}

const advice = JSON.stringify(adviceOf(await readFile(new URL("../docs/operating.md", import.meta.url), "utf8")));
const adviceName = `advice-${digest(advice)}.json`;

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
  define: { ADVICE_FILE: JSON.stringify(`/page/${adviceName}`) },
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
named.icon = `icon-${digest(icon)}.svg`;
await writeFile(new URL(named.icon, OUT), icon);
await writeFile(new URL(adviceName, OUT), advice);
bytes += gzipSync(advice).length;
let index = await readFile(new URL("src/index.html", import.meta.url), "utf8");
for (const [name, file] of Object.entries(named)) index = index.replaceAll(`{${name}}`, `page/${file}`);
await writeFile(new URL("index.html", OUT), index);
console.log(`${made.outputFiles.length + 3} files, ${bytes.toLocaleString("en")} bytes compressed`);
if (bytes > MOST_BYTES) throw new Error(`the page takes ${bytes} bytes compressed; expected at most ${MOST_BYTES}`);

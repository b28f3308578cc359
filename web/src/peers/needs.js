/** What needs somebody: figures that the operators' guide gives advice for, where they have grown or are out of bounds. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { number } from "../format.js";
import { html } from "../html.js";
import { grown, report } from "./report.js";

/** The rows of the guide's table of figures (docs/operating.md); the file's name is put here as the page is built. */
const advice = signal([]);

async function load() {
  if (advice.value.length) return;
  const answer = await fetch(ADVICE_FILE);
  if (answer.ok) advice.value = await answer.json();
}

const means = (row, name) => row.names.some((each) => (each.endsWith("...") ? name.startsWith(each.slice(0, -3)) : each === name));

/** What is wrong: `{ each, name, value, row, isNew }`, the worst first. */
export function needs(peers, rows, growth) {
  const found = [];
  for (const each of peers) {
    for (const [name, value] of Object.entries({ ...each.counts, disk_free_bytes: each.disk_bytes ? each.disk_free_bytes : undefined })) {
      const row = rows.find((one) => one.severity && means(one, name));
      if (!row || value === undefined) continue;
      const isOut = row.direction === "below" ? value < row.threshold : value > row.threshold;
      if (row.kind === "gauge" && isOut) found.push({ each, name, value, row, isNew: true });
      if (row.kind === "counter" && value > row.threshold) found.push({ each, name, value, row, isNew: growth(each, name) > 0 });
    }
  }
  return found.sort((one, other) => other.isNew - one.isNew || (one.row.severity === "critical" ? -1 : 1));
}

function Item({ item: { each, name, value, row, isNew } }) {
  return html`<li class=${row.severity}>
    <strong>${row.severity === "critical" ? "■ critical" : "▲ warning"}</strong> <code>${name}</code> ${number(value)} at <code>${each.address}</code>
    ${isNew && row.kind === "counter" && html` <span class="new">+${number(grown(each, name))} since this page was opened</span>`}
    <br />${row.text}
  </li>`;
}

export function Needs() {
  useEffect(() => void load(), []);
  const found = needs(report.value.peers, advice.value, grown);
  const fresh = found.filter(({ isNew }) => isNew);
  const old = found.filter(({ isNew }) => !isNew);
  return html`<section class="needs" aria-labelledby="needs-title">
    <h2 id="needs-title">What needs you</h2>
    ${fresh.length === 0
      ? html`<p class="good">✓ Nothing: no figure of trouble is out of bounds, or has grown since this page was opened.</p>`
      : html`<ul>${fresh.map((item) => html`<${Item} item=${item} />`)}</ul>`}
    ${old.length > 0 && html`<details><summary>${number(old.length)} grew before</summary><ul>${old.map((item) => html`<${Item} item=${item} />`)}</ul></details>`}
  </section>`;
}

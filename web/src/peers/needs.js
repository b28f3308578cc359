/** What needs somebody: figures that the operators' guide gives advice for, where they have grown or are out of bounds. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { number, time } from "../format.js";
import { html } from "../html.js";
import { error, goneOf, grown, report } from "./report.js";

/** The rows of the guide's table of figures (docs/operating.md); the file's name is put here as the page is built. */
const advice = signal([]);
const problem = signal("");

async function load() {
  if (advice.value.length) return;
  try {
    const answer = await fetch(ADVICE_FILE);
    if (!answer.ok) throw new Error(`the peer answers ${answer.status}`);
    advice.value = await answer.json();
    problem.value = "";
  } catch (error) {
    problem.value = error.message;
  }
}

const means = (row, name) => row.names.some((each) => (each.endsWith("...") ? name.startsWith(each.slice(0, -3)) : each === name));

const ORDER = ["critical", "warning"];

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
  return found.sort((one, other) => other.isNew - one.isNew || ORDER.indexOf(one.row.severity) - ORDER.indexOf(other.row.severity));
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
  const gone = goneOf(report.value.membership, report.value.peers);
  const isWell = fresh.length === 0 && gone.length === 0 && report.value.silent.length === 0 && !error.value;
  const isKnown = advice.value.length > 0 && report.value.peers.length > 0;
  return html`<section class="needs" aria-labelledby="needs-title">
    <h2 id="needs-title">What needs you</h2>
    ${problem.value && html`<p class="problem" role="alert">What the guide advises could not be loaded: ${problem.value}</p>`}
    ${!isKnown && !problem.value && html`<p class="quiet">Asking the peers…</p>`}
    ${isKnown && isWell && html`<p class="good">✓ Nothing: every peer answers, and no counter of trouble has grown since this page was opened.</p>`}
    ${gone.length > 0 && html`<ul>${gone.map(({ address, time: at, why }) => html`<li class="warning">
      <strong>▲ gone</strong> <code>${address || "a peer"}</code> since ${time(Date.parse(at))}: ${why}.
      <br />Its neighbours hold what it held; start it again with its <code>--data</code>, or with an empty directory as a new peer, unless it was to go.
    </li>`)}</ul>`}
    ${fresh.length > 0 && html`<ul>${fresh.map((item) => html`<${Item} item=${item} />`)}</ul>`}
    ${old.length > 0 && html`<details><summary>${number(old.length)} grew before</summary><ul>${old.map((item) => html`<${Item} item=${item} />`)}</ul></details>`}
  </section>`;
}

/** The peers: what needs somebody, who is there, which part of the keys each holds, how each is, and who came and went. */

import { signal } from "@preact/signals";

import { client } from "../connection.js";
import { count, number, seconds, size, time } from "../format.js";
import { html } from "../html.js";
import { Ring } from "../ring.js";
import { readPattern } from "../space/tuples.js";
import { Needs } from "./needs.js";
import { error, goneOf, rates, report, useReport } from "./report.js";

const found = signal([]);
const problem = signal("");

async function find(event) {
  event.preventDefault();
  try {
    const { keys } = await client.value.route(readPattern(new FormData(event.currentTarget).get("pattern")));
    found.value = keys;
    problem.value = "";
  } catch (failure) {
    found.value = [];
    problem.value = failure.message;
  }
}

/** A rate's history as a line of its own height; the figure beside it is the latest. */
function Rate({ history, name, label }) {
  if (!history?.length) return html`<td class="figure"><span class="quiet">measuring…</span></td>`;
  const values = history.map((each) => each[name]);
  const most = Math.max(...values, 1);
  const points = values.map((value, at) => `${(at / Math.max(values.length - 1, 1)) * 80},${20 - (value / most) * 18}`).join(" ");
  return html`<td class="figure rate">
    <svg viewBox="0 0 80 22" width="80" height="22" role="img" aria-label=${`${label} lately, at most ${number(Math.round(most))} a second`}><polyline points=${points} /></svg>
    ${number(Math.round(values.at(-1)))}
  </td>`;
}

function Keys() {
  return html`<section class="find" aria-labelledby="find-title">
    <h2 id="find-title">Where does it lie?</h2>
    <form class="bar" onSubmit=${find}>
      <label>Tuple or pattern <input name="pattern" size="28" spellcheck="false" autocomplete="off" placeholder="(*, ^temperature, *)" required /></label>
      <button>Find its keys</button>
    </form>
    ${problem.value && html`<p class="problem" role="alert">${problem.value}</p>`}
    ${found.value.length > 0 && html`<ol class="keys">${found.value.map(
      (key) => html`<li>
        <code>${key.constant}</code> at position ${key.position}: <code title=${key.key}>${key.key.slice(0, 8)}…</code> at
        ${key.holders.map(({ host, port }, at) => html`${at ? ", " : " "}<code>${host}:${port}</code>`)}
        <span class="quiet"> ${key.problem || `${count(key.facts, "fact")}, ${count(key.templates, "template")}`}</span>
      </li>`,
    )}</ol>`}
  </section>`;
}

const WORDS = { came: "came", suspected: "is suspected", back: "is back", went: "went" };

function Membership({ changes }) {
  if (!changes?.length) return null;
  return html`<section aria-labelledby="membership-title">
    <h2 id="membership-title">Who came and went</h2>
    <ol class="membership">${[...changes].reverse().slice(0, 30).map(
      (each) => html`<li class=${each.what}><time datetime=${each.time}>${time(Date.parse(each.time))}</time> <code>${each.address}</code> ${WORDS[each.what] ?? each.what}${each.why && html`<span class="quiet">: ${each.why}</span>`}</li>`,
    )}</ol>
  </section>`;
}

export function Peers() {
  useReport();
  const { peers, silent, membership } = report.value;
  const now = Date.now() / 1_000;
  const gone = goneOf(membership, peers);
  return html`<div class="peers">
    <h1>${count(peers.length, "peer")}</h1>
    ${error.value && html`<p class="problem" role="alert">${error.value.message}</p>`}
    ${silent.length > 0 && html`<ul class="warn">${silent.map(({ address, why }) => html`<li><code>${address}</code> is suspect: ${why}</li>`)}</ul>`}
    <div class="beside">
      <${Ring} peers=${peers} silent=${silent} gone=${gone} keys=${found.value.map(({ key, constant, position, holders: [primary] }) => ({ key, holder: primary.id, label: `key of ${constant} at position ${position}` }))} />
      <div class="rest"><${Needs} /><${Keys} /></div>
    </div>
    <h2>How each is</h2>
    <div class="wide" tabindex="0" role="region" aria-label="How each peer is">
        <table>
          <thead><tr>
            <th scope="col">Address</th><th scope="col" class="figure">Share of keys</th><th scope="col" class="figure">Facts, with copies</th>
            <th scope="col" class="figure">Templates</th><th scope="col" class="figure">Published/s</th>
            <th scope="col" class="figure">Matched/s</th><th scope="col" class="figure">Messages/s</th>
            <th scope="col" class="figure">Memory</th><th scope="col" class="figure">Disk</th><th scope="col" class="figure">Up for</th><th scope="col">Version</th>
          </tr></thead>
          <tbody>${peers.map(
            (each, at) => html`<tr key=${each.peer}>
              <th scope="row"><code title=${each.peer}>${each.address}</code>${at === 0 && html` <span class="quiet">this one</span>`}</th>
              <td class="figure">${(each.share * 100).toFixed(1)} %</td><td class="figure">${number(each.facts)}</td>
              <td class="figure">${number(each.templates)}</td>
              <${Rate} history=${rates.value.get(each.peer)} name="published" label="published" />
              <${Rate} history=${rates.value.get(each.peer)} name="matched" label="matched" />
              <${Rate} history=${rates.value.get(each.peer)} name="sent_messages" label="messages sent" />
              <td class="figure">${each.memory_bytes ? size(each.memory_bytes) : ""}</td>
              <td class="figure">${each.disk_bytes ? size(each.disk_bytes) : "none"}</td>
              <td class="figure">${each.started_s ? seconds(now - each.started_s) : ""}</td><td>${each.version}</td>
            </tr>`,
          )}</tbody>
        </table>
    </div>
    <${Membership} changes=${membership} />
  </div>`;
}

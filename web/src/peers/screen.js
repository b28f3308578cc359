/** The peers: who is there, which part of the keys each holds, and how each is. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { client } from "../connection.js";
import { number, seconds, size } from "../format.js";
import { html } from "../html.js";
import { Ring } from "./ring.js";

/** Once a second would be asked of all peers by every page that is open. */
const ASK_MS = 3_000;

const peers = signal([]);
const silent = signal([]);
const error = signal(null);
/** What was counted at the last asking but one, by peer: rates are made of two. */
let before = new Map();
const rates = signal(new Map());

async function ask() {
  try {
    const told = await client.value.ask({ type: "ask_report" });
    const now = performance.now();
    const found = new Map();
    for (const each of told.peers) {
      const last = before.get(each.peer);
      if (last) found.set(each.peer, ((each.published - last.published) * 1_000) / (now - last.now));
    }
    before = new Map(told.peers.map((each) => [each.peer, { published: each.published, now }]));
    rates.value = found;
    peers.value = told.peers;
    silent.value = told.silent;
    error.value = null;
  } catch (problem) {
    error.value = problem;
  }
}

export function Peers() {
  useEffect(() => {
    void ask();
    const timer = setInterval(ask, ASK_MS);
    return () => clearInterval(timer);
  }, []);
  const now = Date.now() / 1_000;
  return html`<div class="peers">
    <h1>${number(peers.value.length)} ${peers.value.length === 1 ? "peer" : "peers"}</h1>
    ${error.value && html`<p class="problem">${error.value.message}</p>`}
    ${silent.value.length > 0 && html`<p class="warn">${silent.value.map(({ address, why }) => `${address} does not say how it is: ${why}`).join("; ")}</p>`}
    <div class="beside">
      <${Ring} peers=${peers.value} silent=${silent.value} />
      <div class="wide" tabindex="0" role="region" aria-label="How each peer is">
        <table>
          <thead><tr>
            <th scope="col">Address</th><th scope="col" class="figure">Share of keys</th><th scope="col" class="figure">Facts</th>
            <th scope="col" class="figure">Templates</th><th scope="col" class="figure">Published</th>
            <th scope="col" class="figure">a second</th><th scope="col" class="figure">Matched</th>
            <th scope="col" class="figure">Memory</th><th scope="col" class="figure">Up for</th><th scope="col">Version</th>
          </tr></thead>
          <tbody>${peers.value.map(
            (each, at) => html`<tr>
              <th scope="row"><code title=${each.peer}>${each.address}</code>${at === 0 && html` <span class="quiet">this one</span>`}</th>
              <td class="figure">${(each.share * 100).toFixed(1)} %</td><td class="figure">${number(each.facts)}</td>
              <td class="figure">${number(each.templates)}</td><td class="figure">${number(each.published)}</td>
              <td class="figure">${rates.value.has(each.peer) ? number(Math.round(rates.value.get(each.peer))) : ""}</td>
              <td class="figure">${number(each.matched)}</td>
              <td class="figure">${each.memory_bytes ? size(each.memory_bytes) : ""}</td>
              <td class="figure">${each.started_s ? seconds(now - each.started_s) : ""}</td><td>${each.version}</td>
            </tr>`,
          )}</tbody>
        </table>
      </div>
    </div>
  </div>`;
}

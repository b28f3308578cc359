/** The subscriptions of this peer, of all its clients, and what each holds. */

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

import { client } from "../connection.js";
import { count, number, size } from "../format.js";
import { html } from "../html.js";
import { address, route } from "../route.js";

const ASK_MS = 2_000;

const held = signal([]);
const error = signal(null);

async function ask() {
  try {
    held.value = await client.value.subscriptions();
    error.value = null;
  } catch (problem) {
    error.value = problem;
  }
}

const refused = signal("");

async function end({ number, client: whose }) {
  if (!confirm(`End subscription ${number} of ${whose || "this peer’s program"}? Its reader is told that an administrator has ended it.`)) return;
  const answer = await fetch(`/subscriptions/${number}`, { method: "DELETE" });
  refused.value = answer.ok ? "" : (await answer.json()).detail;
  await ask();
}

/** The network of one of them; what draws it is loaded when it is first wanted. */
function Opened({ number }) {
  const [parts, load] = useState(null);
  const [problem, fail] = useState("");
  useEffect(() => {
    import("./network.js").then(load, (reason) => fail(`What draws it could not be loaded: ${reason.message}. Load the page again.`));
  }, []);
  const each = held.value.find((one) => one.number === number);
  return html`<div class="subscriptions">
    <p><a href=${address("subscriptions")}>All subscriptions</a></p>
    <h1>Subscription ${number}</h1>
    ${each && html`<p><code>${each.text}</code></p>`}
    ${parts ? html`<${parts.Network} subscription=${number} />` : problem ? html`<p class="problem" role="alert">${problem}</p>` : html`<p class="empty">Loading…</p>`}
  </div>`;
}

export function Subscriptions() {
  useEffect(() => {
    void ask();
    const timer = setInterval(ask, ASK_MS);
    return () => clearInterval(timer);
  }, []);
  const opened = Number(route.value.parameters.network);
  if (opened) return html`<${Opened} number=${opened} />`;
  return html`<div class="subscriptions">
    <h1>${count(held.value.length, "subscription")}</h1>
    ${error.value && html`<p class="problem" role="alert">${error.value.message}</p>`}
    ${refused.value && html`<p class="problem" role="alert">${refused.value}</p>`}
    ${held.value.length === 0
      ? html`<p class="empty">Nobody subscribes at this peer. <a href=${address("query")}>Watch a query</a>, and it is listed here.</p>`
      : html`<div class="wide" tabindex="0" role="region" aria-label="Subscriptions">
          <table>
            <thead><tr>
              <th scope="col" class="figure">No.</th><th scope="col">Client</th><th scope="col">Query</th>
              <th scope="col" class="figure">Rows</th><th scope="col" class="figure">Tokens</th><th scope="col" class="figure">Memory</th>
              <th scope="col" class="figure">Share a network</th><th scope="col"><span class="unseen">End</span></th>
            </tr></thead>
            <tbody>${held.value.map(
              (each) => html`<tr>
                <td class="figure"><a href=${address("subscriptions", { network: each.number })} title="Its Rete network">${each.number}</a></td><td>${each.client || "this peer’s program"}</td>
                <td class="text"><code>${each.text}</code>${each.warnings?.map((warning) => html`<p class="warn">${warning}</p>`)}</td>
                <td class="figure">${number(each.rows)}</td><td class="figure">${number(each.tokens)}</td>
                <td class="figure">${size(each.own_bytes)}</td><td class="figure">${number(each.sharing)}</td>
                <td><button class="link" onClick=${() => end(each)}>end</button></td>
              </tr>`,
            )}</tbody>
          </table>
        </div>`}
  </div>`;
}

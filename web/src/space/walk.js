/** The way of one tuple over the ring: from this peer by its keys to their rendezvous, and from there to subscribers. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { client } from "../connection.js";
import { count } from "../format.js";
import { html } from "../html.js";
import { Ring } from "../ring.js";

/** How long each leap is looked at; who wants no motion sees all at once. */
const LEAP_MS = 900;

/** `{ keys, peers, silent }`, or null. */
const shown = signal(null);
const step = signal(0);

/** Ask which way a tuple would go, and show it. */
export async function showRoute(tuple) {
  const [{ keys }, report] = await Promise.all([client.value.route(tuple), client.value.ask({ type: "ask_report" })]);
  shown.value = { keys, peers: report.peers, silent: report.silent };
  step.value = 0;
}

/** What moves, in order: to the rendezvous of each key, then from each to those who would hear of it. */
export function leapsOf({ keys, peers: [own] }) {
  const leaps = [];
  for (const { constant, holders, subscribers } of keys) {
    const [primary, ...copies] = holders;
    leaps.push({ from: own.peer, to: primary.id, kind: "publish", label: `to the rendezvous of ${constant}` });
    for (const copy of copies) leaps.push({ from: primary.id, to: copy.id, kind: "replicate", label: `a copy under ${constant}` });
    for (const { id, address } of subscribers ?? []) leaps.push({ from: primary.id, to: id, kind: "notify", label: `to the subscriber at ${address}` });
  }
  // What goes the same way several times is drawn once.
  const ways = new Map();
  for (const leap of leaps) {
    const way = `${leap.kind} ${leap.from} ${leap.to}`;
    const before = ways.get(way);
    ways.set(way, before ? { ...before, label: `${before.label}; ${leap.label}` } : leap);
  }
  return [...ways.values()];
}

export function Walk() {
  const now = shown.value;
  const leaps = now ? leapsOf(now) : [];
  useEffect(() => {
    if (!now) return undefined;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      step.value = leaps.length;
      return undefined;
    }
    const timer = setInterval(() => {
      step.value += 1;
      if (step.value >= leaps.length) clearInterval(timer);
    }, LEAP_MS);
    return () => clearInterval(timer);
  }, [now]);
  if (!now) return null;
  const at = new Map([...now.peers, ...now.silent].map(({ peer, address }) => [peer, address]));
  const heard = new Set(now.keys.flatMap(({ subscribers }) => (subscribers ?? []).map(({ id }) => id)));
  return html`<section class="walk" aria-labelledby="walk-title">
    <h2 id="walk-title">Its way</h2>
    <div class="beside">
      <${Ring} peers=${now.peers} silent=${now.silent} keys=${now.keys.map(({ key, constant, holders: [primary] }) => ({ key, holder: primary.id, label: `key of ${constant}` }))} leaps=${leaps} step=${step.value} />
      <ol class="steps">
        ${now.keys.map((key) => html`<li>
          The key of <code title=${key.constant}>${key.constant.length > 80 ? `${key.constant.slice(0, 79)}…` : key.constant}</code> at position ${key.position} lies with <code>${at.get(key.holders[0].id) ?? `${key.holders[0].host}:${key.holders[0].port}`}</code>,
          its rendezvous${key.holders.length > 1 && html`; a fact has copies at ${key.holders.slice(1).map((holder, which) => html`${which ? " and " : ""}<code>${holder.host}:${holder.port}</code>`)}`}.
          ${key.problem
            ? html` <span class="problem">It does not answer: ${key.problem}</span>`
            : html` <span class="quiet">Already at that key: ${count(key.facts, "fact")}, ${count(key.templates, "template")}.</span>
                ${key.subscribers === null
                  ? " Who would hear of it by this key is not known: its peer is of an earlier version."
                  : key.subscribers.length === 0
                  ? " By this key nobody hears of it."
                  : html` It goes on to ${key.subscribers.map(({ id, address, templates }, which) => html`${which ? ", " : ""}${id === key.holders[0].id ? "a subscription at that same peer, " : ""}<code>${address}</code> (${count(templates, "template")}${key.templates < templates ? ", among them such as have no constant and wait everywhere" : ""})`)}${key.is_partial && " and others"}.`}`}
        </li>`)}
      </ol>
    </div>
    <p class="bar"><span>${heard.size === 0 ? (now.keys.every(({ subscribers }) => subscribers) ? "Nobody has subscribed to it." : "Nobody who is known would hear of it.") : `${count(heard.size, "peer")} would hear of it.`}</span>
      <button onClick=${() => (shown.value = { ...now }, step.value = 0)}>Play again</button>
      <span class="legend"><span class="publish">— published</span> <span class="replicate">┄ copied</span> <span class="notify">╌ told</span></span></p>
  </section>`;
}

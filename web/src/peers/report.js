/** How the peers are, asked for again and again while a screen shows it. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { client } from "../connection.js";

/** Once a second would be asked of all peers by every page that is open. */
const ASK_MS = 3_000;
/** Points of a rate's history: five minutes. */
const POINTS = 100;

export const report = signal({ peers: [], silent: [], membership: [] });
export const error = signal(null);
/** By peer, the latest rates of what it counts, oldest first: `{ published, matched, sent_messages }`. */
export const rates = signal(new Map());
/** By peer, what its counters said when the page first heard of it: what has grown since then is news. */
const first = new Map();
/** By peer, what it said last, and when. */
const last = new Map();

function learn(peers, silent, now) {
  const histories = new Map();
  for (const each of peers) {
    const before = last.get(each.peer);
    const history = rates.value.get(each.peer) ?? [];
    if (!before || before.each.started_s !== each.started_s) first.set(each.peer, each.counts);
    else {
      const aSecond = (name) => ((each[name] - before.each[name]) * 1_000) / (now - before.now);
      history.push({ published: aSecond("published"), matched: aSecond("matched"), sent_messages: aSecond("sent_messages") });
    }
    histories.set(each.peer, history.slice(-POINTS));
    last.set(each.peer, { each, now });
  }
  const known = new Set([...peers, ...silent].map(({ peer }) => peer));
  for (const peer of last.keys()) {
    if (!known.has(peer)) {
      last.delete(peer);
      first.delete(peer);
    }
  }
  rates.value = histories;
}

async function ask() {
  try {
    const told = await client.value.ask({ type: "ask_report" });
    learn(told.peers, told.silent, performance.now());
    report.value = told;
    error.value = null;
  } catch (problem) {
    error.value = problem;
  }
}

/** Ask now, and again while whoever calls this is on the screen. */
export function useReport() {
  useEffect(() => {
    void ask();
    const timer = setInterval(ask, ASK_MS);
    return () => clearInterval(timer);
  }, []);
}

/** How much a counter of a peer has grown since the page first asked. */
export const grown = (each, name) => (each.counts[name] ?? 0) - (first.get(each.peer)?.[name] ?? 0);

/** Those that went and are not back, from what is told of who came and went. */
export function goneOf(changes = [], peers = []) {
  const last = new Map(changes.map((each) => [each.peer, each]));
  for (const { peer } of peers) last.delete(peer);
  return [...last.values()].filter(({ what }) => what === "went");
}

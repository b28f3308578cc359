/** The latest records of the peer's log. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { number, time } from "../format.js";
import { html } from "../html.js";

const ASK_MS = 2_000;
/** Records that are kept here; the peer keeps as many. */
const MOST = 500;
const LEVELS = ["INFO", "WARNING", "ERROR", "CRITICAL"];

const records = signal([]);
const missed = signal(0);
const problem = signal("");
const least = signal("INFO");
const wanted = signal("");

/** When the log began whose records are here: a peer that was started again begins another. */
let since = "";
let isAsking = false;

async function ask() {
  if (isAsking) return;
  isAsking = true;
  try {
    const after = records.value.at(-1)?.number ?? 0;
    const answer = await fetch(`/log?after=${after}`, { headers: { accept: "application/json" } });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.detail);
    problem.value = "";
    if (told.since !== since) {
      since = told.since;
      records.value = [];
      missed.value = 0;
      // Of another log the numbers were others'; whoever asked for all of it has it.
      if (after) return;
    }
    if (after && told.first > after + 1) missed.value += told.first - after - 1;
    if (told.records.length) records.value = [...records.value, ...told.records].slice(-MOST);
  } catch (error) {
    problem.value = error.message;
  } finally {
    isAsking = false;
  }
}

export function Log() {
  useEffect(() => {
    void ask();
    const timer = setInterval(ask, ASK_MS);
    return () => clearInterval(timer);
  }, []);
  const words = wanted.value.toLowerCase();
  const shown = records.value
    .filter(({ level, message, logger }) => LEVELS.indexOf(level) >= LEVELS.indexOf(least.value) && `${logger} ${message}`.toLowerCase().includes(words))
    .reverse();
  return html`<div class="log">
    <h1>Log</h1>
    <div class="bar">
      <label>Level at least <select value=${least.value} onChange=${(event) => (least.value = event.currentTarget.value)}>${LEVELS.map((level) => html`<option>${level}</option>`)}</select></label>
      <label>containing <input type="search" value=${wanted.value} onInput=${(event) => (wanted.value = event.currentTarget.value)} /></label>
      <span class="quiet" role="status">${number(shown.length)} of ${number(records.value.length)} records</span>
    </div>
    ${problem.value && html`<p class="problem" role="alert">${problem.value}</p>`}
    ${missed.value > 0 && html`<p class="note">${number(missed.value)} records were gone before they were asked for.</p>`}
    ${shown.length === 0 && !problem.value
      ? html`<p class="empty">No such record. What the peer says at INFO and above appears here, the newest first.</p>`
      : html`<ol class="records">${shown.map(
          (each) => html`<li key=${each.number} class=${each.level.toLowerCase()}>
            <time datetime=${each.time}>${time(Date.parse(each.time))}</time> <b>${each.level}</b> <span><code>${each.logger}</code> ${each.message}${each.exception && html`<pre>${each.exception}</pre>`}</span>
          </li>`,
        )}</ol>`}
  </div>`;
}

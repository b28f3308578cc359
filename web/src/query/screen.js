/** The screen where queries are asked and watched. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { client, state as connection } from "../connection.js";
import { number } from "../format.js";
import { html } from "../html.js";
import { remember, route } from "../route.js";
import { Chart } from "./chart.js";
import { COPIES } from "./copies.js";
import { Editor } from "./editor.js";
import { EXAMPLES, PREFIXES } from "./examples.js";
import { Feed } from "./feed.js";
import { Plan } from "./plan.js";
import { languageOf, Running } from "./running.js";
import { Table } from "./table.js";
import { askWhy, askWhyNot, Why } from "./why.js";

const TABS = ["Rows", "Changes", "Chart", "Plan"];

const text = signal(EXAMPLES[0][2]);
const chosen = signal("auto");
const language = signal("gsg");
const running = signal(null);
const tab = signal("Rows");
const plan = signal({});
const copied = signal("");

/** What was asked for last, by the address or here: another address asks for something else. */
let asked = "";
const askedBy = (query, said) => JSON.stringify([query, said]);

function follow() {
  const { q, language: said = "auto", watch } = route.value.parameters;
  if (route.value.screen !== "query" || q === undefined || askedBy(q, said) === asked) return;
  text.value = q;
  chosen.value = said;
  asked = askedBy(q, said);
  if (watch) void run({ once: false });
}

async function run({ once }) {
  asked = askedBy(text.value, chosen.value);
  await running.value?.stop();
  language.value = chosen.value === "auto" ? languageOf(text.value) : chosen.value;
  remember({ q: text.value, ...(chosen.value === "auto" ? {} : { language: chosen.value }), ...(once ? {} : { watch: "1" }) });
  const made = new Running(text.value, language.value);
  running.value = made;
  plan.value = {};
  if (once) {
    const unsubscribe = made.state.subscribe((state) => {
      if (state === "up to date") {
        made.isAnswered = true;
        queueMicrotask(() => unsubscribe());
        void made.stop();
      }
    });
  }
  await made.start(client.value);
  if (tab.value === "Plan") await explain();
}

async function explain() {
  try {
    plan.value = { plan: await client.value.explain(text.value, chosen.value === "auto" ? languageOf(text.value) : chosen.value) };
  } catch (error) {
    plan.value = { error };
  }
}

async function copy(kind) {
  await navigator.clipboard.writeText(COPIES[kind](text.value, languageOf(text.value), location.origin));
  copied.value = kind;
  setTimeout(() => (copied.value = ""), 2_000);
}

const STATES = { making: "starting", ended: "stopped" };

function Counts({ now }) {
  const { plus, minus, events, rows, rate } = now.counts.value;
  const isLost = connection.value !== "open" && now.state.value !== "ended";
  const state = isLost ? "lost" : now.state.value;
  return html`<p class="counts" role="status">
    <span class=${`state ${state === "up to date" || now.isAnswered ? "good" : ""}`}>${isLost ? "as before the peer was lost" : now.isAnswered ? "answered" : (STATES[state] ?? state)}</span>
    <span><b>${number(rows)}</b> ${rows === 1 ? "row holds" : "rows hold"}</span>
    <span class="plus"><b>+${number(plus)}</b> came</span>
    <span class="minus"><b>−${number(minus)}</b> went</span>
    ${events > 0 && html`<span class="event"><b>!${number(events)}</b> ${events === 1 ? "event" : "events"}</span>`}
    ${state === "up to date" && html`<span><b>${number(Math.round(rate))}</b> changes/s lately</span>`}
  </p>`;
}

function WhyNot({ now }) {
  const ask = (event) => {
    event.preventDefault();
    const row = {};
    for (const [name, said] of new FormData(event.currentTarget)) if (said) row[name] = read(said);
    void askWhyNot(now, row);
  };
  return html`<details class="why-not">
    <summary>A row is missing?</summary>
    <form onSubmit=${ask}>
      ${now.variables.value.map(
        (name) => html`<label>?${name} <input name=${name} placeholder="^symbol, “text”, 21, <iri>" autocomplete="off" /></label>`,
      )}
      <button>Why not?</button>
    </form>
  </details>`;
}

/** A term as somebody types it. */
function read(said) {
  const typed = said.trim();
  if (/^<.*>$/.test(typed)) return { iri: typed.slice(1, -1) };
  if (/^\^/.test(typed)) return { symbol: typed.slice(1) };
  if (/^".*"$/.test(typed)) return typed.slice(1, -1);
  if (typed !== "" && !Number.isNaN(Number(typed))) return Number(typed);
  return { symbol: typed };
}

function choose(name) {
  tab.value = name;
  if (name === "Plan") void explain();
  document.getElementById(`tab-${name}`)?.focus();
}

function Results({ now }) {
  return html`<section class="results" aria-label="Results">
    <${Counts} now=${now} />
    ${now.notices.value.map((notice) => html`<p class="note">${notice.problem ?? "The connection was lost: rows go on from what is true now, and events may have been missed."}</p>`)}
    ${now.warnings.value.map((warning) => html`<p class="warn">${warning}</p>`)}
    <div class="tabs" role="tablist" aria-label="How it is shown" onKeyDown=${(event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Home") choose(TABS[0]);
      else if (event.key === "End") choose(TABS.at(-1));
      else if (step) choose(TABS[(TABS.indexOf(tab.value) + step + TABS.length) % TABS.length]);
    }}>
      ${TABS.map(
        (name) => html`<button id=${`tab-${name}`} role="tab" aria-selected=${tab.value === name} aria-controls="shown" tabindex=${tab.value === name ? 0 : -1}
          onClick=${() => choose(name)}>${name}</button>`,
      )}
    </div>
    <div id="shown" role="tabpanel" aria-labelledby=${`tab-${tab.value}`}>
    ${tab.value === "Rows" && now.state.value !== "making" && html`
      ${now.rows.value.length === 0
        ? now.error.value === null && html`<p class="empty">No row holds. ${now.state.value === "up to date" ? "One that becomes true appears here." : ""}</p>`
        : html`<${Table} variables=${now.variables.value} rows=${now.rows.value} onPick=${(row) => askWhy(now, row)} />`}
      ${now.number && html`<${WhyNot} now=${now} />`}`}
    ${tab.value === "Changes" && html`<${Feed} running=${now} />`}
    ${tab.value === "Chart" && html`<${Chart} running=${now} />`}
    ${tab.value === "Plan" && html`<${Plan} ...${plan.value} />`}
    </div>
  </section>`;
}

export function Query() {
  const now = running.value;
  const error = now?.error.value;
  const watching = now && now.state.value !== "ended";
  useEffect(follow, [route.value]);
  useEffect(() => {
    language.value = chosen.value === "auto" ? languageOf(text.value) : chosen.value;
  }, [text.value, chosen.value]);
  return html`<div class="query">
    <section class="ask" aria-label="Query">
      <div class="bar">
        <label>Examples <select onChange=${(event) => {
          const [, , example] = EXAMPLES[event.currentTarget.value];
          text.value = example;
          event.currentTarget.selectedIndex = 0;
        }}>
          <option>choose…</option>
          ${EXAMPLES.map(([name], at) => html`<option value=${at}>${name}</option>`)}
        </select></label>
        ${language.value === "sparql" && html`<label>Prefix <select onChange=${(event) => {
          const name = event.currentTarget.value;
          const line = `PREFIX ${name}: <${PREFIXES[name]}>\n`;
          if (!text.value.includes(line)) text.value = line + text.value;
          event.currentTarget.selectedIndex = 0;
        }}>
          <option>add…</option>
          ${Object.keys(PREFIXES).map((name) => html`<option value=${name}>${name}</option>`)}
        </select></label>`}
        <label>Language <select value=${chosen.value} onChange=${(event) => (chosen.value = event.currentTarget.value)}>
          <option value="auto">${`detected: ${language.value === "sparql" ? "SPARQL" : "GSG"}`}</option>
          <option value="gsg">GSG script</option>
          <option value="sparql">SPARQL</option>
        </select></label>
      </div>
      <${Editor} text=${text} language=${language} problem=${error?.line ? { line: error.line, column: error.column, problem: error.problem ?? error.message } : null} onAsk=${() => run({ once: true })} />
      ${error && html`<p class="problem" role="alert">${error.message}</p>`}
      <div class="bar">
        <button class="main" disabled=${connection.value !== "open"} onClick=${() => run({ once: false })}>Watch</button>
        <button disabled=${connection.value !== "open"} onClick=${() => run({ once: true })} title="Ctrl-Enter">Ask once</button>
        ${watching && html`<button onClick=${() => now.stop()}>Stop</button>`}
        <span class="push"></span>
        <span class="quiet">Copy as</span>
        ${Object.keys(COPIES).map((kind) => html`<button class="link" onClick=${() => copy(kind)}>${copied.value === kind ? "copied" : kind}</button>`)}
      </div>
    </section>
    ${now ? html`<${Results} now=${now} />` : html`<p class="empty">Watch a query: rows that hold appear here, and come and go as the world changes.</p>`}
    <${Why} />
  </div>`;
}

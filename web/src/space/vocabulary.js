/** What is in the space: which constants stand where, under how many facts, and who waits for them. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { client } from "../connection.js";
import { number, term, written } from "../format.js";
import { html } from "../html.js";
import { Term } from "../query/table.js";
import { address } from "../route.js";

const ASK_MS = 5_000;
const MOST = 200;

const told = signal(null);
const error = signal(null);
/** Facts of each constant when it was asked for before, and when that was: rates are made of two. */
const rates = signal(new Map());
let before = { at: 0, facts: new Map() };
const wanted = signal("");

const nameOf = ({ arity, position, constant, long }) => `${arity} ${position} ${long ?? term(constant).full}`;

async function ask() {
  try {
    const found = await client.value.vocabulary(MOST);
    const at = performance.now();
    const facts = new Map(found.constants.map((one) => [nameOf(one), one.facts]));
    if (before.at) {
      rates.value = new Map([...facts].filter(([name]) => before.facts.has(name)).map(([name, count]) => [name, ((count - before.facts.get(name)) * 1_000) / (at - before.at)]));
    }
    before = { at, facts };
    told.value = found;
    error.value = null;
  } catch (problem) {
    error.value = problem;
  }
}

/** Where a constant stands: its pattern with stars, as it can be typed on the screen of peers. */
const positionOf = ({ arity, position }) => `(${Array.from({ length: arity }, (_, at) => (at === position ? "■" : "*")).join(", ")})`;

/** The pattern of tuples that have a constant at a position, the rest being variables; null for one that cannot be written. */
export function patternOf({ arity, position, constant }) {
  const said = written(constant);
  if (said === null) return null;
  const names = arity === 3 ? ["s", "p", "o"] : Array.from({ length: arity }, (_, at) => `v${at + 1}`);
  return `(${names.map((name, at) => (at === position ? said : `?${name}`)).join(", ")})`;
}

/** Everything around an IRI: triples that have it first, and last. */
const around = (iri) => `SELECT * WHERE {\n  { <${iri}> ?to ?there } UNION { ?from ?by <${iri}> }\n}`;

function Rate({ value }) {
  if (!value) return html`<td class="figure roomy"></td>`;
  return html`<td class=${`figure roomy ${value > 0 ? "plus" : "minus"}`}>${value > 0 ? "+" : "−"}${number(Math.abs(Math.round(value * 10) / 10))}</td>`;
}

export function Vocabulary() {
  useEffect(() => {
    void ask();
    const timer = setInterval(ask, ASK_MS);
    return () => clearInterval(timer);
  }, []);
  if (error.value) return html`<p class="problem" role="alert">${error.value.message}</p>`;
  if (!told.value) return html`<p class="empty">Asking all peers…</p>`;
  const { constants, totals, silent } = told.value;
  const shown = constants.filter(({ constant, long }) => (long ?? term(constant).full).toLowerCase().includes(wanted.value.toLowerCase()));
  return html`<section aria-label="What is there">
    <p>${totals.every(({ facts }) => facts === 0)
      ? "Nothing is in the space yet."
      : totals.filter(({ facts }) => facts > 0).map(({ arity, facts }) => html`<span class="pair"><b>${number(facts)}</b> ${facts === 1 ? "fact" : "facts"} of ${number(arity)} ${arity === 1 ? "term" : "terms"}</span> `)}</p>
    ${silent.length > 0 && html`<p class="warn">Not counted are those of ${silent.map(({ address: at }) => at).join(", ")}, which did not answer.</p>`}
    ${totals.length === 0
      ? html`<p class="empty"><a href=${address("space", { part: "publish" })}>Publish something</a>, and what it is made of is listed here.</p>`
      : html`
      <label class="bar">Only those with <input type="search" value=${wanted.value} onInput=${(event) => (wanted.value = event.currentTarget.value)} /></label>
      <div class="wide" tabindex="0" role="region" aria-label="Constants">
        <table>
          <thead><tr><th scope="col">Constant</th><th scope="col">Pattern</th>
            <th scope="col" class="figure">Facts</th><th scope="col" class="figure roomy">Facts/s</th><th scope="col" class="figure roomy">Templates</th><th scope="col">Look</th></tr></thead>
          <tbody>${shown.map((one) => html`<tr key=${nameOf(one)}>
            <th scope="row">${one.long ? html`<span class="quiet">a long one, ${one.long.slice(0, 40)}…</span>` : html`<${Term} value=${one.constant} />`}</th>
            <td><code>${positionOf(one)}</code></td>
            <td class="figure">${number(one.facts)}</td><${Rate} value=${rates.value.get(nameOf(one))} />
            <td class="figure roomy">${number(one.templates)}</td>
            <td>${patternOf(one) && html`<a href=${address("query", { q: patternOf(one), watch: "1" })}>watch</a>`}${one.constant?.iri && html` <a href=${address("query", { q: around(one.constant.iri), language: "sparql", watch: "1" })}>around it</a>`}</td>
          </tr>`)}</tbody>
        </table>
      </div>
      <p class="quiet">${constants.length < MOST ? "" : `The ${number(MOST)} with the most facts are listed. `}■ is where the constant stands; all peers were asked. A template is what a subscription waits for.</p>`}
  </section>`;
}

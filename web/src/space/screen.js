/** Tell the space something: facts and events, in GSG script's terms. */

import { signal } from "@preact/signals";

import { client } from "../connection.js";
import { html } from "../html.js";
import { readTuples } from "./tuples.js";

const said = signal("(kitchen, ^temperature, 21.5)");
const told = signal(null);

const VERBS = [
  ["Insert", (tuples) => client.value.insert(tuples), (count) => `${count} became true`],
  ["Retract", (tuples) => client.value.retract(tuples), (count) => `${count} stopped being true`],
  ["Notify", (tuples) => client.value.notify(tuples), () => "told to those who are subscribed now"],
];

async function publish(verb, words) {
  try {
    const count = await verb(readTuples(said.value));
    told.value = { good: words(count) };
  } catch (error) {
    told.value = { problem: error.message };
  }
}

export function Space() {
  return html`<div class="space">
    <h1>Publish</h1>
    <p class="quiet">Tuples, one after the other: <code>word</code> or <code>^word</code> is a symbol, <code>"words"</code> a text, <code>${"<iri>"}</code> an IRI.
      A fact stays until it is retracted; an event is told once.</p>
    <label class="stacked">Tuples
      <textarea rows="5" spellcheck="false" value=${said.value} onInput=${(event) => (said.value = event.currentTarget.value)}></textarea>
    </label>
    <div class="bar">
      ${VERBS.map(([name, verb, words], at) => html`<button class=${at === 0 ? "main" : ""} onClick=${() => publish(verb, words)}>${name}</button>`)}
    </div>
    ${told.value?.good && html`<p class="good" role="status">${told.value.good}</p>`}
    ${told.value?.problem && html`<p class="problem" role="alert">${told.value.problem}</p>`}
  </div>`;
}

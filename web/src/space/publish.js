/** Tell the space something: facts and events, in GSG script's terms; and see which way a tuple would go. */

import { signal } from "@preact/signals";

import { client } from "../connection.js";
import { html } from "../html.js";
import { readTuples } from "./tuples.js";
import { showRoute, Walk } from "./walk.js";

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

async function walk() {
  try {
    await showRoute(readTuples(said.value)[0]);
    told.value = null;
  } catch (error) {
    told.value = { problem: error.message };
  }
}

/** Files that the peer reads itself, by the ending of their names (docs/endpoint.md). */
const GRAPHS = { ttl: "text/turtle", nt: "application/n-triples", nq: "application/n-quads", trig: "application/trig", jsonld: "application/ld+json", rdf: "application/rdf+xml" };

async function load(event) {
  const [file] = event.currentTarget.files;
  if (!file) return;
  const type = GRAPHS[file.name.split(".").at(-1)];
  try {
    told.value = { good: `reading ${file.name}…` };
    await put(file, type);
  } catch (error) {
    told.value = { problem: error.message };
  }
}

async function put(file, type) {
  if (type) {
    const answer = await fetch("/graph?default", { method: "POST", headers: { "content-type": type }, body: file });
    told.value = answer.ok ? { good: `${file.name} is in the space` } : { problem: (await answer.json()).detail };
  } else {
    said.value = await file.text();
    told.value = { good: `${file.name} is in the field above: insert it, or notify` };
  }
}

export function Publish() {
  return html`<section aria-label="Publish">
    <p class="quiet">Tuples, one after the other: <code>word</code> or <code>^word</code> is a symbol, <code>"words"</code> a text, <code>${"<iri>"}</code> an IRI.
      A fact stays until it is retracted; an event is told once.</p>
    <label class="stacked">Tuples
      <textarea rows="5" spellcheck="false" value=${said.value} onInput=${(event) => (said.value = event.currentTarget.value)}></textarea>
    </label>
    <div class="bar">
      ${VERBS.map(([name, verb, words], at) => html`<button class=${at === 0 ? "main" : ""} onClick=${() => publish(verb, words)}>${name}</button>`)}
      <button onClick=${walk}>Which way would it go?</button>
      <span class="push"></span>
      <label>or a file <input type="file" accept=".ttl,.nt,.nq,.trig,.jsonld,.rdf,.gsg,.txt" onChange=${load} /></label>
    </div>
    ${told.value?.good && html`<p class="good" role="status">${told.value.good}</p>`}
    ${told.value?.problem && html`<p class="problem" role="alert">${told.value.problem}</p>`}
    <${Walk} />
  </section>`;
}

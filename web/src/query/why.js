/** Why a row holds, and why another does not, as a tree that can be read. */

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { client } from "../connection.js";
import { number } from "../format.js";
import { html } from "../html.js";

/** What is shown: `{ subject, told }`, told being null until the peer has answered. */
export const shown = signal(null);

export async function askWhy(running, row) {
  await ask(running, row, () => client.value.why(running.number, row), "why");
}

export async function askWhyNot(running, row) {
  await ask(running, row, () => client.value.whyNot(running.number, row), "whyNot");
}

async function ask(running, row, question, kind) {
  shown.value = { kind, row, told: null, error: null };
  try {
    shown.value = { kind, row, told: await question(), error: null };
  } catch (error) {
    shown.value = { kind, row, told: null, error };
  }
}

function Reasons({ reasons }) {
  return html`<ul>${reasons.map(
    (reason) => html`<li>
      ${reason.fact ? html`<code class="fact">${reason.fact}</code> meets <code>${reason.what}</code>` : html`<code>${reason.what}</code>: ${reason.said}`}
      ${reason.total > 0 && html` <span class="quiet">${number(reason.total)} solutions</span>`}
      ${reason.inner?.map((inner) => html`<${Reasons} reasons=${inner} />`)}
    </li>`,
  )}</ul>`;
}

function Checks({ check }) {
  const atMost = (count) => (count >= 1_000 ? "1,000 or more" : number(count ?? 0));
  return html`<li class=${check.fails ? "fails" : ""}>
    <code>${check.text}</code>
    ${check.kind === "condition" && html` <span class="quiet">${atMost(check.alone)} match, ${atMost(check.bound)} of them with this row;</span>`}
    ${" "}<span class="quiet">${check.unsure ? "too much to look at" : `${atMost(check.left)} left`}</span>
    ${check.fails && html` <strong>← nothing is left here</strong>`}
    ${check.steps?.length > 0 && html`<ul>${check.steps.map((step) => html`<${Checks} check=${step} />`)}</ul>`}
  </li>`;
}

export function Why() {
  const box = useRef(null);
  const now = shown.value;
  useEffect(() => {
    if (now && !box.current.open) box.current.showModal();
  }, [now]);
  if (!now) return null;
  const { kind, told, error } = now;
  return html`<dialog ref=${box} onClose=${() => (shown.value = null)} aria-labelledby="why-title">
    <h2 id="why-title">${kind === "why" ? "Why this row holds" : "Why this row does not hold"}</h2>
    ${error && html`<p class="problem">${error.message}</p>`}
    ${!told && !error && html`<p class="quiet">Asking the peer…</p>`}
    ${told && html`<p><code>${told.row}</code></p>`}
    ${told && kind === "why" && (told.total
      ? html`<p>${told.total > 1 ? `${number(told.total)} ways to make it${told.total > told.derivations.length ? `, the first ${told.derivations.length}` : ""}:` : "One way to make it:"}</p>
          <div class="tree">${told.derivations.map((reasons) => html`<${Reasons} reasons=${reasons} />`)}</div>`
      : html`<p>It does not hold any more.</p>`)}
    ${told && kind === "whyNot" && (told.holds
      ? html`<p>It holds now.</p>`
      : html`<ul class="because">${told.because.map((each) => html`<li>${each}</li>`)}</ul>
          ${told.notes?.map((note) => html`<p>${note}</p>`)}
          <h3>What each part of the query leaves of it</h3>
          <p class="quiet">Each part works on what the parts below it leave.</p>
          <ul class="tree"><${Checks} check=${told.checks} /></ul>`)}
    <form method="dialog"><button>Close</button></form>
  </dialog>`;
}

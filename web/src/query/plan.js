/** How the peer would answer the query: in which order, and where each condition is posted. */

import { number } from "../format.js";
import { html } from "../html.js";

function Step({ step }) {
  return html`<li>
    <code>${step.text}</code>
    ${step.facts != null && html` <span class="quiet">${number(step.facts)} facts</span>`}
    ${step.product && html` <strong class="warn">shares no variable with what is before it: everything is joined with everything</strong>`}
    ${step.everywhere && html` <strong class="warn">has no constant: it is posted at every peer</strong>`}
    ${step.candidates?.length > 0 && html`<ul>${step.candidates.map(
      (each) => html`<li class=${each.chosen ? "chosen" : "quiet"}>
        ${each.chosen ? "posted at" : "or at"} <code>${each.constant}</code>${each.facts != null ? `, ${number(each.facts)} facts` : ""}${each.peer ? `, ${each.peer}` : ""}
      </li>`,
    )}</ul>`}
    ${step.steps?.length > 0 && html`<ol>${step.steps.map((inner) => html`<${Step} step=${inner} />`)}</ol>`}
  </li>`;
}

export function Plan({ plan, error }) {
  if (error) return html`<p class="problem">${error.message}</p>`;
  if (!plan) return html`<p class="empty">Asking the peer how it would answer…</p>`;
  return html`<div class="tree plan">
    ${plan.warnings?.map((warning) => html`<p class="warn">${warning}</p>`)}
    <ol>${plan.steps.map((step) => html`<${Step} step=${step} />`)}</ol>
    ${plan.sharing > 0 && html`<p class="note">It would share its network with ${number(plan.sharing)} subscriptions that differ in constants alone.</p>`}
    ${plan.counted && html`<p class="note">Facts are those of ${plan.counted}.</p>`}
  </div>`;
}

/** What has changed, the newest first: signs as well as colours say how. */

import { number, time } from "../format.js";
import { html } from "../html.js";
import { Term } from "./table.js";

const WORDS = { "+": "became true", "-": "stopped being true", "!": "event" };
const CLASSES = { "+": "plus", "-": "minus", "!": "event" };

export function Feed({ running }) {
  const { unseen } = running.counts.value;
  const variables = running.variables.value;
  return html`<div class="feed" tabindex="0" role="log" aria-label="Changes">
    ${unseen > 0 && html`<p class="note">${number(unseen)} more have come than are listed here; the counts above have all of them.</p>`}
    <ol>
      ${running.feed.value.map(
        ({ sign, row, at }) => html`<li class=${CLASSES[sign]}>
          <time datetime=${at}>${time(Date.parse(at))}</time>
          <b title=${WORDS[sign]}><span aria-hidden="true">${sign === "-" ? "−" : sign}</span><span class="unseen">${WORDS[sign]}</span></b>
          <span>${variables.map((name) => html`<span class="pair"><i>?${name}</i> <${Term} value=${row[name]} /></span> `)}</span>
        </li>`,
      )}
    </ol>
  </div>`;
}

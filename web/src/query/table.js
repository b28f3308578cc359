/** Rows as a table of which the part that is seen is there: a hundred thousand scroll like ten. */

import { useRef, useState } from "preact/hooks";

import { number, term } from "../format.js";
import { html } from "../html.js";

const ROW_PX = 30;
/** Rows above and below those that are seen. */
const SPARE = 12;

export function Term({ value }) {
  const { text, full, kind } = term(value);
  return html`<span class=${`term ${kind}`} title=${full}>${text}</span>`;
}

/** `rows` are `{ key, row, count }`; `onPick` is called with a row that is clicked. */
export function Table({ variables, rows, onPick }) {
  const box = useRef(null);
  const [top, setTop] = useState(0);
  const height = box.current?.clientHeight ?? 480;
  const first = Math.max(0, Math.floor(top / ROW_PX) - SPARE);
  const shown = rows.slice(first, first + Math.ceil(height / ROW_PX) + 2 * SPARE);
  const numbers = new Set(variables.filter((name) => shown.length && shown.every(({ row }) => term(row[name]).kind === "number")));
  return html`<div class="table" ref=${box} tabindex="0" role="region" aria-label="Rows that hold" onScroll=${(event) => setTop(event.currentTarget.scrollTop)}>
    <table aria-rowcount=${rows.length + 1}>
      <thead><tr>
        ${variables.map((name) => html`<th scope="col" class=${numbers.has(name) ? "figure" : ""}>?${name}</th>`)}
        <th scope="col" class="narrow"><span class="unseen">Why</span></th>
      </tr></thead>
      <tbody>
        <tr aria-hidden="true" class="filler"><td colspan=${variables.length + 1} style=${{ height: `${first * ROW_PX}px` }}></td></tr>
        ${shown.map(
          (held, at) => html`<tr key=${held.key} aria-rowindex=${first + at + 2}>
            ${variables.map((name) => html`<td class=${numbers.has(name) ? "figure" : ""}><${Term} value=${held.row[name]} /></td>`)}
            <td class="narrow">
              ${held.count > 1 && html`<span class="often" title=${`${number(held.count)} times`}>×${number(held.count)}</span>`}
              <button class="link" onClick=${() => onPick(held.row)} aria-label="Why does this row hold?">why</button>
            </td>
          </tr>`,
        )}
        <tr aria-hidden="true" class="filler">
          <td colspan=${variables.length + 1} style=${{ height: `${Math.max(0, rows.length - first - shown.length) * ROW_PX}px` }}></td>
        </tr>
      </tbody>
    </table>
  </div>`;
}

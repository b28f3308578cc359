/** The ring of keys: where each peer's id lies, and how much of the keys it holds. Colour and shape say how it is. */

import { html } from "../html.js";

const RADIUS = 120;
const CENTRE = 150;

/** The angle of an id: 160 bits in hexadecimal, from the top and clockwise. */
const angle = (id) => (parseInt(id.slice(0, 8), 16) / 2 ** 32) * 2 * Math.PI;
const point = (at, radius) => [CENTRE + radius * Math.sin(at), CENTRE - radius * Math.cos(at)];

function Mark({ id, label, is }) {
  const [x, y] = point(angle(id), RADIUS);
  return html`<g class=${is}>
    <title>${label}</title>
    ${is === "silent" ? html`<rect x=${x - 6} y=${y - 6} width="12" height="12" />` : html`<circle cx=${x} cy=${y} r="7" />`}
  </g>`;
}

export function Ring({ peers, silent }) {
  const largest = Math.max(...peers.map(({ share }) => share), 0.000_1);
  return html`<figure class="ring">
    <svg viewBox="0 0 300 300" role="img" aria-label=${`The ring of keys with ${peers.length} peers`}>
      <circle cx=${CENTRE} cy=${CENTRE} r=${RADIUS} class="keys" />
      ${peers.map(({ peer, share, address }) => {
        const [x, y] = point(angle(peer), RADIUS - 12);
        const [inner, top] = point(angle(peer), RADIUS - 12 - (60 * share) / largest);
        return html`<line class="share" x1=${x} y1=${y} x2=${inner} y2=${top}><title>${`${address}: ${(share * 100).toFixed(1)} % of the keys`}</title></line>`;
      })}
      ${peers.map(({ peer, address }, at) => html`<${Mark} id=${peer} label=${address} is=${at === 0 ? "own" : "alive"} />`)}
      ${silent.map(({ peer, address }) => html`<${Mark} id=${peer} label=${`${address}, silent`} is="silent" />`)}
    </svg>
    <figcaption>
      <span class="own">● this peer</span> <span class="alive">● answers</span> <span class="silent">■ silent</span>
      <span class="quiet">lines: share of keys</span>
    </figcaption>
  </figure>`;
}

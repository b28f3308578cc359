/**
 * The ring of keys: where each peer's id lies, and how much of the keys it holds. Colour and shape say how it is, and a route what
 * a tuple passes on its way.
 */

import { html } from "./html.js";

const RADIUS = 120;
const CENTRE = 150;
const LONGEST_PX = 60;

/** The angle of an id: 160 bits in hexadecimal, from the top and clockwise. */
const angle = (id) => (parseInt(id.slice(0, 8), 16) / 2 ** 32) * 2 * Math.PI;
const point = (id, radius = RADIUS) => [CENTRE + radius * Math.sin(angle(id)), CENTRE - radius * Math.cos(angle(id))];

/** How a mark looks: each state has a shape and a colour of its own. */
const SHAPES = {
  own: ([x, y]) => html`<circle cx=${x} cy=${y} r="8" />`,
  alive: ([x, y]) => html`<circle cx=${x} cy=${y} r="6" />`,
  suspect: ([x, y]) => html`<path d=${`M${x} ${y - 8}L${x + 8} ${y + 6}L${x - 8} ${y + 6}z`} />`,
  gone: ([x, y]) => html`<path class="cross" d=${`M${x - 6} ${y - 6}L${x + 6} ${y + 6}M${x + 6} ${y - 6}L${x - 6} ${y + 6}`} />`,
  key: ([x, y]) => html`<path d=${`M${x} ${y - 7}L${x + 7} ${y}L${x} ${y + 7}L${x - 7} ${y}z`} />`,
};

/** Beyond, addresses would stand on each other: they are read by pointing. */
const MOST_NAMED = 16;
/** The angle below which names would stand on each other. */
const NEAR = 0.12;

function Mark({ id, label, is, name = "", far = 0 }) {
  const [x, y] = point(id, RADIUS + 13 + far);
  const anchor = x < CENTRE - 20 ? "end" : x > CENTRE + 20 ? "start" : "middle";
  return html`<g class=${is}><title>${label}</title>${SHAPES[is](point(id))}${name && html`<text x=${x} y=${y + 4} text-anchor=${anchor}>${name}</text>`}</g>`;
}

/** What tells peers apart: their ports where they are on one host, else their addresses. */
function namesOf(peers) {
  const hosts = new Set(peers.map(({ address }) => address.replace(/:\d+$/, "")));
  if (peers.length > MOST_NAMED) return () => "";
  return ({ address }) => (hosts.size === 1 ? address.replace(/^.*:(?=\d+$)/, ":") : address);
}

/** How far from the centre each kind bends: what goes between the same peers is not to hide the other. */
const BENDS = { publish: 0.15, replicate: 0.55, notify: 0.9 };

/** How far out each name stands: of peers that are near each other every next one further. */
function distances(peers) {
  const far = new Map();
  let before = -1;
  let step = 0;
  for (const { peer } of [...peers].sort((one, other) => angle(one.peer) - angle(other.peer))) {
    step = before >= 0 && angle(peer) - before < NEAR ? (step + 1) % 3 : 0;
    far.set(peer, step * 13);
    before = angle(peer);
  }
  return far;
}

/** Leaps from one place of the ring to another, one after the other; `step` says how many are there, the last one moving. */
function Leaps({ leaps, step }) {
  return leaps.slice(0, step).map(({ from, to, kind, label }, at) => {
    const [[x1, y1], [x2, y2]] = [point(from), point(to)];
    const [bendX, bendY] = [x1 + x2, y1 + y2].map((sum) => CENTRE + (sum / 2 - CENTRE) * BENDS[kind]);
    const bend = `Q${bendX} ${bendY} ${x2} ${y2}`;
    const d = from === to ? `M${x1} ${y1}m0 -9a9 9 0 1 1 -0.1 0` : `M${x1} ${y1}${bend}`;
    return html`<path key=${`${at}-${d}`} class=${`leap ${kind} ${at === step - 1 ? "now" : ""}`} d=${d} pathLength="1" marker-end="url(#leap-head)"><title>${label}</title></path>`;
  });
}

/**
 * `peers` and `silent` as a report has them; `gone` are those that went lately; `keys` are `{ key, holder, label }`, `leaps` what moves
 * between marks, of which `step` are shown.
 */
export function Ring({ peers, silent, gone = [], keys = [], leaps = [], step = leaps.length }) {
  const nameOf = namesOf([...peers, ...silent, ...gone]);
  const far = distances([...peers, ...silent, ...gone]);
  const largest = Math.max(...peers.map(({ share }) => share), 0.000_1);
  return html`<figure class="ring">
    <svg viewBox="-50 0 400 300" role="img" aria-label=${`The ring of keys with ${peers.length} peers${silent.length ? `, ${silent.length} silent` : ""}`}>
      <defs><marker id="leap-head" viewBox="0 0 8 8" refX="13" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path class="leap-head" d="M0 0L8 4L0 8z" /></marker></defs>
      <circle cx=${CENTRE} cy=${CENTRE} r=${RADIUS} class="keys" />
      ${peers.map(({ peer, share, address }) => {
        const [x, y] = point(peer, RADIUS - 12);
        const [inner, top] = point(peer, RADIUS - 12 - (LONGEST_PX * share) / largest);
        return html`<line class="share" x1=${x} y1=${y} x2=${inner} y2=${top}><title>${`${address}: ${(share * 100).toFixed(1)} % of the keys`}</title></line>`;
      })}
      ${keys.map(({ key, holder }) => {
        const [[x1, y1], [x2, y2]] = [point(key), point(holder)];
        return html`<line class="held" x1=${x1} y1=${y1} x2=${x2} y2=${y2} />`;
      })}
      <${Leaps} leaps=${leaps} step=${step} />
      ${gone.map(({ peer, address }) => html`<${Mark} id=${peer} label=${`${address}, gone`} name=${nameOf({ address })} far=${far.get(peer)} is="gone" />`)}
      ${peers.map((each, at) => html`<${Mark} id=${each.peer} label=${`${each.address}, ${(each.share * 100).toFixed(1)} % of the keys`} name=${nameOf(each)} far=${far.get(each.peer)} is=${at === 0 ? "own" : each.state === "suspected" ? "suspect" : "alive"} />`)}
      ${silent.map((each) => html`<${Mark} id=${each.peer} label=${`${each.address}, suspect`} name=${nameOf(each)} far=${far.get(each.peer)} is="suspect" />`)}
      ${keys.map(({ key, label }) => html`<${Mark} id=${key} label=${label} is="key" />`)}
    </svg>
    <figcaption>
      <span class="own">● this peer</span> <span class="alive">● alive</span>
      ${(silent.length > 0 || peers.some(({ state }) => state === "suspected")) && html`<span class="suspect">▲ suspect</span>`} ${gone.length > 0 && html`<span class="gone">✕ gone</span>`}
      ${keys.length > 0 && html`<span class="key">◆┈ key and its rendezvous: the nearest by XOR of ids, not round the ring</span>`}
      <span class="quiet">inner lines: share of the keys</span>
    </figcaption>
  </figure>`;
}

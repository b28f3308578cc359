/** The Rete network of a subscription, drawn in layers; how much each node holds moves as the world changes. */

import { graphlib, layout } from "@dagrejs/dagre";
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { client } from "../connection.js";
import { count, size } from "../format.js";
import { html } from "../html.js";
import { address } from "../route.js";

const ASK_MS = 1_000;
const LINE_CHARACTERS = 44;
const LINES = 8;
const CHARACTER_PX = 7.4;
const LINE_PX = 17;
const PAD_PX = 9;

const view = signal(null);
const error = signal(null);
const chosen = signal(null);
/** Which nodes held something else a moment ago. */
const moved = signal(new Set());
let placed = { of: "", nodes: [], edges: [], width: 0, height: 0 };

/** Which subscription's network is shown: an answer of the one before comes too late. */
let shown = null;

async function ask(subscription) {
  try {
    const told = await client.value.network(subscription);
    if (subscription !== shown) return;
    const before = new Map(view.value?.nodes.map(({ id, count }) => [id, count]));
    moved.value = new Set(told.nodes.filter(({ id, count }) => before.has(id) && before.get(id) !== count).map(({ id }) => id));
    view.value = told;
    error.value = null;
  } catch (problem) {
    error.value = problem;
  }
}

/** A text in lines of a node's width, cut at blanks where there are some; what is more than LINES is in the node's name. */
function wrapped(text) {
  const lines = [];
  for (let word of text.split(" ")) {
    if (lines.length && lines.at(-1).length + word.length < LINE_CHARACTERS) {
      lines[lines.length - 1] += ` ${word}`;
      continue;
    }
    for (; word.length > LINE_CHARACTERS; word = word.slice(LINE_CHARACTERS)) lines.push(word.slice(0, LINE_CHARACTERS));
    lines.push(word);
  }
  const filled = lines.filter(Boolean);
  return filled.length <= LINES ? filled : [...filled.slice(0, LINES - 1), `${filled[LINES - 1].slice(0, LINE_CHARACTERS - 1)}…`];
}

/** Where everything is drawn; asked for again only where the network itself has changed, and not what it holds. */
function place({ nodes, edges }) {
  const of = JSON.stringify([nodes.map(({ id, title, text }) => [id, title, text]), edges]);
  if (of === placed.of) return placed;
  const graph = new graphlib.Graph({ multigraph: true }).setGraph({ ranksep: 42, nodesep: 26, marginx: 8, marginy: 8 });
  for (const node of nodes) {
    const lines = wrapped(node.text);
    const width = Math.max(node.title.length, 14, ...lines.map(({ length }) => length)) * CHARACTER_PX + 2 * PAD_PX;
    graph.setNode(String(node.id), { lines, width, height: (lines.length + 1 + (node.count !== null)) * LINE_PX + 2 * PAD_PX - 4 });
  }
  edges.forEach(({ source, target, kind }, at) => graph.setEdge(String(source), String(target), { kind }, String(at)));
  layout(graph);
  placed = {
    of,
    nodes: nodes.map(({ id }) => ({ id, ...graph.node(String(id)) })),
    edges: graph.edges().map((edge) => graph.edge(edge)),
    width: graph.graph().width,
    height: graph.graph().height,
  };
  return placed;
}

/** A line through the points that bends at their middles. */
function path(points) {
  const [first, ...rest] = points;
  const bends = rest.map((point, at) => {
    const next = rest[at + 1];
    return next ? `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}` : `L${point.x} ${point.y}`;
  });
  return `M${first.x} ${first.y}${bends.join("")}`;
}

const held = ({ count: many, unit }) => count(many, unit);
const KINDS = { AlphaMemory: "memory", Query: "ends", Existence: "negates", Removal: "negates", Selection: "filters" };

function Node({ node, at }) {
  const left = at.x - at.width / 2;
  const top = at.y - at.height / 2;
  const choose = () => (chosen.value = node.id);
  const line = (which, text, style = "") => html`<text class=${style} x=${left + PAD_PX} y=${top + PAD_PX + 11 + which * LINE_PX}>${text}</text>`;
  return html`<g class=${`node ${KINDS[node.kind] ?? "plain"} ${chosen.value === node.id ? "chosen" : ""} ${moved.value.has(node.id) ? "moved" : ""}`}
      tabindex="0" role="button" aria-pressed=${chosen.value === node.id}
      aria-label=${[node.title, node.text, node.count === null ? "" : held(node)].filter(Boolean).join(", ")}
      onClick=${choose} onKeyDown=${(event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          choose();
        }
      }}>
    <rect x=${left} y=${top} width=${at.width} height=${at.height} rx=${KINDS[node.kind] === "memory" || KINDS[node.kind] === "ends" ? 12 : 4} />
    ${line(0, node.title, "title")}
    ${at.lines.map((text, which) => line(which + 1, text))}
    ${node.count !== null && line(at.lines.length + 1, held(node), "count")}
  </g>`;
}

/** What nodes do, by their classes. */
const DOES = {
  AlphaMemory: "The tuples that match a condition, kept for the joins that look into them.",
  Root: "One empty token, from which the joins begin.",
  Join: "Extends each token that comes by the tuples that fit it. Its count is of the tokens that came.",
  Existence: "Lets a token through while its group has no solution (NOT), or has one (EXISTS).",
  Demand: "The tokens about which a group is asked.",
  Selection: "Lets through the tokens that pass a FILTER.",
  Query: "The rows of the answer.",
};

function Chosen({ node }) {
  if (!node) return html`<p class="quiet">Choose a node to read what it does. Counts are asked for every second.</p>`;
  return html`<dl class="chosen">
    <dt>${node.title}</dt>
    <dd>${node.text && html`<code>${node.text}</code>`}</dd>
    ${DOES[node.kind] && html`<dd>${DOES[node.kind]}</dd>`}
    ${node.count !== null && html`<dt>holds</dt><dd>${held(node)}${node.bytes > 0 && `, about ${size(node.bytes)}`}</dd>`}
    ${node.query && html`<dd><a href=${address("query", { q: node.query, watch: "1" })}>Watch what matches its pattern</a></dd>`}
  </dl>`;
}

export function Network({ subscription }) {
  useEffect(() => {
    shown = subscription;
    view.value = null;
    error.value = null;
    chosen.value = null;
    void ask(subscription);
    const timer = setInterval(() => void ask(subscription), ASK_MS);
    return () => clearInterval(timer);
  }, [subscription]);
  if (error.value) return html`<p class="problem" role="alert">${error.value.message}</p>`;
  if (!view.value) return html`<p class="empty">Asking for the network…</p>`;
  const { nodes, edges, width, height } = place(view.value);
  const at = new Map(nodes.map((one) => [one.id, one]));
  return html`<div class="network">
    <div class="drawn" tabindex="0" role="region" aria-label="The network">
      <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="group" aria-label=${`${nodes.length} nodes`}>
        <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" /></marker></defs>
        ${edges.map(({ points, kind }) => html`<path class=${`edge ${kind}`} d=${path(points)} marker-end="url(#arrow)" />`)}
        ${view.value.nodes.map((node) => html`<${Node} key=${node.id} node=${node} at=${at.get(node.id)} />`)}
      </svg>
    </div>
    <p class="legend">
      <span class="memory">▢ alpha memory: the tuples that match a condition</span>
      <span>▭ joins tokens with tuples</span>
      <span class="negates">▭ NOT, EXISTS, MINUS</span>
      <span class="filters">▭ FILTER</span>
      <span class="ends">▢ rows</span>
      <span>— tokens: rows that are not complete yet</span> <span class="memory">┄ tuples</span> <span class="negates">╌ asked by a negation</span>
    </p>
    <${Chosen} node=${view.value.nodes.find(({ id }) => id === chosen.value)} />
  </div>`;
}

/** A column of numbers over time, in one line for all rows or one for each value of another column. */

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";

import { number, term } from "../format.js";
import { html } from "../html.js";
import { isDark } from "../scheme.js";

const HEIGHT_PX = 280;
/** The shortest time that is drawn: of one moment there would be no line, but years. */
const LEAST_S = 10;
/** Lines that are told apart: each has a colour of its own, and every other one is dashed. */
const COLOURS = ["--blue", "--orange", "--green", "--purple"];
const MOST_LINES = 8;

/** `{ name, points }` of each line, those with the most points first; points are [seconds, value, row]. */
function linesBy(points, by) {
  if (!by) return [{ name: "", points }];
  const found = new Map();
  for (const point of points) {
    const { text } = term(point[2][by]);
    if (!found.has(text)) found.set(text, []);
    found.get(text).push(point);
  }
  return [...found].map(([name, some]) => ({ name, points: some })).sort((one, other) => other.points.length - one.points.length);
}

function columns(lines) {
  const tables = lines.map(({ points }) => {
    const sorted = [...points].sort((one, other) => one[0] - other[0]);
    return [sorted.map(([at]) => at), sorted.map(([, value]) => value)];
  });
  return tables.length === 1 ? tables[0] : uPlot.join(tables);
}

export function Chart({ running }) {
  const box = useRef(null);
  const plot = useRef(null);
  const series = running.series.value;
  const names = [...series.keys()];
  const others = running.variables.value;
  const [chosen, choose] = useState(null);
  const [grouped, group] = useState(null);
  const name = names.includes(chosen) ? chosen : names[0];
  // Values of different things in one line would make a zigzag of them.
  const by = grouped ?? others.find((each) => !series.has(each)) ?? "";
  const all = name ? linesBy(series.get(name), by) : [];
  const lines = all.slice(0, MOST_LINES);
  // Made anew only where its lines are others, and not for each point.
  const drawn = JSON.stringify([name, by, lines.map((line) => line.name), isDark.value]);
  useEffect(() => {
    if (!name) return undefined;
    const style = getComputedStyle(document.documentElement);
    const colour = (which) => style.getPropertyValue(which).trim();
    const axis = { stroke: colour("--ink"), grid: { stroke: colour("--line") }, font: "12px system-ui" };
    plot.current = new uPlot(
      {
        width: box.current.clientWidth,
        height: HEIGHT_PX,
        scales: { x: { range: (_, least, most) => [Math.min(least, most - LEAST_S), most] } },
        axes: [axis, { ...axis, size: 64 }],
        legend: { live: true },
        series: [
          { label: "time" },
          ...lines.map((line, at) => ({
            label: `${line.name || `?${name}`}${at >= COLOURS.length ? " ┄" : ""}`,
            stroke: colour(COLOURS[at % COLOURS.length]),
            width: 1.5,
            dash: at >= COLOURS.length ? [6, 4] : undefined,
            points: { size: 5 },
            spanGaps: true,
          })),
        ],
      },
      columns(lines),
      box.current,
    );
    const watching = new ResizeObserver(([{ contentRect }]) => plot.current.setSize({ width: contentRect.width, height: HEIGHT_PX }));
    watching.observe(box.current);
    return () => {
      watching.disconnect();
      plot.current.destroy();
      plot.current = null;
    };
  }, [drawn]);
  useEffect(() => {
    if (name) plot.current?.setData(columns(lines));
  }, [series, drawn]);
  if (!name) return html`<p class="empty">No column has numbers yet. Watch a query with a number in its rows, such as a temperature.</p>`;
  return html`<div class="chart">
    <div class="bar">
      <label>Column <select value=${name} onChange=${(event) => choose(event.currentTarget.value)}>
        ${names.map((each) => html`<option value=${each}>?${each}</option>`)}
      </select></label>
      <label>A line for each <select value=${by} onChange=${(event) => group(event.currentTarget.value)}>
        <option value="">no other column</option>
        ${others.filter((each) => each !== name).map((each) => html`<option value=${each}>?${each}</option>`)}
      </select></label>
      ${all.length > MOST_LINES && html`<span class="note">${number(all.length - MOST_LINES)} more lines have fewer points and are not drawn.</span>`}
    </div>
    <p class="quiet">Points are rows as they became true, and events.</p>
    <div ref=${box} role="img" aria-label=${`?${name} over time, ${number(series.get(name).length)} points`}></div>
  </div>`;
}

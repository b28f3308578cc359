/** A column of numbers over time. */

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";

import { html } from "../html.js";

export function Chart({ running }) {
  const box = useRef(null);
  const plot = useRef(null);
  const series = running.series.value;
  const names = [...series.keys()];
  const [chosen, choose] = useState(null);
  const name = names.includes(chosen) ? chosen : names[0];
  useEffect(() => {
    if (!name) return undefined;
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink").trim();
    const axis = { stroke: ink, grid: { stroke: style.getPropertyValue("--line").trim() }, font: "12px system-ui" };
    const width = box.current.clientWidth;
    plot.current = new uPlot(
      {
        width,
        height: 280,
        axes: [axis, { ...axis, size: 64 }],
        legend: { live: true },
        series: [{ label: "time" }, { label: `?${name}`, stroke: style.getPropertyValue("--blue").trim(), width: 1.5, points: { size: 5 } }],
      },
      columns(series.get(name)),
      box.current,
    );
    const watching = new ResizeObserver(([{ contentRect }]) => plot.current.setSize({ width: contentRect.width, height: 280 }));
    watching.observe(box.current);
    return () => {
      watching.disconnect();
      plot.current.destroy();
      plot.current = null;
    };
  }, [name]);
  useEffect(() => {
    plot.current?.setData(columns(series.get(name)));
  }, [series, name]);
  if (!name) return html`<p class="empty">No column has numbers yet. Watch a query with a number in its rows, such as a temperature.</p>`;
  return html`<div class="chart">
    <label>Column <select value=${name} onChange=${(event) => choose(event.currentTarget.value)}>
      ${names.map((each) => html`<option value=${each}>?${each}</option>`)}
    </select></label>
    <div ref=${box} role="img" aria-label=${`?${name} over time, ${series.get(name).length} points`}></div>
  </div>`;
}

function columns(points) {
  const sorted = [...points].sort((one, other) => one[0] - other[0]);
  return [sorted.map(([at]) => at), sorted.map(([, value]) => value)];
}

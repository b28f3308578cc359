"""How a report looks: the scales of type and space and the colours of the peer's page, by the reader's scheme."""

from __future__ import annotations

from ..drawing.palette import ALL

STYLE = (
    ":root { color-scheme: light dark; "
    + " ".join(colour.declared for colour in ALL)
    + """
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  --s1: 4px; --s2: 8px; --s3: 16px; --s4: 24px;
}
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 var(--sans); color: var(--ink); background: var(--paper); }
main { padding: var(--s3); max-width: 1400px; margin: 0 auto; }
h1 { font-size: 20px; margin: 0; }
h2 { font-size: 18px; margin: var(--s4) 0 var(--s2); }
h3 { font-size: 16px; margin: var(--s3) 0 var(--s2); }
p { margin: var(--s2) 0; max-width: 90ch; overflow-wrap: break-word; }
:focus-visible { outline: 2px solid var(--blue); outline-offset: 1px; }
.quiet, figcaption, small, .notes { color: var(--quiet); }
.notes { white-space: pre-line; font-size: 14px; }

.finding { margin: var(--s3) 0; padding: var(--s2) var(--s3); max-width: 900px; background: var(--field);
  border-inline-start: 4px solid var(--blue); }
.finding p { margin: 0 0 var(--s2); }
.finding:first-of-type p { font-size: 18px; font-weight: 600; }
.bars { list-style: none; margin: 0; padding: 0; display: grid; grid-template-columns: minmax(0, max-content) 1fr max-content;
  gap: var(--s1) var(--s2); align-items: center; font-size: 14px; font-variant-numeric: tabular-nums; }
.bars li { display: contents; }
@media (max-width: 600px) { .bars { grid-template-columns: 1fr; } }
.bars span { overflow-wrap: anywhere; }
.bars .swatch { vertical-align: middle; margin-inline-end: var(--s1); }
.bars i { --bar: var(--blue); display: block; height: 12px; min-width: 2px; background: var(--bar); }
.bars li + li i { --bar: var(--orange); outline: 1px solid var(--bar);
  background: repeating-linear-gradient(135deg, var(--bar) 0 4px, var(--field) 4px 6px); }

.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 520px), 1fr)); gap: var(--s4); }
figure { margin: 0; min-width: 0; }
figcaption { font-size: 14px; }
figcaption b { display: block; color: var(--ink); font-size: 16px; }
.plot { overflow: hidden; }
.plot > svg { display: block; width: 100%; height: auto; font-family: var(--sans); font-variant-numeric: tabular-nums;
  stroke-linejoin: round; stroke-linecap: butt; }
.plot:not(.labelled) > svg { max-width: 520px; }
.legend { display: none; flex-wrap: wrap; gap: 0 var(--s3); margin: 0; padding: 0; list-style: none; font-size: 14px; }
.legend li { display: flex; align-items: center; gap: var(--s1); min-width: 0; overflow-wrap: anywhere; }
.swatch { flex: none; width: 30px; height: 12px; }

/* The shade at the right says that there is more; where there is none, paper that scrolls along covers it. */
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; background:
  linear-gradient(to left, var(--paper) 24px, transparent) right / 48px 100% no-repeat local,
  linear-gradient(to left, var(--quiet), transparent) right / 12px 100% no-repeat; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
.wide table { width: 100%; }
th, td { padding: 2px var(--s2); height: 30px; border-bottom: 1px solid var(--line); text-align: right; }
th { font-weight: 600; text-align: left; vertical-align: bottom; }
thead th { background: var(--field); }
thead th + th { text-align: right; min-width: 9ch; }
thead small { display: block; font-size: 12px; font-weight: 400; }
td, tbody th { white-space: nowrap; }
.wide th:first-child { position: sticky; left: 0; background: var(--paper); border-inline-end: 1px solid var(--line); }
.wide thead th:first-child { background: var(--field); }
.ran th { vertical-align: top; }
.ran td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
summary { cursor: pointer; margin: var(--s3) 0 var(--s2); font-weight: 600; }

@media (max-width: 600px) {
  main { padding: var(--s2); }
  .labelled > svg { width: 144%; }
  .labelled .ends { display: none; }
  .legend { display: flex; }
  .wide th:first-child { min-width: 11ch; max-width: 40vw; white-space: normal; overflow-wrap: break-word; }
}
@media print { :root { color-scheme: light; } }
"""
)

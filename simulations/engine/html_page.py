"""A report as one HTML file with its plots inside, to be read without network: one look for all experiments.

What was found comes first, then plots, then tables, then what words mean and what ran. There are no scripts: values of points are
titles in the plots (drawing/plots.py), and a long table is folded by the browser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TypeVar

from ..drawing.marks import legend_swatch
from ..drawing.palette import LINES
from .findings import Bar, Finding
from .page_style import STYLE
from .places import writing

RowT = TypeVar("RowT")

FOLDED = 20
"""A table of more rows is folded up."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts. ``units`` say of each column what it is counted in, and which way is good where that is not plain."""

    columns: tuple[str, ...]
    cells: Sequence[tuple[str, ...]]
    units: tuple[str, ...] = ()
    title: str = ""
    legend: str = ""
    """What its words mean: lines, of which each begins with a word of the table."""

    @classmethod
    def from_rows(cls, title: str, columns: Sequence[tuple[str, str, Callable[[RowT], str]]], rows: Iterable[RowT]) -> Table:
        """Rows of anything, by the heading of each column, its unit, and what stands in it; the first column names the row."""
        headings, units = tuple(heading for heading, _, _ in columns), tuple(unit for _, unit, _ in columns)
        return cls(headings, [tuple(text(row) for _, _, text in columns) for row in rows], units, title)


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot as SVG, what it shows, and its legend (items of a list, as HTML), for where labels have no room."""

    svg: str
    caption: str
    legend: str = ""
    looks: Mapping[str, int] = field(default_factory=dict)
    """The number of the looks of each line, by its name."""


def write_page(file: Path, text: str) -> None:
    """Write a page. Raises BadParameter where it cannot be written."""
    with writing(str(file)):
        file.write_text(text, "utf-8")


def page(
    title: str,
    lead: str,
    tables: Sequence[Table],
    notes: str,
    figures: Sequence[Figure],
    configuration: dict[str, object],
    *,
    findings: Sequence[Finding] = (),
) -> str:
    """The whole document. A bar that is called as a line of the plots has the colour of that line."""
    looks = {name: look for figure in reversed(figures) for name, look in figure.looks.items()}
    return _PAGE.format(
        title=escape(title),
        lead=escape(lead),
        findings="\n".join(_finding(finding, looks) for finding in findings),
        tables="\n".join(_table(table) for table in tables if table.cells),
        notes=f"<h2>What the words mean</h2>\n{_notes(notes)}\n" if notes else "",
        figures="\n".join(map(_drawn, figures)),
        configuration=_configuration(configuration),
        style=STYLE,
    )


def _notes(notes: str) -> str:
    # A line that is indented goes on with the one before.
    joined = re.sub(r"\n +", " ", notes)
    return f'<p class="notes">{escape(joined)}</p>'


def _finding(finding: Finding, looks: Mapping[str, int]) -> str:
    most = max((bar.value for bar in finding.bars), default=0.0) or 1.0
    bars = "".join(_bar(bar, most, looks.get(bar.line or bar.name)) for bar in finding.bars)
    listed = f'<ul class="bars">{bars}</ul>' if bars else ""
    return f'<section class="finding"><p>{escape(finding.text)}</p>{listed}</section>'


def _bar(bar: Bar, most: float, look: int | None) -> str:
    swatch = "" if look is None else legend_swatch(look)
    colour = "" if look is None else f"; --bar: var(--{LINES[look % len(LINES)].name})"
    filled = f'<i style="width: {100 * bar.value / most:.4g}%{colour}"></i>'
    return f"<li><span>{swatch}{escape(bar.name)}</span>{filled}<span>{escape(bar.said)}</span></li>"


def _drawn(figure: Figure) -> str:
    name, _, rest = figure.caption.partition(". ")
    caption = f"<figcaption><b>{escape(name.rstrip('.'))}</b>{escape(rest)}</figcaption>"
    legend = f'<ul class="legend">{figure.legend}</ul>' if figure.legend else ""
    return f'<figure>{caption}<div class="plot{" labelled" if legend else ""}">{figure.svg}</div>{legend}</figure>'


def _table(table: Table) -> str:
    units = table.units or ("",) * len(table.columns)
    head = "".join(
        f"<th>{escape(name)}{f'<small>{escape(unit)}</small>' if unit else ''}</th>"
        for name, unit in zip(table.columns, units, strict=True)
    )
    body = (f"<tr><th>{escape(row[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>" for row in table.cells)
    title = escape(table.title or "Table")
    # The box scrolls and not the page; who has no mouse reaches it with the tabulator.
    box = f'<div class="wide" role="region" aria-label="{title}" tabindex="0">'
    shown = f"{box}<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    shown += _notes(table.legend) if table.legend else ""
    if len(table.cells) > FOLDED:
        return f"<details><summary>{title}: {len(table.cells)} rows</summary>{shown}</details>"
    return f"<h3>{title}</h3>{shown}"


def _configuration(configuration: dict[str, object]) -> str:
    rows = (
        f"<tr><th>{escape(name)}</th><td>{escape(_shown(value))}</td></tr>"
        for name, value in configuration.items()
        if value not in (None, "", ())
    )
    return f'<table class="ran">{"".join(rows)}</table>'


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(part)}" for name, part in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(_shown(part) or "usual" for part in value)
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{lead}</title><style>{style}</style></head>
<body>
<main>
<h1>{title}</h1>
<p>{lead}</p>
{findings}
<h2>Plots</h2>
<div class="figures">
{figures}
</div>
<h2>Figures in tables</h2>
{tables}
{notes}<h2>What ran</h2>
{configuration}
</main>
</body>
</html>
"""

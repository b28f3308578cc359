"""A report as one HTML file with its plots inside, to be read without network: one look for all experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TypeVar

from .places import writing

RowT = TypeVar("RowT")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts."""

    columns: tuple[str, ...]
    cells: Sequence[tuple[str, ...]]

    @classmethod
    def from_rows(cls, columns: Sequence[tuple[str, Callable[[RowT], str]]], rows: Iterable[RowT]) -> Table:
        """Rows of anything, by the heading of each column and what stands in it; the first column names the row."""
        return cls(tuple(heading for heading, _ in columns), [tuple(text(row) for _, text in columns) for row in rows])


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot as SVG, what it shows, and a legend of its own (HTML) where the page has none for it."""

    svg: str
    caption: str
    legend: str = ""


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
    legend: str = "",
) -> str:
    """The whole document; ``legend`` is HTML, and is for all plots together."""
    return _PAGE.format(
        title=escape(title),
        lead=escape(lead),
        tables="\n".join(map(_table, tables)),
        notes=escape(notes),
        legend=f'<p class="legend">{legend}</p>' if legend else "",
        figures="\n".join(map(_drawn, figures)),
        configuration=_configuration(configuration),
        style=_STYLE,
    )


def _drawn(figure: Figure) -> str:
    legend = f'<p class="legend">{figure.legend}</p>' if figure.legend else ""
    return f"<figure>{figure.svg}{legend}<figcaption>{escape(figure.caption)}</figcaption></figure>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    body = (f"<tr><th>{escape(row[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>" for row in table.cells)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _configuration(configuration: dict[str, object]) -> str:
    rows = (
        f"<tr><th>{escape(name)}</th><td>{escape(_shown(value))}</td></tr>"
        for name, value in configuration.items()
        if value not in (None, "", ())
    )
    return f"<table>{''.join(rows)}</table>"


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(part)}" for name, part in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(_shown, value))
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2733; background: #fff; }
body { max-width: 1320px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-size: 12.5px; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .45rem; text-align: right; border-bottom: 1px solid #e3e8ee; vertical-align: bottom; }
th { font-weight: 600; } tbody th, tr > th:first-child { text-align: left; white-space: nowrap; }
td { white-space: nowrap; }
table + table { margin-top: 1.4rem; }
.legend { margin: .2rem 0; }
.legend span { display: inline-block; margin-right: 1.2rem; font-size: 13px; white-space: nowrap; }
.legend svg { width: 30px; height: 12px; vertical-align: middle; }
.wide { overflow-x: auto; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(520px, 1fr)); gap: 1.5rem; }
.notes { white-space: pre-line; }
figure { margin: 0; } figure > svg { width: 100%; height: auto; } figcaption { color: #51606f; font-size: 13px; }
"""

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{lead}</title><style>{style}</style></head>
<body>
<h1>{title}</h1>
<p>{lead}</p>
<div class="wide">{tables}</div>
<p class="notes">{notes}</p>
{legend}
<div class="figures">
{figures}
</div>
<h2>What ran</h2>
{configuration}
</body>
</html>
"""

"""The tables of a run as a terminal shows them: a title, units below headings, and what the words of each mean below it."""

from __future__ import annotations

from collections.abc import Sequence
from re import sub
from textwrap import fill, wrap
from typing import TYPE_CHECKING

from ..tables import Column, FittedTable, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from simulations.engine.html_page import Table


def print_tables(output: Console, tables: Sequence[Table]) -> None:
    """Write all that have rows."""
    for shown in tables:
        if not shown.cells:
            continue
        if shown.title:
            output.print(shown.title, style="bold", markup=False)
        print_table(output, fitted(shown))
        if shown.legend:
            print_notes(output, shown.legend)
            output.print()


def print_notes(output: Console, notes: str) -> None:
    """Write what words mean, a line for each; one that is indented goes on with the one before."""
    for line in sub(r"\n +", " ", notes).splitlines():
        output.print(fill(line, output.width, subsequent_indent="  "), style="dim", markup=False)


def fitted(shown: Table) -> FittedTable:
    """The table, of which each part that has room side by side begins with the columns that tell its rows apart."""
    units = shown.units or ("",) * len(shown.columns)
    told = zip(shown.columns, units, zip(*shown.cells, strict=True), strict=True)
    keys = _keys(shown.cells)
    columns = []
    for number, (name, unit, cells) in enumerate(told):
        is_text = not number or not any(map(_is_figure, cells))
        columns.append(Column(_heading(name, unit, max(map(len, cells))), is_text=is_text, folds=is_text and number >= keys))
    return FittedTable(columns, shown.cells, keys=keys)


def _heading(name: str, unit: str, width: int) -> str:
    """A name and its unit in lines as broad as the column, or as the longest word; which way is good is left to the report."""
    words = [name, unit.partition(";")[0]]
    width = max(width, *(len(word) for text in words for word in text.split()), 1)
    return "\n".join(line for text in words for line in wrap(text, width, break_on_hyphens=False))


def _is_figure(cell: str) -> bool:
    return cell[:1].isdigit() or cell[:1] == "-"


def _keys(cells: Sequence[Sequence[str]]) -> int:
    """How many columns in front no two rows share; one where even all do not tell rows apart."""
    for keys in range(1, len(cells[0])):
        if len({tuple(row[:keys]) for row in cells}) == len(cells):
            return keys
    return 1

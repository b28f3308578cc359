"""What a part of the experiment has for its report: the same of each, so that a part can be left out.

What its words mean stands below its own table, and not with those of all parts: a reader needs them there, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from ..engine.findings import Finding
from ..engine.html_page import Figure, Table
from ..engine.results import Results


@dataclass(frozen=True, slots=True)
class Shown:
    """One part: its findings, figures and table, what the words of that mean, its numbers and its rows."""

    findings: Sequence[Finding] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    notes: str = ""
    summary: Sequence[dict[str, object]] = ()
    rows: dict[str, Sequence[object]] = field(default_factory=dict)
    """All that was counted, by kind: a file of Parquet for each."""

    @property
    def tables_with_legend(self) -> list[Table]:
        """Its tables, the last one with what words mean."""
        return [*self.tables[:-1], *(replace(table, legend=self.notes) for table in self.tables[-1:])]


def results_of(title: str, lead: str, parts: Iterable[Shown]) -> Results:
    """All parts together."""
    parts = list(parts)
    return Results(
        title=title,
        lead=lead,
        notes="",
        tables=list(chain.from_iterable(part.tables_with_legend for part in parts)),
        figures=list(chain.from_iterable(part.figures for part in parts)),
        summary=list(chain.from_iterable(part.summary for part in parts)),
        rows={name: rows for part in parts for name, rows in part.rows.items()},
        findings=list(chain.from_iterable(part.findings for part in parts)),
    )

"""What a part of the experiment has for its report: the same of each, so that a part can be left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..engine.findings import Finding
from ..engine.html_page import Figure, Table


@dataclass(frozen=True, slots=True)
class Shown:
    """One part: its findings, figures and tables, what its words mean, its numbers and its rows."""

    findings: Sequence[Finding] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    notes: str = ""
    summary: Sequence[dict[str, object]] = ()
    rows: dict[str, Sequence[object]] = field(default_factory=dict)
    """All that was counted, by kind: a file of Parquet for each."""

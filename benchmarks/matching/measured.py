"""All that one run of benchmarks/rete.py measured, part by part, and what was wrong about it."""

from __future__ import annotations

from dataclasses import dataclass, field

from .figures import Times
from .films import FilmFigures
from .memory import Turnover, Weights
from .ours import Ours
from .rivals import Outcome


@dataclass(frozen=True, slots=True)
class Weighed:
    """The same weighed in two ways (memory.py)."""

    exact: Weights
    resident: Weights


@dataclass(frozen=True, slots=True)
class Compared:
    """The synthetic workload with one number of queries."""

    queries: int
    triples: int
    expected_rows: int
    floor: Ours
    ours: list[Ours]
    """As a peer runs, then as Python starts."""
    rivals: list[Outcome]
    missing: list[str]
    """Rivals that are not installed."""

    @property
    def as_peer(self) -> Ours:
        """Ours, as a peer runs."""
        return self.ours[0]

    def wrong(self) -> list[str]:
        """Ours whose rows are not those of the plain definition."""
        problems = []
        for one in self.ours:
            if one.rows != self.expected_rows:
                problems.append(f"{one.engine}, N = {one.queries:,}: {one.rows:,} rows, expected {self.expected_rows:,}")
            if one.rows_left:
                problems.append(f"{one.engine}, N = {one.queries:,}: {one.rows_left:,} rows or facts left when all was retracted")
        return problems


@dataclass(frozen=True, slots=True)
class Turned:
    """Subscriptions that came and went, weighed in two ways."""

    exact: Turnover
    resident: Turnover
    expected_rows: int

    def wrong(self) -> list[str]:
        """Rows that are not those of the plain definition."""
        held = {one.rows for one in (self.exact, self.resident)} | {one.rows_again for one in (self.exact, self.resident)}
        return (
            []
            if held == {self.expected_rows}
            else [f"subscriptions that come and go: {held} rows, expected {self.expected_rows:,}"]
        )


@dataclass(frozen=True, slots=True)
class OnFilms:
    """The real data."""

    floor: Times
    ours: list[FilmFigures]
    weighed: Weighed
    rivals: list[Outcome]
    missing: list[str]

    def wrong(self) -> list[str]:
        """Answers that are not pyoxigraph's, and rows that stayed; no row at all would prove nothing."""
        problems = []
        for one in self.ours:
            name = f"films, {one.language}, {one.batch:,} a call"
            if one.different:
                problems.append(f"{name}: {one.different:,} of {one.queries:,} answers are not pyoxigraph's")
            if one.rows_left:
                problems.append(f"{name}: {one.rows_left:,} rows or facts left when all was retracted")
            if one.insertion is not None and not one.rows:
                problems.append(f"{name}: no query has a row")
        return problems


@dataclass(slots=True)
class Measured:
    """What a run came to; a part that was not asked for is empty."""

    compared: list[Compared] = field(default_factory=list)
    weighed: list[Weighed] = field(default_factory=list)
    turned: Turned | None = None
    films: OnFilms | None = None
    skipped: list[str] = field(default_factory=list)
    """Parts that could not be run, with the reason."""

    def wrong(self) -> list[str]:
        """Everything that is wrong about our rows."""
        parts: list[Compared | Turned | OnFilms] = [*self.compared]
        parts += [part for part in (self.turned, self.films) if part is not None]
        return [problem for part in parts for problem in part.wrong()]

    def wrong_elsewhere(self) -> list[str]:
        """Everything that is wrong about the rivals' rows."""
        outcomes = [one for compared in self.compared for one in compared.rivals] + (self.films.rivals if self.films else [])
        return [f"N = {outcome.queries:,}: {problem}" for outcome in outcomes for problem in outcome.wrong]

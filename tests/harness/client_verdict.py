"""Whether a client that loses its peers again and again was told what is promised: what was said and told in, violations out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

SHOWN = 6
"""Rows or events that a violation names."""

Fact: TypeAlias = tuple[str, int]
"""Who says it, and its number."""


@dataclass
class Told:
    """What the reader was told."""

    rows: Counter[Fact] = field(default_factory=Counter)
    """The sum of the differences."""
    wrong: list[str] = field(default_factory=list)
    """Differences of rows that were there already, or not there when they went."""
    events: list[Fact] = field(default_factory=list)
    """As they came."""
    differences: int = 0
    reconnected: int = 0
    overruns: int = 0
    stale: int = 0

    def difference(self, sign: int, row: Fact) -> None:
        """A row has come or gone."""
        self.differences += 1
        self.rows[row] += sign
        if self.rows[row] not in (0, 1):
            self.wrong.append(f"{row} is there {self.rows[row]} times")


def violations(told: Told, held: Counter[Fact], true: set[Fact], acknowledged: Iterable[Fact]) -> Iterator[str]:
    """What of it is not as promised, where ``held`` is what the subscription says that it holds, ``true`` the facts that are true,
    and ``acknowledged`` the events, in the order in which each was said."""
    if told.wrong:
        yield f"{len(told.wrong)} differences were not told once: {told.wrong[:SHOWN]}"
    summed = Counter({row: count for row, count in told.rows.items() if count})
    if summed != held:
        yield f"what was told does not add up to what it holds: {_differing(summed, held)}"
    answer = Counter(true)
    if held != answer:
        yield f"what it holds is not the answer: {_differing(held, answer)}"
    twice = [event for event, count in Counter(told.events).items() if count > 1]
    if twice:
        yield f"{len(twice)} events were told twice: {twice[:SHOWN]}"
    gaps = gaps_of(told.events, acknowledged)
    markers = told.reconnected + told.overruns
    if len(gaps) > markers:
        yield f"{len(gaps)} gaps in events, and {markers} times it was told that some may have been missed: {gaps[:SHOWN]}"


def gaps_of(told: Iterable[Fact], acknowledged: Iterable[Fact]) -> list[tuple[Fact, Fact]]:
    """The runs of acknowledged events that were not told, each by its first and last, of which one stream's follow each other."""
    heard = set(told)
    gaps: list[tuple[Fact, Fact]] = []
    begun: Fact | None = None
    last: Fact | None = None
    for event in acknowledged:
        if event in heard:
            begun = None
            continue
        if begun is None:
            begun = event
            gaps.append((event, event))
        last = event
        gaps[-1] = (begun, last)
    return gaps


def _differing(one: Counter[Fact], other: Counter[Fact]) -> str:
    more, less = one - other, other - one
    return f"{more.total()} too many, {less.total()} missing: {[*more][:SHOWN]}, {[*less][:SHOWN]}"

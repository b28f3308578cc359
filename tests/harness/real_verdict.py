"""Whether real processes kept what is promised: what was said and what was told in, violations out, as text. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from gsg.tuples.terms import Symbol

ON, RANG = Symbol("on"), Symbol("rang")
SHOWN = 6
"""Events that a violation names."""


@dataclass
class Said:
    """What one stream said: events with its numbers in turn, or facts that come and go."""

    name: str
    facts: bool
    next: int = 0
    acknowledged: dict[range, tuple[float, float]] = field(default_factory=dict)
    """Numbers of events, with when they were said and acknowledged."""
    unsure: dict[range, str] = field(default_factory=dict)
    """Those whose publisher was told that nobody knows, and what it was told."""
    true: set[int] = field(default_factory=set)
    """Numbers of the facts that are true."""


@dataclass
class Reader:
    """What one subscription was told."""

    name: str
    text: str
    events: dict[str, list[int]] = field(default_factory=dict)
    """By stream, in the order in which they came."""
    rows: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """Rows that were there twice, or not there when they went."""
    missed: int = 0
    overruns: int = 0
    stale: int = 0

    def told(self, sign: int, values: tuple[Any, ...]) -> None:  # Any: terms of any kind
        """A change of a row; its last value is a number, and the one before it a stream."""
        number, name = int(values[-1]), self._stream(values)
        if not sign:
            self.events.setdefault(name, []).append(number)
            return
        self.rows[name, number] += sign
        if self.rows[name, number] not in (0, 1):
            self.wrong.append(f"{name} {number} is there {self.rows[name, number]} times")

    def _stream(self, values: tuple[Any, ...]) -> str:  # Any: likewise
        named = [value for value in values[:-1] if value not in (ON, RANG)]
        return str(named[0]) if named else "A0"

    def hears(self, said: Said) -> bool:
        """Whether its query asks for what a stream says."""
        match self.text:
            case "(rang, ?who, ?n)":
                return not said.facts
            case '(rang, "A0", ?n)':
                return said.name == "A0"
            case "(?who, on, ?n)":
                return said.facts
        return True

    def counts(self) -> dict[str, int]:
        """How much it was told."""
        told = {"deliveries": sum(map(len, self.events.values())), "overruns": self.overruns, "missed": self.missed}
        return {**told, "stale": self.stale}


def violations(streams: Sequence[Said], readers: Iterable[Reader]) -> list[str]:
    """All that is not as promised."""
    return [f"{reader.name}: {line}" for reader in readers for line in _of_reader(reader, streams)]


def _of_reader(reader: Reader, streams: Sequence[Said]) -> Iterator[str]:
    yield from reader.wrong[:SHOWN]
    heard = [said for said in streams if reader.hears(said)]
    right = {(said.name, number) for said in heard for number in said.true}
    held = {row for row, times in reader.rows.items() if times}
    for what, rows in (("lost", right - held), ("invented", held - right)):
        if rows:
            yield f"{len(rows)} rows {what}: {sorted(rows)[:SHOWN]}"
    lost = [line for said in heard if not said.facts for line in _lost(said, reader.events.get(said.name, []))]
    if len(lost) > reader.missed:
        yield f"{len(lost)} events lost, {reader.missed} of them told as missed: {'; '.join(lost[:SHOWN])}"
    for said in heard:
        yield from _amiss(said, reader.events.get(said.name, []))


def _lost(said: Said, told: Sequence[int]) -> Iterator[str]:
    known = set(told)
    for numbers, (begun_s, ended_s) in said.acknowledged.items():
        for number in numbers:
            if number not in known:
                yield f"{said.name} {number}, said at {begun_s:.3f}, acknowledged {ended_s - begun_s:.3f} s later"


def _amiss(said: Said, told: Sequence[int]) -> Iterator[str]:
    repeated = [number for number, times in Counter(told).items() if times > 1]
    if repeated:
        yield f"{said.name} repeated: {repeated[:SHOWN]}"
    if any(not 0 <= number < said.next for number in told):
        yield f"{said.name}: told of numbers that were never said"
    early = [f"{one} after {before}" for before, one in pairwise(told) if one < before]
    if early:
        yield f"{said.name} out of order: {early[:SHOWN]}"

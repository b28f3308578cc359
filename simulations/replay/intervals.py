"""From changes to the intervals in which something holds, and back: plain functions over sorted lists.

An interval is ``[came, went)``; FOREVER stands where it has no end, and -FOREVER where it has no beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from gsg.tuples.terms import Tuple

FOREVER = float("inf")

Interval: TypeAlias = tuple[float, float]


class Stay(NamedTuple):
    """A row, or one of equal rows, and when it came and went."""

    row: Tuple
    came: float
    went: float


def truth_of(changes: Iterable[tuple[float, int]]) -> Iterator[Interval]:
    """When a fact holds: changes of it in order, each a time and a sign.

    What happens at one time happens at once: the last change of it says what holds from then on. Facts are a set: to insert what
    holds, or retract what does not, changes nothing.
    """
    came: float | None = None
    at, sign = 0.0, 0
    for time, next_sign in (*changes, (FOREVER, 0)):
        if sign and time != at:
            if sign > 0 and came is None:
                came = at
            elif sign < 0 and came is not None:
                yield came, at
                came = None
        at, sign = time, next_sign
    if came is not None:
        yield came, FOREVER


def merged(intervals: Iterable[Interval]) -> Iterator[Interval]:
    """Their union, as intervals that do not meet."""
    begin: float | None = None
    end = -FOREVER
    for came, went in sorted(intervals):
        if begin is not None and came <= end:
            end = max(end, went)
            continue
        if begin is not None:
            yield begin, end
        begin, end = came, went
    if begin is not None:
        yield begin, end


def gaps(intervals: Iterable[Interval]) -> Iterator[Interval]:
    """All times but those of intervals that are in order and do not meet."""
    begin = -FOREVER
    for came, went in intervals:
        if begin < came:
            yield begin, came
        begin = went
    if begin < FOREVER:
        yield begin, FOREVER


def copies(intervals: Iterable[Interval]) -> Iterator[Interval]:
    """The intervals of equal rows as a subscriber sees them come and go: what ends as another begins is not seen, and of equal rows
    the first that came is the first that goes."""
    counts: dict[float, int] = {}
    for came, went in intervals:
        counts[came] = counts.get(came, 0) + 1
        counts[went] = counts.get(went, 0) - 1
    times = sorted(time for time, count in counts.items() if count)
    cames = [time for time in times for _ in range(counts[time])]
    wents = [time for time in times for _ in range(-counts[time])]
    yield from zip(cames, wents, strict=True)

"""Rows as requests: facts that come and go, the last word of each; events in parts, each with a key. Pure.

What is said of one fact within a window is said once, and windows follow each other: of a partition the last row about a fact
holds. Events keep their order. Where a part of events begins depends on the rows before it alone, and its key on what is in it too:
the same rows in the same order make the same requests, and where the order has changed, as after a shuffle that was done again, no
event is taken for another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from gsg.tuples.terms import Tuple

_encode = msgspec.msgpack.Encoder().encode

WINDOW_ROWS = 10_000
"""Rows of facts of which the last word is looked for together."""
PART_TUPLES, PART_BYTES = 1_000, 2 * 1024 * 1024
"""Tuples, and bytes after which no more are added, in one request: as many as one key may name."""


class TaskPlace(NamedTuple):
    """Where a task stands in what is written: of whom it is, which batch, and which part of that."""

    producer: str
    batch: str
    partition: int


class EventPart(NamedTuple):
    """Events of one request; ``first`` is the number of the row, from 0, that the first of them was."""

    first: int
    events: list[Tuple]

    def key(self, place: TaskPlace) -> str:
        """Their name."""
        said = blake2b(_encode(self.events), digest_size=12).hexdigest()
        return f"{place.producer}/{place.batch}/{place.partition}/{self.first}/{said}"


def last_words(tuples: Sequence[Tuple], signs: Sequence[int] | None) -> tuple[list[Tuple], list[Tuple]]:
    """The facts that came at last, and those that went, of tuples in their order; without signs all come."""
    if signs is None:
        return list(dict.fromkeys(tuples)), []
    last = dict(zip(tuples, signs, strict=True))
    return [items for items, sign in last.items() if sign > 0], [items for items, sign in last.items() if sign < 0]


def parts_of(tuples: Sequence[Tuple]) -> Iterator[list[Tuple]]:
    """Tuples cut into requests: PART_TUPLES in each, or fewer where these have PART_BYTES."""
    for begin in range(0, len(tuples), PART_TUPLES):
        part = list(tuples[begin : begin + PART_TUPLES])
        if len(_encode(part)) < PART_BYTES:
            yield part
            continue
        some: list[Tuple] = []
        filled = 0
        for items in part:
            some.append(items)
            filled += len(_encode(items))
            if filled >= PART_BYTES:
                yield some
                some, filled = [], 0
        if some:
            yield some


class EventParts:
    """Cuts events into parts as they come."""

    def __init__(self) -> None:
        self._waiting: list[Tuple] = []
        """Fewer than PART_TUPLES, between two calls."""
        self._first = 0

    def add_events(self, tuples: Sequence[Tuple]) -> Iterator[EventPart]:
        """More events; the parts that they complete."""
        self._waiting += tuples
        whole = len(self._waiting) // PART_TUPLES * PART_TUPLES
        some, self._waiting = self._waiting[:whole], self._waiting[whole:]
        return self._parts(some)

    def flush(self) -> Iterator[EventPart]:
        """What is in no part yet."""
        some, self._waiting = self._waiting, []
        return self._parts(some)

    def _parts(self, tuples: Sequence[Tuple]) -> Iterator[EventPart]:
        for part in parts_of(tuples):
            yield EventPart(self._first, part)
            self._first += len(part)

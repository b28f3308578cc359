"""Rows as requests: facts that come and go, the last word of each; events in parts, each with a key. Pure.

What is said of one fact within a window is said once, and windows follow each other: of a partition the last row about a fact
holds. Events keep their order. Where a part of events begins depends on the rows before it alone, and its key on what is in it too:
the same rows in the same order make the same requests, and where the order has changed, as after a shuffle that was done again, no
event is taken for another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from gsg.tuples.sizes import size_bytes

if TYPE_CHECKING:
    from gsg.tuples.terms import Tuple

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
        said = blake2b(msgspec.msgpack.encode(self.events), digest_size=12).hexdigest()
        return f"{place.producer}/{place.batch}/{place.partition}/{self.first}/{said}"


def last_words(rows: Iterable[tuple[int, Tuple]]) -> tuple[list[Tuple], list[Tuple]]:
    """The facts that came at last, and those that went, of rows in their order."""
    signs: dict[Tuple, int] = {}
    for sign, items in rows:
        signs[items] = sign
    come = [items for items, sign in signs.items() if sign > 0]
    return come, [items for items, sign in signs.items() if sign < 0]


def parts_of(tuples: Sequence[Tuple]) -> Iterator[list[Tuple]]:
    """Tuples cut into requests."""
    part: list[Tuple] = []
    filled = 0
    for items in tuples:
        part.append(items)
        filled += size_bytes(items)
        if len(part) == PART_TUPLES or filled >= PART_BYTES:
            yield part
            part, filled = [], 0
    if part:
        yield part


class EventParts:
    """Cuts events into parts as they come."""

    def __init__(self) -> None:
        self._part: list[Tuple] = []
        self._filled = 0
        self._first = 0

    def add(self, items: Tuple) -> EventPart | None:
        """One event more; the part that it completes."""
        self._part.append(items)
        self._filled += size_bytes(items)
        return self.rest() if len(self._part) == PART_TUPLES or self._filled >= PART_BYTES else None

    def rest(self) -> EventPart | None:
        """What is in no part yet, as one."""
        if not self._part:
            return None
        made = EventPart(self._first, self._part)
        self._first += len(self._part)
        self._part, self._filled = [], 0
        return made

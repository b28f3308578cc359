"""The differences of one subscription that nobody has read yet: bounded by number and by bytes, and never silently short.

What happens at the limit is the subscriber's choice (:class:`Overflow`). With ``resync``, differences of the same row are merged
into their sum, which loses no row: what is read afterwards still leads from what was read before to the answer. Events cannot be
merged; if merging does not make room, the oldest events go, and the next read raises Overrun with their number.

Several backlogs may share a bound (:class:`Pool`), as those of one client do: there the largest of them makes room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from math import inf
from typing import TypeAlias

import msgspec

from ..errors import LocalError, Overrun
from ..languages.rows import Change, Row, Sign

LIMIT = 100_000
"""Differences kept unread per subscription unless the subscriber says otherwise."""
LIMIT_BYTES = 24 * 1024 * 1024
"""Bytes of rows, as they travel, that are kept unread per subscription."""

CHUNK_BYTES = 64 * 1024
"""Differences are measured as they come, and counted off as they go by the average of so many bytes, or of those that came
together: measuring each again would cost as much as all else."""

_Chunk: TypeAlias = list[int]
"""How many differences, and their bytes."""

_encode = msgspec.msgpack.Encoder().encode


class Overflow(StrEnum):
    """What happens when a subscription holds as many unread differences, or bytes of them, as it may."""

    RESYNC = "resync"
    """Rows are told as their sum, none is lost; then the oldest events go. An answer larger than the limit is kept whole."""
    DROP_OLDEST = "drop_oldest"
    """The oldest differences go, rows as well as events: for those who want the latest, and never more than the limit."""
    ERROR = "error"
    """The subscription ends: what came until then can be read, and then Overrun is raised."""


def overflow_of(name: str) -> Overflow:
    """The choice of this name. Raises LocalError."""
    try:
        return Overflow(name)
    except ValueError:
        raise LocalError(f"overflow={name!r}; expected {', '.join(Overflow)}") from None


def check_limit(limit: int, most: float = inf) -> int:
    """How many differences may wait unread, if it is a number of them. Raises LocalError."""
    # A bool is an int to Python, and to nobody else.
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= most:
        span = "at least 1" if most == inf else f"1 to {most}"
        raise LocalError(f"limit={limit!r} unread differences; expected a whole number, {span}")
    return limit


class Pool:
    """How many bytes several backlogs may hold together; beyond, the largest of them makes room, as at its own limit.

    ``within``: a larger pool that it shares, as the clients of a door do.
    """

    __slots__ = ("_backlogs", "_limit_bytes", "_parts", "_until_bytes", "_within", "held_bytes")

    def __init__(self, limit_bytes: int, within: Pool | None = None) -> None:
        self.held_bytes = 0
        self._limit_bytes = limit_bytes
        self._until_bytes = limit_bytes
        self._within = within
        self._backlogs: set[Backlog] = set()
        """Bounded by the subscriptions of a client."""
        self._parts: set[Pool] = set()
        """Bounded by the clients of a door."""
        if within is not None:
            within._parts.add(self)

    def close(self) -> None:
        """Whoever had it is gone, with its backlogs."""
        for backlog in list(self._backlogs):
            backlog.join_pool(None)
        if self._within is not None:
            self._within._parts.discard(self)

    def count_bytes(self, more_bytes: int) -> None:
        """A backlog of it has grown, or shrunk by a negative number."""
        self.held_bytes += more_bytes
        if self._within is not None:
            self._within.count_bytes(more_bytes)

    def make_room(self) -> None:
        """Where more is held than may be, let the largest backlogs give up what they can."""
        if self.held_bytes > self._until_bytes:
            enough_bytes = _enough(self._limit_bytes)
            for backlog in sorted(self._all(), key=Backlog.held_bytes, reverse=True):
                if self.held_bytes <= enough_bytes:
                    break
                backlog.shed(self.held_bytes - enough_bytes)
        if self.held_bytes <= self._limit_bytes:
            self._until_bytes = self._limit_bytes
        elif self.held_bytes > self._until_bytes:
            # Rows of facts are kept whole: it is tried again when as much has come once more.
            self._until_bytes = 2 * self.held_bytes
        if self._within is not None:
            self._within.make_room()

    def _all(self) -> Iterator[Backlog]:
        yield from self._backlogs
        for part in self._parts:
            yield from part._all()


class Backlog:
    """A bounded queue of differences."""

    __slots__ = (
        "_bytes",
        "_bytes_until",
        "_changes",
        "_chunks",
        "_limit",
        "_limit_bytes",
        "_lost",
        "_overflow",
        "_pool",
        "_room_until",
        "_too_many_bytes",
        "full",
        "lost",
    )

    def __init__(self, limit: int = LIMIT, overflow: Overflow = Overflow.RESYNC, *, limit_bytes: int = LIMIT_BYTES) -> None:
        self.full = False
        """Whether more came than may be kept, with ``error``: the subscription is to end, and nothing more is kept."""
        self.lost = 0
        """How many differences were dropped since the beginning."""
        self._overflow = overflow
        # Most subscriptions have nothing unread at most times, and an empty deque takes 600 bytes.
        self._changes: deque[Change] | None = None
        self._chunks: deque[_Chunk] = _NO_CHUNKS
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._room_until = limit
        self._bytes_until = limit_bytes
        self._bytes = 0
        """Of the rows that are kept."""
        self._lost = 0
        """Those of which the reader has not been told."""
        self._too_many_bytes = False
        """Whether the last of them went for their bytes."""
        self._pool: Pool | None = None

    def __len__(self) -> int:
        return 0 if self._changes is None else len(self._changes)

    def held_bytes(self) -> int:
        """Bytes of the rows that are kept, as they travel."""
        return self._bytes

    def join_pool(self, pool: Pool | None) -> None:
        """Count in a pool that others share, or in none any more."""
        if self._pool is not None:
            self._pool.count_bytes(-self._bytes)
            self._pool._backlogs.discard(self)
        self._pool = pool
        if pool is not None:
            pool._backlogs.add(self)
            pool.count_bytes(self._bytes)
            pool.make_room()

    def extend(self, changes: Iterable[Change], *, is_first: bool = False) -> None:
        """Keep differences until they are read. With ``is_first`` they are of a first answer, of which nothing goes again: it is
        kept whole, without adding it up."""
        if self.full:
            return
        if self._changes is None:
            kept: deque[Change] = deque()
            self._chunks = deque()
        else:
            kept = self._changes
        come = changes if type(changes) is list else list(changes)
        kept.extend(come)
        self._count(come)
        if is_first and self._overflow is Overflow.RESYNC:
            self._room_until, self._bytes_until = max(self._room_until, 2 * len(kept)), max(self._bytes_until, 2 * self._bytes)
        elif len(kept) > self._room_until or self._bytes > self._bytes_until:
            self._make_room(kept, self._limit, self._limit_bytes)
        # Merging may leave nothing: what came went again.
        self._changes = kept or None
        if self._pool is not None:
            self._pool.make_room()

    def shed(self, some_bytes: int) -> None:
        """Let so many bytes go, if that can be, for others who share the pool; one difference is left at least."""
        if self._changes is not None:
            self._make_room(self._changes, self._limit, max(0, self._bytes - some_bytes))
            self._changes = self._changes or None

    def popleft(self) -> Change | None:
        """The oldest difference, or None. Raises Overrun once after events were lost."""
        oldest = self.take(1)
        return oldest[0] if oldest else None

    def take(self, most: int, most_bytes: float = inf) -> list[Change]:
        """The oldest differences, at most so many, and of so many bytes or one. Raises Overrun once after events were lost."""
        if self._lost:
            lost, self._lost = self._lost, 0
            if self._overflow is Overflow.DROP_OLDEST:
                what, beyond = "differences", "rows() has the answer as it is"
            else:
                what, beyond = "events", "rows that are state are complete"
            raise Overrun(
                f"{lost} {what} were dropped because {self._waiting} were waiting to be read; "
                f"{beyond}: go on reading, read faster, or {self._next_step}",
                lost=lost,
            )
        kept = self._changes
        if kept is None:
            return []
        if len(kept) > most or self._bytes > most_bytes:
            number = most if most_bytes == inf else min(most, self._fitting(most_bytes))
            if number < len(kept):
                self._release(number)
                popleft = kept.popleft
                return [popleft()] if number == 1 else [popleft() for _ in range(number)]
        self._changes = None
        self._chunks = _NO_CHUNKS
        self._count_bytes(-self._bytes)
        self._room_until, self._bytes_until = self._limit, self._limit_bytes
        return list(kept)

    @property
    def _waiting(self) -> str:
        return (
            f"{self._limit_bytes} bytes of rows, or more of all its reader's,"
            if self._too_many_bytes
            else f"{self._limit} differences"
        )

    @property
    def _next_step(self) -> str:
        return "ask for less of each row" if self._too_many_bytes else "subscribe with a higher limit"

    def _count(self, come: Collection[Change]) -> None:
        """These have been added at the end."""
        if not come:
            return
        size = _bytes_of(come)
        chunks = self._chunks
        if chunks and chunks[-1][1] + size <= CHUNK_BYTES:
            chunks[-1][0] += len(come)
            chunks[-1][1] += size
        else:
            chunks.append([len(come), size])
        self._count_bytes(size)

    def _release(self, number: int, *, newest: bool = False) -> None:
        """So many of the oldest differences, or the newest, are there no more."""
        chunks, at = self._chunks, -1 if newest else 0
        while number:
            chunk = chunks[at]
            less = min(number, chunk[0])
            size = chunk[1] * less // chunk[0]
            chunk[0] -= less
            chunk[1] -= size
            number -= less
            self._count_bytes(-size)
            if not chunk[0]:
                del chunks[at]

    def _fitting(self, most_bytes: float) -> int:
        """How many of the oldest differences have so many bytes together, about: one at least."""
        number = 0
        for count, size in self._chunks:
            if size > most_bytes:
                return max(1, number + int(most_bytes * count // size))
            number += count
            most_bytes -= size
        return max(1, number)

    def _count_bytes(self, more_bytes: int) -> None:
        self._bytes += more_bytes
        if self._pool is not None:
            self._pool.count_bytes(more_bytes)

    def _make_room(self, kept: deque[Change], limit: int, limit_bytes: int) -> None:
        self._too_many_bytes = len(kept) <= limit
        if self._overflow is Overflow.RESYNC:
            self._merge(kept, limit, limit_bytes)
            return
        newest = self._overflow is Overflow.ERROR
        drop = kept.pop if newest else kept.popleft
        dropped = 0
        while kept and (len(kept) > limit or (self._bytes > limit_bytes and len(kept) > 1)):
            drop()
            self._release(1, newest=newest)
            dropped += 1
        self.lost += dropped
        if newest:
            self.full = True
        else:
            self._lost += dropped

    def overrun(self) -> Overrun:
        """Why the subscription ends when it is full."""
        return Overrun(
            f"the subscription has ended because {self._waiting} were waiting to be read, as overflow='error' asks; "
            f"read faster, {self._next_step}, or choose another overflow",
            lost=self.lost,
        )

    def _merge(self, kept: deque[Change], limit: int, limit_bytes: int) -> None:
        sums: dict[Row, int] = {}
        events: deque[Change] = deque()
        for sign, row in kept:
            if sign is Sign.EVENT:
                events.append((sign, row))
            else:
                sums[row] = sums.get(row, 0) + sign
        kept.clear()
        self._chunks.clear()
        self._count_bytes(-self._bytes)
        for row, total in sorted(sums.items(), key=lambda entry: entry[1]):
            kept.extend([(Sign.PLUS if total > 0 else Sign.MINUS, row)] * abs(total))
        self._count(kept)
        of_rows, of_events = self._bytes, _bytes_of(events)
        room = max(0, limit - len(kept))
        # More goes than has to, so that this is not done again at the next event.
        room_bytes = max(0, _enough(limit_bytes) - of_rows) if of_rows + of_events > limit_bytes else inf
        lost, at_least = 0, 0 if kept else 1
        while len(events) > room or (of_events > room_bytes and len(events) > at_least):
            of_events -= _bytes_of([events.popleft()])
            lost += 1
        self._lost += lost
        self.lost += lost
        kept.extend(events)
        self._count(events)
        # An answer larger than the limit is kept whole; merging again waits until as much has come once more.
        self._room_until = max(self._limit, 2 * len(kept))
        self._bytes_until = max(self._limit_bytes, 2 * of_rows)


_NO_CHUNKS: deque[_Chunk] = deque()
"""Of a backlog that is empty."""


def _enough(limit_bytes: int) -> int:
    return limit_bytes - limit_bytes // 4


def _bytes_of(changes: Iterable[Change]) -> int:
    """The bytes of rows as they travel."""
    terms = [row._terms for _, row in changes]  # row.terms, which would cost as much as the rest
    try:
        # Without the list's own head, so that parts add up to the whole.
        return len(_encode(terms)) - (1 if len(terms) < 16 else 3 if len(terms) < 65_536 else 5)
    except (UnicodeEncodeError, RecursionError, OverflowError):
        # A space of its own may hold what cannot travel.
        return sum(len(str(term)) for items in terms for term in items)

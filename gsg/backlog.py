"""The differences of one subscription that nobody has read yet: bounded, and never silently short.

What happens at the limit is the subscriber's choice (:class:`Overflow`). With ``resync``, differences of the same row are merged
into their sum, which loses no row: what is read afterwards still leads from what was read before to the answer. Events cannot be
merged; if merging does not make room, the oldest events go, and the next read raises Overrun with their number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import StrEnum
from math import inf

from .errors import LocalError, Overrun
from .rows import Change, Row, Sign

LIMIT = 100_000
"""Differences kept unread per subscription unless the subscriber says otherwise."""


class Overflow(StrEnum):
    """What happens when a subscription holds as many unread differences as it may."""

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


class Backlog:
    """A bounded queue of differences."""

    __slots__ = ("_changes", "_limit", "_lost", "_overflow", "_room_until", "full", "lost")

    def __init__(self, limit: int = LIMIT, overflow: Overflow = Overflow.RESYNC) -> None:
        self.full = False
        """Whether more came than may be kept, with ``error``: the subscription is to end, and nothing more is kept."""
        self.lost = 0
        """How many differences were dropped since the beginning."""
        self._overflow = overflow
        # Most subscriptions have nothing unread at most times, and an empty deque takes 600 bytes.
        self._changes: deque[Change] | None = None
        self._limit = limit
        self._room_until = limit
        self._lost = 0
        """Those of which the reader has not been told."""

    def __len__(self) -> int:
        return 0 if self._changes is None else len(self._changes)

    def extend(self, changes: Iterable[Change]) -> None:
        """Keep differences until they are read."""
        if self.full:
            return
        kept: deque[Change] = deque() if self._changes is None else self._changes
        kept.extend(changes)
        if len(kept) > self._room_until:
            self._make_room(kept)
        # Merging may leave nothing: what came went again.
        self._changes = kept or None

    def popleft(self) -> Change | None:
        """The oldest difference, or None. Raises Overrun once after events were lost."""
        oldest = self.take(1)
        return oldest[0] if oldest else None

    def take(self, most: int) -> list[Change]:
        """The oldest differences, at most so many. Raises Overrun once after events were lost."""
        if self._lost:
            lost, self._lost = self._lost, 0
            if self._overflow is Overflow.DROP_OLDEST:
                what, beyond = "differences", "rows() has the answer as it is"
            else:
                what, beyond = "events", "rows that are state are complete"
            raise Overrun(
                f"{lost} {what} were dropped because {self._limit} differences were waiting to be read; "
                f"{beyond}: go on reading, read faster, or subscribe with a higher limit",
                lost=lost,
            )
        kept = self._changes
        if kept is None:
            return []
        if len(kept) <= most:
            self._changes = None
            return list(kept)
        popleft = kept.popleft
        return [popleft() for _ in range(most)]

    def _make_room(self, kept: deque[Change]) -> None:
        if self._overflow is Overflow.RESYNC:
            self._merge(kept)
            return
        beyond = len(kept) - self._limit
        self.lost += beyond
        if self._overflow is Overflow.ERROR:
            self.full = True
            for _ in range(beyond):
                kept.pop()
            return
        self._lost += beyond
        for _ in range(beyond):
            kept.popleft()

    def overrun(self) -> Overrun:
        """Why the subscription ends when it is full."""
        return Overrun(
            f"the subscription has ended because {self._limit} differences were waiting to be read, as overflow='error' asks; "
            "read faster, subscribe with a higher limit, or choose another overflow",
            lost=self.lost,
        )

    def _merge(self, kept: deque[Change]) -> None:
        sums: dict[Row, int] = {}
        events: list[Change] = []
        for sign, row in kept:
            if sign is Sign.EVENT:
                events.append((sign, row))
            else:
                sums[row] = sums.get(row, 0) + sign
        room = max(0, self._limit - sum(map(abs, sums.values())))
        if len(events) > room:
            self._lost += len(events) - room
            self.lost += len(events) - room
            events = events[len(events) - room :]
        kept.clear()
        for row, total in sorted(sums.items(), key=lambda entry: entry[1]):
            kept.extend([(Sign.PLUS if total > 0 else Sign.MINUS, row)] * abs(total))
        kept.extend(events)
        # An answer larger than the limit is kept whole; merging again waits until as much has come once more.
        self._room_until = max(self._limit, 2 * len(kept))

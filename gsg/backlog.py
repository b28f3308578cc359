"""The differences of one subscription that nobody has read yet: bounded, and never silently short.

At the limit, differences of the same row are merged into their sum, which loses no row: what is read afterwards still leads
from what was read before to the answer. Events cannot be merged; if merging does not make room, the oldest events go, and
the next read raises Overrun with their number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from .errors import Overrun
from .rows import Change, Row, Sign

LIMIT = 100_000
"""Differences kept unread per subscription unless the subscriber says otherwise."""


class Backlog:
    """A bounded queue of differences."""

    __slots__ = ("_changes", "_limit", "_lost_events", "_room_until")

    def __init__(self, limit: int = LIMIT) -> None:
        # Most subscriptions have nothing unread at most times, and an empty deque takes 600 bytes.
        self._changes: deque[Change] | None = None
        self._limit = limit
        self._room_until = limit
        self._lost_events = 0

    def __len__(self) -> int:
        return 0 if self._changes is None else len(self._changes)

    def extend(self, changes: Iterable[Change]) -> None:
        """Keep differences until they are read."""
        kept: deque[Change] = deque() if self._changes is None else self._changes
        kept.extend(changes)
        if len(kept) > self._room_until:
            self._merge(kept)
        # Merging may leave nothing: what came went again.
        self._changes = kept or None

    def popleft(self) -> Change | None:
        """The oldest difference, or None. Raises Overrun once after events were lost."""
        oldest = self.take(1)
        return oldest[0] if oldest else None

    def take(self, most: int) -> list[Change]:
        """The oldest differences, at most so many. Raises Overrun once after events were lost."""
        if self._lost_events:
            lost, self._lost_events = self._lost_events, 0
            raise Overrun(
                f"{lost} events were dropped because {self._limit} differences were waiting to be read; "
                "rows that are state are complete: go on reading, read faster, or subscribe with a higher limit",
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
            self._lost_events += len(events) - room
            events = events[len(events) - room :]
        kept.clear()
        for row, total in sorted(sums.items(), key=lambda entry: entry[1]):
            kept.extend([(Sign.PLUS if total > 0 else Sign.MINUS, row)] * abs(total))
        kept.extend(events)
        # An answer larger than the limit is kept whole; merging again waits until as much has come once more.
        self._room_until = max(self._limit, 2 * len(kept))

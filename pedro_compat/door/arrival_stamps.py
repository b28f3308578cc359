"""Notifications in the order in which they come to a door: numbered, and remembered for a while where the door is told to.

Time and count together name a notification at this door (paper, section 6). The same notification has another name at another door,
which it reaches at another moment. What is remembered is bounded by age, number and bytes; the oldest goes first.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from gsg.tuples.sizes import size_bytes
from gsg.wire.messages import Event

from ..dialect import Dialect
from ..goals.covers import term_of
from ..terms.terms import Term

log = logging.getLogger(__name__)

MAX_REMEMBERED = 10_000
"""Notifications that a door remembers; with one more the oldest is forgotten before its time."""
REMEMBERED_BYTES = 8 * 1024 * 1024
"""Bytes of them, as they travel; beyond, the oldest are forgotten before their time."""


class Stamp(NamedTuple):
    """When a notification came to a door, and as which."""

    time_s: float
    """Seconds since 1970; never less than that of the notification before."""
    number: int
    """Counts what came to the door, from 1."""

    def around(self, line: str) -> str:
        """The line with its stamp, a Pedro term."""
        return f"arrived({self.time_s:.6f},{self.number},({line}))"


class Arrived:
    """A notification that is remembered."""

    __slots__ = ("_term", "_was_read", "event", "size", "stamp")

    def __init__(self, stamp: Stamp, event: Event) -> None:
        self.stamp = stamp
        self.event = event
        self.size = size_bytes(event.items) + len(event.text or "")
        self._term: Term | None = None
        self._was_read = False
        """What it says is read when somebody looks back, and once, however many do."""

    def term(self, dialect: Dialect) -> Term | None:
        """What it says in the dialect of the door; None where that is no notification."""
        if not self._was_read:
            self._was_read = True
            self._term = term_of(self.event.items, self.event.text, dialect)
        return self._term


class Arrivals:
    """What came to one door. ``clock`` gives seconds since 1970; ``remember_s``: for how long to remember, 0 for nothing."""

    def __init__(self, clock: Callable[[], float], remember_s: float = 0.0) -> None:
        self.remember_s = remember_s
        self.forgotten = 0
        """Notifications that were forgotten before their time."""
        self._clock = clock
        self._last: Event | None = None
        self._stamp = Stamp(0.0, 0)
        self._kept: deque[Arrived] = deque()
        self._bytes = 0
        self._gone = 0
        """How many went, of those that were ever kept."""

    def stamp(self, event: Event) -> Stamp:
        """The stamp of an event; all who hear of it at this moment get the same one."""
        # Whom an event concerns is told of it one after the other, with nothing between: comparing with the last suffices.
        if event is not self._last:
            self._last = event
            self._stamp = Stamp(max(self._clock(), self._stamp.time_s), self._stamp.number + 1)
        return self._stamp

    def remember(self, event: Event, _: int) -> None:
        """Keep a notification for its time."""
        arrived = Arrived(self.stamp(event), event)
        self._kept.append(arrived)
        self._bytes += arrived.size
        while self._kept and self._kept[0].stamp.time_s < arrived.stamp.time_s - self.remember_s:
            self._forget()
        while len(self._kept) > MAX_REMEMBERED or self._bytes > REMEMBERED_BYTES:
            if not self.forgotten:
                log.warning(
                    "more than %d notifications or %d bytes came within %g s: the oldest are forgotten before their time",
                    *(MAX_REMEMBERED, REMEMBERED_BYTES, self.remember_s),
                )
            self.forgotten += 1
            self._forget()

    def _forget(self) -> None:
        self._bytes -= self._kept.popleft().size
        self._gone += 1

    def remembered(self, seconds: float) -> Iterator[Arrived]:
        """What is remembered of the last seconds, oldest first; what comes or is forgotten meanwhile is taken into account."""
        since_s = self._clock() - min(seconds, self.remember_s)
        place = self._gone
        while True:
            part = list(islice(self._kept, max(place - self._gone, 0), max(place - self._gone, 0) + 100))
            if not part:
                return
            place = max(place, self._gone)
            for arrived in part:
                place += 1
                if arrived.stamp.time_s >= since_s:
                    yield arrived

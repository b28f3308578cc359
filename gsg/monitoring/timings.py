"""How long this peer's clients wait: until what they publish is acknowledged, and until an event's rows are there.

A peer knows of its own clients alone. Of events it times one of each message that its clients publish, if that comes back to a
subscription here: a look at a clock for each event would cost as much as the event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from ..wire.messages import Event
from .histogram import Histogram

UNDER_WAY = 256
"""Events that may be on their way and are timed; beyond, the oldest is forgotten, as nobody here may have asked for it."""


class Timings:
    """Those of one peer, by a ``clock`` in seconds (that of uvloop goes by milliseconds)."""

    def __init__(self, own_id: bytes, clock: Callable[[], float] = perf_counter) -> None:
        self.clock = clock
        self.acknowledge = Histogram()
        self.event_row = Histogram()
        self.under_way: dict[int, float] = {}
        """When events were published, by number, the oldest in front. Limit: UNDER_WAY."""
        self._own_id = own_id

    def begin_events(self, number: int) -> None:
        """Events of this peer's clients are about to be sent, of which this is one."""
        if len(self.under_way) >= UNDER_WAY:
            del self.under_way[next(iter(self.under_way))]
        self.under_way[number] = self.clock()

    def events_told(self, publisher: bytes, events: Sequence[Event]) -> None:
        """The rows of events are told now."""
        if publisher != self._own_id:
            return
        for event in events:
            if event.number in self.under_way:
                self.event_row.observe(self.clock() - self.under_way.pop(event.number))

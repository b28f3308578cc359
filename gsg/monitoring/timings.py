"""How long this peer's clients wait: until what they publish is acknowledged, and until an event's rows are there.

A peer knows of its own clients alone. Of events it times the last one of a call, where its number is a multiple of EVERY and it
comes back to a subscription here as the last one of a message: to look at a clock for each would cost as much as the event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from ..wire.messages import Event
from .histogram import Histogram

EVERY = 8
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
        """Events of this peer's clients are about to be sent, the last of which has this number."""
        if number % EVERY:
            return
        if len(self.under_way) >= UNDER_WAY:
            del self.under_way[next(iter(self.under_way))]
        self.under_way[number] = self.clock()

    def events_told(self, publisher: bytes, events: Sequence[Event]) -> None:
        """The rows of events of one message are told now. The last one is looked at: each of them would cost too much."""
        number = events[-1].number
        if number % EVERY == 0 and publisher == self._own_id and (begun_s := self.under_way.pop(number, None)) is not None:
            self.event_row.observe(self.clock() - begun_s)

"""The events that heads were to pass on of late: for whoever comes in the middle, or whose head may not have passed them on."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ...tuples.sizes import size_bytes
from ...wire.messages import Happened, Message, Missed
from ...wire.waiting import Room, later
from ..broken_links import BACK_S
from ..slow_links import KEPT_BYTES, KEPT_EVENTS

LOST = 1_000
"""Messages of which it is remembered that they went before their time; beyond, the first are not told of."""


class KeptEvents:
    """The events that were passed on of late, for whoever comes in the middle; ``room`` is what those of all templates have."""

    def __init__(self, room: Room) -> None:
        self._all = room
        self._room = Room(KEPT_BYTES, room, each_bytes=0)
        self._kept: deque[tuple[int, float, int, Happened]] = deque()
        """Position, time, length, and the events. Limits: KEPT_EVENTS, KEPT_BYTES, BACK_S; beyond, the oldest go, and are counted
        for whoever asks for them."""
        self._count = 0
        self._lost: deque[tuple[int, int]] = deque(maxlen=LOST)
        """Positions of those that went before their time, and how many events they had. Limit: LOST."""

    def keep(self, position: int, message: Happened, now_s: float) -> None:
        """Events are passed on at a position."""
        size = sum(size_bytes(event.items) + len(event.text or "") for event in message.events)
        self.forget_old(now_s)
        if not self._all.has(size - self._room.taken_bytes):
            # Those of other templates have all the room: it would not be there if everything else went.
            self._lost.append((position, len(message.events)))
            return
        while self._kept and (self._count + len(message.events) > KEPT_EVENTS or not self._room.has(size)):
            lost = self._drop()
            self._lost.append((lost[0], len(lost[3].events)))
        if not self._room.has(size):
            self._lost.append((position, len(message.events)))
            return
        self._kept.append((position, now_s, size, message))
        self._count += len(message.events)
        self._room.take(size)

    def __bool__(self) -> bool:
        return bool(self._kept)

    def forget_old(self, now_s: float) -> None:
        """Forget those that nobody waits for any more."""
        while self._kept and self._kept[0][1] + BACK_S < now_s:
            self._drop()

    def _drop(self) -> tuple[int, float, int, Happened]:
        oldest = self._kept.popleft()
        self._count -= len(oldest[3].events)
        self._room.leave(oldest[2])
        return oldest

    def clear(self) -> None:
        """Nobody is to hear of them any more."""
        self._kept.clear()
        self._lost.clear()
        self._room.empty()
        self._count = 0

    def since(self, came_to: int, feed: int, now_s: float) -> Iterator[Message]:
        """What a feed is to be told that has come to a position: how much is gone, and the events behind it."""
        self.forget_old(now_s)
        if lost := sum(events for position, events in self._lost if position > came_to):
            yield Missed(feed, lost)
        for position, at_s, _, message in self._kept:
            if position > came_to:
                events = list(later(message.events, now_s - at_s))
                yield Happened(message.publisher, events, [[feed]] * len(events), message.after, position)

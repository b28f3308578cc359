"""The events that a rendezvous keeps for a link that takes no more now: the first of them, and how many there were besides.

What is beyond the limits is dropped as it comes, not what was kept before: it costs a count, so that a reader who reads nothing
costs the others nothing, and the count has its place in the order of what the reader gets.
"""

from __future__ import annotations

from collections import Counter, deque

from ..wire.messages import Happened, Message, Missed, encode
from ..wire.room import Room

KEPT_EVENTS = 20_000
KEPT_BYTES = 4 * 1024 * 1024
"""So much is kept for a link, whichever is reached first; from then on events are counted until all that was kept has left."""


class Kept:
    """The events of one link; ``all_links`` is the room that those of all have together."""

    __slots__ = ("_events", "_messages", "_missed", "_room", "missed")

    def __init__(self, all_links: Room | None = None) -> None:
        self._messages: deque[tuple[Happened, int]] = deque()
        """Each with its length."""
        self._events = 0
        self._room = Room(KEPT_BYTES, all_links, each_bytes=0)
        self._missed: Counter[int] = Counter()
        """By feed, what is still to be told. Limit: the feeds of the link."""
        self.missed = 0
        """How many events were not kept, those of several feeds once."""

    def add(self, message: Happened) -> None:
        """Keep events, or count them where there is no room."""
        if not self._missed and self._events < KEPT_EVENTS:
            size_bytes = len(encode(message))
            # One that is longer than the limit itself is kept alone.
            room = self._room if self._messages else self._room.within
            if room is None or room.has(size_bytes):
                self._messages.append((message, size_bytes))
                self._events += len(message.events)
                self._room.take(size_bytes)
                return
        self.missed += len(message.events)
        count_feeds(self._missed, message)

    def next(self) -> Message | None:
        """What is to be sent next, and taken out: events, then how many of each feed were missed; None in the end."""
        if self._messages:
            message, size_bytes = self._messages.popleft()
            self._events -= len(message.events)
            self._room.leave(size_bytes)
            return message
        if self._missed:
            feed, events = self._missed.popitem()
            return Missed(feed, events)
        return None


def count_feeds(missed: Counter[int], message: Happened) -> None:
    """Count, by feed, the events of a message that are not told."""
    # Events that meet the same templates have one list: counting them one by one is most of what a deaf reader costs.
    if len(set(map(id, message.feeds))) == 1:
        for feed in message.feeds[0]:
            missed[feed] += len(message.feeds)
        return
    for feeds in message.feeds:
        missed.update(feeds)

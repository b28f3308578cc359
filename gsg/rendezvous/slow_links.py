"""The events that a rendezvous keeps for a link that takes no more now: the first of them, and how many there were besides.

What is beyond the limits is dropped as it comes, not what was kept before: it costs a count, so that a reader who reads nothing
costs the others nothing, and the count has its place in the order of what the reader gets.
"""

from __future__ import annotations

from collections import Counter

from ..wire.messages import Happened, Message, Missed, encode
from ..wire.waiting import BoundedQueue, Room

KEPT_EVENTS = 20_000
KEPT_BYTES = 4 * 1024 * 1024
"""So much is kept for a link, whichever is reached first; from then on events are counted until all that was kept has left."""


class HeldEvents:
    """The events of one link; ``all_links`` is the room that those of all have together."""

    __slots__ = ("_messages", "_missed", "missed")

    def __init__(self, all_links: Room | None = None) -> None:
        self._messages: BoundedQueue[Happened] = BoundedQueue(Room(KEPT_BYTES, all_links, each_bytes=0), KEPT_EVENTS)
        self._missed: Counter[int] = Counter()
        """By feed, what is still to be told. Limit: the feeds of the link."""
        self.missed = 0
        """How many events were not kept, those of several feeds once."""

    def add(self, message: Happened) -> None:
        """Keep events, or count them where there is no room."""
        if not self._missed:
            size_bytes = len(encode(message))
            if self._messages.fits(size_bytes, len(message.events)):
                self._messages.append(message, size_bytes, len(message.events))
                return
        self.missed += len(message.events)
        count_feeds(self._missed, message)

    def take_next(self) -> Message | None:
        """What is to be sent next: events, then how many of each feed were missed; None in the end."""
        if self._messages:
            return self._messages.popleft()
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

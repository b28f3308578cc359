"""Events on their way to a subscriber whose link breaks: they are kept, with those that happen meanwhile, until it is back.

    sent ──Arrived──> forgotten
      └──the link breaks──> kept ──InsertCondition in the place of the feed──> told by the new link
                                └──BACK_S──> forgotten, and counted

A rendezvous acknowledges events when it has forwarded them; what a link had not brought yet when it broke would be lost, and so
would be what comes before the subscriber has another one. So its feeds stay for a while, as those of a :class:`BrokenLink`, for
events alone: of facts there is a snapshot. Who is taken for dead is waited for as well: its machine may have stopped for a moment,
and its links were ended then. Whoever has heard of an event already knows it again by its number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby

from ..wire.exchange import PeerLink
from ..wire.messages import Event, Happened, Message, Missed, encode
from ..wire.waiting import ALL_BYTES, BoundedQueue, Room
from .slow_links import KEPT_BYTES, KEPT_EVENTS, HeldEvents, count_feeds

BACK_S = 20.0
"""How long a subscriber whose link broke is waited for."""
AGAIN = 16
"""Feeds of one memory that broke of late and are named to a rendezvous; of more, those that broke last."""
FEEDS = 10_000
"""So many feeds of one link are kept, and as many that stand by; a link with more is not: to look through them would keep others
waiting."""
LINKS = 64
LINKS_EACH = 2
"""Broken links for which something is kept, together and of one peer; beyond, the one that broke first is forgotten."""
UNACKNOWLEDGED_EVENTS = KEPT_EVENTS
UNACKNOWLEDGED_BYTES = KEPT_BYTES
"""Events of one link that have not arrived yet, and the length of the messages that brought them; beyond either, the oldest are
counted as missed, should it break."""
KEPT_TIMES = 50_000
"""So often something is to be told to a feed of a link that broke; beyond, or beyond KEPT_BYTES, it is counted."""


class UnacknowledgedEvents:
    """What was sent by one link, and has not arrived yet as far as known."""

    def __init__(self, all_links: Room | None = None) -> None:
        self._messages: BoundedQueue[Happened] = BoundedQueue(
            Room(UNACKNOWLEDGED_BYTES, all_links, each_bytes=0), UNACKNOWLEDGED_EVENTS
        )
        self.missed: Counter[int] = Counter()
        """By feed, how many were beyond the limit. Limit: the feeds of the link."""
        self._arrived = 0
        """How many messages came before these."""
        self._missed_until = 0

    def __iter__(self) -> Iterator[Happened]:
        """The messages, oldest first."""
        return iter(self._messages)

    def add(self, message: Happened, size_bytes: int) -> None:
        """One message more was sent."""
        while self._messages and not self._messages.fits(size_bytes, len(message.events)):
            count_feeds(self.missed, self._take_next())
            self._missed_until = self._arrived
        self._messages.append(message, size_bytes, len(message.events))

    def forget(self) -> None:
        """Its link is no more, and what it had is kept elsewhere, or nowhere."""
        self._messages.clear()

    def acknowledge(self, count: int) -> None:
        """So many messages have arrived since the link was made."""
        while self._messages and self._arrived < count:
            self._take_next()
        if self._missed_until <= count:
            self.missed.clear()

    def _take_next(self) -> Happened:
        self._arrived += 1
        return self._messages.popleft()


class BrokenLink:
    """The subscriber of the feeds that a link had which broke, until they are posted by another one."""

    def __init__(self, link: PeerLink, unacknowledged: UnacknowledgedEvents, held: HeldEvents | None, now: float) -> None:
        self.contact = link.contact
        self.since_s = now
        """When the link broke."""
        self._missed = unacknowledged.missed
        self._events: dict[int, list[tuple[Happened, Event, float, float]]] = {}
        """By feed what it is to be told, in order, each with the message that it came in, its share of the length of that, and
        since when it is late. Limits: KEPT_TIMES, KEPT_BYTES."""
        self._times = 0
        self._bytes = 0.0
        self._beyond: Counter[int] = Counter()
        """By feed, how many were beyond the limits. Limit: the feeds of the link."""
        self._slow: Counter[int] = Counter()
        """By feed, how many its link had not taken in time, which were counted then. Limit: the same."""
        for message in unacknowledged:
            self.add(message, now)
        unacknowledged.forget()
        while held is not None and (message_or_count := held.take_next()) is not None:
            self.add(message_or_count, now)

    def add(self, message: Message, now: float) -> None:
        """What would be sent to it now: events are kept, and of a feed counted that is beyond the limits."""
        if isinstance(message, Missed):
            self._slow[message.feed] += message.events
        if not isinstance(message, Happened):
            return
        size_bytes = len(encode(message))
        if self._times >= KEPT_TIMES or self._bytes + size_bytes > KEPT_BYTES:
            count_feeds(self._beyond, message)
            return
        share_bytes = size_bytes / (sum(map(len, message.feeds)) or 1)
        for event, feeds in zip(message.events, message.feeds, strict=True):
            for feed in feeds:
                if feed in self._beyond or feed in self._slow:
                    self._beyond[feed] += 1
                else:
                    self._events.setdefault(feed, []).append((message, event, share_bytes, now))
                    self._times += 1
                    self._bytes += share_bytes

    def take_messages(self, feed: int, instead: int, now: float) -> Iterator[Message]:
        """What a feed is to be told by another one ``instead``: how much is gone, events, and how many more there were.

        Of events it says how late they are, at most, so that who subscribed since the break does not hear of them.
        """
        if missed := self._missed.pop(feed, 0):
            yield Missed(instead, missed)
        kept_of_feed = self._events.pop(feed, [])
        self._times -= len(kept_of_feed)
        self._bytes -= sum(share_bytes for _, _, share_bytes, _ in kept_of_feed)
        for _, kept in groupby(kept_of_feed, key=lambda one: id(one[0])):
            told = list(kept)
            message = told[0][0]
            late = [
                Event(event.number, event.items, event.text, max(event.late_s, int(now - since_s) + 1))
                for _, event, _, since_s in told
            ]
            yield Happened(message.publisher, late, [[instead]] * len(late), message.after)
        if beyond := self._beyond.pop(feed, 0) + self._slow.pop(feed, 0):
            yield Missed(instead, beyond)

    def untold(self) -> int:
        """How many events it was to be told of and was not, those of several feeds for each of these."""
        return sum(map(len, self._events.values())) + self._missed.total() + self._beyond.total()


class BrokenLinks:
    """What one rendezvous has sent by each link and was not acknowledged, and what it keeps for links that broke."""

    def __init__(self) -> None:
        self._unacknowledged: dict[PeerLink, UnacknowledgedEvents] = {}
        """Bounded by the links."""
        self._room = Room(ALL_BYTES)
        """Of what is under way by all of them."""
        self._broken: dict[PeerLink, BrokenLink] = {}
        """The one that broke first comes first. Limits: LINKS, LINKS_EACH."""
        self.untold = 0
        """Events of links that broke of which no other link told in the end, those of several feeds for each of these."""

    def add_sent(self, link: PeerLink, message: Happened, size_bytes: int, now: Callable[[], float]) -> None:
        """Events are sent by a link, in a message of this length; where it is broken, and that was told, they are kept."""
        unacknowledged = self._unacknowledged.get(link)
        if unacknowledged is None:
            broken = self._broken.get(link)
            if broken is not None:
                broken.add(message, now())
                return
            unacknowledged = self._unacknowledged[link] = UnacknowledgedEvents(self._room)
        unacknowledged.add(message, size_bytes)

    def acknowledge(self, link: PeerLink, count: int) -> None:
        """So many messages of events have arrived by a link, as its other side says."""
        unacknowledged = self._unacknowledged.get(link)
        if unacknowledged is not None:
            unacknowledged.acknowledge(count)

    def end_link(self, link: PeerLink, held: HeldEvents | None, now: float) -> BrokenLink:
        """A link broke, with what it could not take: its subscriber, with all that it was not told."""
        unacknowledged = self._unacknowledged.pop(link, None)
        return BrokenLink(link, UnacknowledgedEvents() if unacknowledged is None else unacknowledged, held, now)

    def keep_events(self, link: PeerLink, broken: BrokenLink) -> list[BrokenLink]:
        """Wait for the subscriber of a link that broke; returns for whom nobody waits any more, as they are too many."""
        self._broken[link] = broken
        of_peer = [one for one in self._broken if one.contact.id == link.contact.id]
        beyond = [self._broken[one] for one in dict.fromkeys([*of_peer[:-LINKS_EACH], *list(self._broken)[:-LINKS]])]
        for one in beyond:
            self.end(one)
        return beyond

    def oldest(self) -> BrokenLink | None:
        """Who has stood for its subscriber the longest."""
        return next(iter(self._broken.values()), None)

    def of_peer(self, peer: bytes) -> list[BrokenLink]:
        """Who stands for a peer, the last one first."""
        return [broken for link, broken in reversed(self._broken.items()) if link.contact.id == peer]

    def other_links(self, link: PeerLink) -> list[PeerLink]:
        """The other links of the same peer by which events went."""
        return [one for one in self._unacknowledged if one.contact.id == link.contact.id and one is not link]

    def end(self, broken: BrokenLink) -> None:
        """Nobody waits for it any more."""
        self.untold += broken.untold()
        self._broken = {link: one for link, one in self._broken.items() if one is not broken}

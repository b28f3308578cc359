"""A template with very many subscribers is fanned out: some of them, the *heads*, pass on to a *part* of the others what they get.

    direct ──more than MOST_DIRECT subscribers──> cut: all but the heads are asked to post again, and are sent to a head
       ^                                           │  who comes is sent to the head of the smallest part, or becomes a head
       └──DIRECT_AGAIN, who are asked to post again┘  a head that goes, or is slow: its part is asked to post again

So a rendezvous sends each tuple PARTS times at most, and it arrives in two hops (Castro and others 2002, "SCRIBE"; here the tree
has two levels, as a rendezvous knows its subscribers). There are about as many parts as members in each: the root of how many
subscribers there are. A head serves from its own alpha memory (gsg/feeds/by_heads/heads.py).

* No gap: whoever is to change keeps the feed that it has until the next one is whole. Events that the last head may not have passed
  on are kept for a while, by position; a subscriber says how far it has come.
* Order: what goes by heads may be overtaken by what this rendezvous sends itself. Both say how far the other has come with their
  publisher (:meth:`FanOuts.come_before`), and subscribers put them in order as they do for several rendezvous.
* Who may read: heads pass on what everybody may read. A tuple for named readers goes to these directly. An event does so beside the
  part's; whoever is to be told of a fact is asked to post again, and is fed directly from then on, and is no head.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from math import isqrt

import dht

from ...tuples.audiences import Audience, reader_of
from ...wire.messages import After, Event, Happened, InsertCondition, Lead, Message, Moved, Origin
from ...wire.waiting import ALL_BYTES, Room
from ..feed import AnyFeed, EventFeed, Feed, Posting, Subscriber
from .kept_events import KeptEvents

MOST_DIRECT = 64
"""Subscribers that a template is sent to directly; with one more it is cut."""
DIRECT_AGAIN = 32
"""With so many, or fewer, it is sent directly again."""
PARTS = 64
"""Parts, and so heads, of one template; a subscriber more goes to the smallest part."""
REFUSALS = 3
"""Heads that may have refused a subscriber; then it is fed directly."""
PUBLISHERS = 4_096
"""Publishers of whom it is remembered how far they have come by heads, and directly; beyond, the one that was silent the longest is
forgotten."""
LOOK_AGAIN = 1.25
"""Where more than MOST_DIRECT feeds are of fewer peers, the peers are counted again at so many times as many feeds: not at each."""

BY_HEADS, DIRECTLY = b"h", b"d"
"""Put behind the id of a rendezvous where it is named (:data:`~gsg.wire.messages.After`): what it sent by heads, or by itself."""


class PartFeed(EventFeed):
    """The share in a posting of a subscriber that a head feeds: only what the head does not pass on goes to it directly."""

    __slots__ = ("events_only", "head", "is_released")

    def __init__(self, subscriber: Subscriber, number: int, posting: Posting, head: AnyFeed, *, events_only: bool) -> None:
        super().__init__(subscriber, number, posting)
        self.head = head
        self.events_only = events_only
        self.is_released = False
        """Whether its subscriber was asked to post again: once is enough."""


class FanOut:
    """How the subscribers of one posting are cut into parts."""

    def __init__(self, posting: Posting, room: Room) -> None:
        self._posting = posting
        self.is_partial = True
        self.heads: dict[AnyFeed, dict[PartFeed, None]] = {}
        """The part of each head. Limit: PARTS; the members are bounded as feeds are."""
        self.of_peer: dict[bytes, dict[PartFeed, None]] = {}
        """The members of all parts, also of those that have lost their head."""
        self.member_count = 0
        self.leading: dict[AnyFeed, None] = {}
        """Heads, and those that were, that have been told to pass on and not yet to stop. Bounded by the feeds, as the next."""
        self.unfit: set[AnyFeed] = set()
        """Feeds of peers that were too slow as heads: they are none again before they post anew."""
        self.kept = KeptEvents(room)

    @property
    def subscribers(self) -> int:
        """How many there are: those that are fed directly, and members. Whoever is just changing counts twice."""
        return len(self._posting.feed_numbers()) + self.member_count

    @property
    def wants_heads(self) -> bool:
        """Whether there are to be more heads for those who are here."""
        return len(self.heads) < wanted_heads(self.subscribers)

    def feeds(self) -> Iterator[PartFeed]:
        """The members' feeds."""
        for of_peer in self.of_peer.values():
            yield from of_peer


class FanOuts:
    """Those of one rendezvous. ``send`` puts a message where the others of a rendezvous are, and ``reads_more(posting, peer)`` says
    whether facts under a posting are there for a peer that are not there for everybody."""

    def __init__(self, send: Callable[[Subscriber, Message], None], reads_more: Callable[[Posting, bytes], bool]) -> None:
        self.own: dht.Contact | None = None
        """Where subscribers are to post again: this peer. Nothing is fanned out before that is known."""
        self.position = 0
        """How many messages of events were passed on."""
        self.cut = self.dismissed = 0
        """Templates that were cut, and heads that were slow, since the start."""
        self.member_feeds: dict[Subscriber, int] = {}
        """How many feeds each subscriber has that heads feed. Bounded by the subscribers."""
        self.fanned: dict[Posting, FanOut] = {}
        """The postings that are fanned out. Bounded by the postings."""
        self._send = send
        self._reads_more = reads_more
        self._room = Room(ALL_BYTES)
        self._look_at: dict[Posting, int] = {}
        """When subscribers are counted again of postings with many feeds. Limit: the postings with more than MOST_DIRECT feeds."""
        self._last: dict[bytes, tuple[int, int]] = {}
        """Of each publisher, the last number that went by heads, and that went directly to members. Limit: PUBLISHERS."""

    # --- subscribers come and go --------------------------------------------------------------------------------------------

    def head_for(self, posting: Posting, subscriber: Subscriber, asked: InsertCondition) -> AnyFeed | None:
        """The head that is to feed a subscriber; None where it is fed directly."""
        fan_out = self.fanned.get(posting)
        if fan_out is None or not fan_out.is_partial or fan_out.wants_heads or not _is_remote(subscriber):
            return None
        if len(asked.not_by) >= REFUSALS or any(head.subscriber is subscriber for head in fan_out.heads):
            return None
        peer, refusing = reader_of(subscriber), set(asked.not_by)
        if not asked.events_only and self._reads_more(posting, peer):
            return None
        fit = [
            head
            for head in fan_out.heads
            if (peer_of := reader_of(head.subscriber)) not in refusing and peer_of != peer and _can_feed(head, asked.events_only)
        ]
        return min(fit, key=lambda head: len(fan_out.heads[head]), default=None)

    def add_member(self, feed: PartFeed) -> None:
        """A subscriber is about to be sent to its head."""
        fan_out = self.fanned[feed.posting]
        fan_out.heads[feed.head][feed] = None
        fan_out.of_peer.setdefault(reader_of(feed.subscriber), {})[feed] = None
        fan_out.member_count += 1
        self.member_feeds[feed.subscriber] = self.member_feeds.get(feed.subscriber, 0) + 1
        if feed.head not in fan_out.leading:
            fan_out.leading[feed.head] = None
            self._send(feed.head.subscriber, Lead(feed.head.number, True, self.position))

    def add_direct(self, feed: AnyFeed) -> None:
        """A subscriber is fed directly: with so many it is time to cut, or there is one more head."""
        posting, feeds = feed.posting, feed.posting.feeds
        fan_out = self.fanned.get(posting)
        if fan_out is not None and fan_out.is_partial:
            if fan_out.wants_heads and self._may_lead(feed, fan_out):
                fan_out.heads[feed] = {}
        elif len(feeds) > MOST_DIRECT and self.own is not None and len(feeds) >= self._look_at.get(posting, 0):
            if len(posting.feed_numbers()) > MOST_DIRECT:
                self._cut(posting)
            else:
                self._look_at[posting] = int(len(feeds) * LOOK_AGAIN)

    def remove_feed(self, feed: AnyFeed) -> None:
        """A subscriber has gone, or is fed elsewhere."""
        posting = feed.posting
        if len(posting.feeds) <= MOST_DIRECT:
            self._look_at.pop(posting, None)
        fan_out = self.fanned.get(posting)
        if fan_out is None:
            return
        if isinstance(feed, PartFeed):
            fan_out.heads.get(feed.head, {}).pop(feed, None)
            of_peer = fan_out.of_peer[peer := reader_of(feed.subscriber)]
            del of_peer[feed]
            if not of_peer:
                del fan_out.of_peer[peer]
            fan_out.member_count -= 1
            self.member_feeds[feed.subscriber] -= 1
            if not self.member_feeds[feed.subscriber]:
                del self.member_feeds[feed.subscriber]
        else:
            fan_out.unfit.discard(feed)
            fan_out.leading.pop(feed, None)
            self._release(fan_out.heads.pop(feed, ()))
        if fan_out.is_partial and fan_out.subscribers <= DIRECT_AGAIN:
            fan_out.is_partial = False
            fan_out.heads.clear()
            self._release(list(fan_out.feeds()))
        if not fan_out.is_partial and not fan_out.member_count:
            for head in list(fan_out.leading):
                self._end_lead(fan_out, head)
            fan_out.kept.clear()
            del self.fanned[posting]

    def _cut(self, posting: Posting) -> None:
        fan_out = self.fanned[posting] = self.fanned.get(posting) or FanOut(posting, self._room)
        fan_out.is_partial = True
        self.cut += 1
        # A head that has facts feeds those as well who ask for events alone.
        feeds = sorted(posting.feeds, key=lambda feed: type(feed) is not Feed)
        wanted = wanted_heads(len(posting.feed_numbers()))
        leading: set[Subscriber] = set()
        for feed in feeds:
            if len(leading) < wanted and feed.subscriber not in leading and self._may_lead(feed, fan_out):
                fan_out.heads[feed] = {}
                leading.add(feed.subscriber)
        self._release(feed for feed in feeds if feed.subscriber not in leading and _is_remote(feed.subscriber))

    def _may_lead(self, feed: AnyFeed, fan_out: FanOut) -> bool:
        if not _is_remote(feed.subscriber) or feed in fan_out.unfit:
            return False
        return type(feed) is EventFeed or (type(feed) is Feed and not self._reads_more(feed.posting, reader_of(feed.subscriber)))

    def _release(self, feeds: Iterable[AnyFeed]) -> None:
        """These are to post again, here: what they have goes on until then."""
        assert self.own is not None, "something is fanned out"
        for feed in feeds:
            if isinstance(feed, PartFeed):
                if feed.is_released:
                    continue
                feed.is_released = True
            self._send(feed.subscriber, Moved(feed.number, self.own, leaves=False))

    def _end_lead(self, fan_out: FanOut, head: AnyFeed) -> None:
        if head in fan_out.leading:
            del fan_out.leading[head]
            self._send(head.subscriber, Lead(head.number, False, self.position))

    def dismiss(self, posting: Posting, head: AnyFeed) -> None:
        """A head is too slow: its part is to go to others, and it is no head any more."""
        fan_out = self.fanned[posting]
        self.dismissed += 1
        fan_out.unfit.add(head)
        self._end_lead(fan_out, head)
        self._release(fan_out.heads.pop(head))

    # --- who may read -------------------------------------------------------------------------------------------------------

    def tell_directly(self, posting: Posting, readers: Collection[bytes]) -> None:
        """A fact for these readers comes or goes: none of them gets it from a head, or passes it on."""
        fan_out = self.fanned[posting]
        for peer in readers:
            self._release(feed for feed in fan_out.of_peer.get(peer, ()) if not feed.events_only)
        for head in [head for head in fan_out.leading if type(head) is Feed and reader_of(head.subscriber) in readers]:
            self._end_lead(fan_out, head)
        for head in [head for head in fan_out.heads if type(head) is Feed and reader_of(head.subscriber) in readers]:
            self._release(fan_out.heads.pop(head))

    def members_among(self, postings: Iterable[Posting], audience: Audience) -> dict[Subscriber, list[int]]:
        """The members that may read an event of these postings, which is for named readers."""
        found: dict[Subscriber, list[int]] = {}
        for posting in postings:
            fan_out = self.fanned.get(posting)
            if fan_out is not None:
                for peer in audience:
                    for feed in fan_out.of_peer.get(peer, ()):
                        found.setdefault(feed.subscriber, []).append(feed.number)
        return found

    # --- what is passed on, and in which order --------------------------------------------------------------------------------

    def pass_on(self, events: dict[FanOut, list[Event]], publisher: bytes, after: After, now_s: float) -> int:
        """Events are about to be sent to heads: they are kept for a while; returns their position."""
        position = self.position
        self.position += 1
        for fan_out, some in events.items():
            fan_out.kept.keep(position, Happened(publisher, some, [], after), now_s)
        return position

    def was_passed_on_here(self, after: After) -> bool:
        """Whether what comes after these was passed on to this peer by another one, past what its publisher sends here: that says
        by itself what comes before it, and nothing else comes after it."""
        return self.own is not None and any(named == self.own.id for named, _, _ in after)

    def come_before(self, publisher: bytes, by_heads: int = 0, directly: int = 0) -> After:
        """What of a publisher went by heads, and directly to members, before what is about to be sent; up to these numbers goes
        together with it."""
        last_by_heads, last_directly = self._last.get(publisher, (0, 0))
        by_heads, directly = max(by_heads, last_by_heads), max(directly, last_directly)
        if self.own is None or not (by_heads or directly):
            return []
        named = ((BY_HEADS, by_heads), (DIRECTLY, directly))
        return [(self.own.id + which, last, last) for which, last in named if last]

    def with_predecessors(self, origin: Origin | None) -> Origin | None:
        """Where facts come from, with what came before them here by heads and directly."""
        if not self.fanned or origin is None or not (before := self.come_before(origin.publisher)):
            return origin
        return Origin(origin.publisher, origin.number, [*before, *origin.after], origin.trace)

    def note_sent(self, publisher: bytes, number: int, *, by_heads: bool, directly: bool) -> None:
        """Something of a publisher was sent, up to a number."""
        last_by_heads, last_directly = self._last.pop(publisher, (0, 0))
        if len(self._last) >= PUBLISHERS:
            del self._last[next(iter(self._last))]
        # What is sent again has an old number.
        by_heads_to, directly_to = number if by_heads else 0, number if directly else 0
        self._last[publisher] = max(by_heads_to, last_by_heads), max(directly_to, last_directly)


def wanted_heads(subscribers: int) -> int:
    """How many heads there are for so many subscribers: the root of that, rounded up, and PARTS at most."""
    return min(PARTS, isqrt(subscribers - 1) + 1)


def _is_remote(subscriber: Subscriber) -> bool:
    """Whether a subscriber is another peer whose link stands."""
    return getattr(subscriber, "is_remote", False)


def _can_feed(head: AnyFeed, events_only: bool) -> bool:
    """Whether a head has what is asked for, now."""
    if getattr(head.subscriber, "congested", False):
        return False
    return not (head.loading or head.congested) if type(head) is Feed else events_only

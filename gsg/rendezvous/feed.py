"""A posting, which is a template with its test under one key, and the feeds that carry what matches it to subscribers.

A feed of facts keeps deltas until :meth:`gsg.rendezvous.rendezvous.Rendezvous.take_messages` takes them: for a moment, or while
its snapshot is under way or its link is congested. What is kept then is bounded; beyond, there is a *gap*, which a fresh snapshot
closes.

    loading ──snapshot sent──> live ──too much kept while the link is congested──> gap ──told, asked for──> loading
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rete.predicates import Required

from ..tuples.features import Key, Template
from ..tuples.sizes import parts
from ..tuples.terms import Term, Tuple
from ..wire.messages import Deltas, Message, Origin, Test, encode
from ..wire.waiting import Room
from .demands import Path
from .one_or_many import OneOrMany, with_item, without_item

Subscriber: TypeAlias = Hashable
"""Whoever a feed goes to: for a peer, the link to the subscriber's peer."""
Predicate: TypeAlias = Callable[[Tuple, "str | None"], bool]
"""A test, compiled: of a tuple and the text that it came as. It may have ``demands``, a sequence of Demand, and ``requires``, what
it requires of the values at the ends of paths (:mod:`rete.predicates`)."""
FeedNumbers: TypeAlias = dict[Subscriber, list[int]]
"""Whom a tuple reaches, with the numbers of their feeds."""

DELTAS = 10_000
"""Deltas in one message."""
HELD_DELTAS = 20_000
HELD_BYTES = 8 * 1024 * 1024
"""Deltas kept for a feed whose subscriber cannot take them now, and their bytes as encoded; those of all feeds have ALL_BYTES
(:mod:`gsg.wire.waiting`). Beyond, they are dropped and the feed is marked with a gap: the subscriber is told, and gets a fresh
snapshot when it asks."""


class Posting:
    """A template under one anchor, with the test that goes with it, and its feeds."""

    __slots__ = ("_demanded", "_feed_numbers", "_feeds", "anchor", "facts", "path", "predicate", "requires", "template", "test")

    def __init__(self, template: Template, test: Test | None, anchor: Key | None) -> None:
        self.template = template
        self.test = test
        self.anchor = anchor
        """The key that it is posted under; None for everywhere."""
        self.facts: Callable[[], Collection[Tuple]] | None = None
        """What matches, where that is not what lies here but what this peer is fed (:mod:`gsg.feeds.by_heads.heads`)."""
        self.path: Path | None = None
        """The path of the demand of its test that it is found by; without one, by its template alone."""
        self._demanded: Term | tuple[Term, ...] = ()
        self.requires: Sequence[Required[Path]] = ()
        """What its test requires of the values at the ends of paths."""
        self.predicate: Predicate | None = None
        """Its test, compiled, where every tuple under the template is tested; else the rendezvous compiles it when it is met."""
        self._feeds: OneOrMany[AnyFeed, AnyFeed] = None
        self._feed_numbers: FeedNumbers | None = None

    @property
    def constants(self) -> tuple[Term, ...]:
        """What is demanded at the end of the path."""
        return self._demanded if type(self._demanded) is tuple else (self._demanded,)  # type: ignore[return-value]  # one term

    @property
    def matches_all(self) -> bool:
        """Whether every tuple under its anchor is one of the template's."""
        return self.anchor is not None and not self.template.same and self.template.anchors() == (self.anchor[1],)

    def found_by(self, path: Path, constants: tuple[Term, ...]) -> None:
        """It is found by a demand of its test."""
        self.path = path
        self._demanded = constants[0] if len(constants) == 1 else constants

    def feed_numbers(self) -> FeedNumbers:
        """Whom a tuple reaches that meets this posting alone; not to be changed."""
        if self._feed_numbers is None:
            self._feed_numbers = feed_numbers_of((self,))
        return self._feed_numbers

    def add_feed(self, feed: AnyFeed) -> None:
        """One feed more."""
        self._feed_numbers = None
        self._feeds = with_item(self._feeds, feed, _itself)

    def remove_feed(self, feed: AnyFeed) -> None:
        """One feed fewer."""
        self._feed_numbers = None
        self._feeds = without_item(self._feeds, feed, _itself)

    @property
    def feeds(self) -> Collection[AnyFeed]:
        """The feeds, oldest first."""
        feeds = self._feeds
        return feeds.values() if isinstance(feeds, dict) else () if feeds is None else (feeds,)


def feed_numbers_of(postings: Collection[Posting]) -> FeedNumbers:
    """Whom a tuple reaches now that has met these postings and passed their tests."""
    found: FeedNumbers = {}
    for posting in postings:
        for feed in posting.feeds:
            numbers = found.get(feed.subscriber)
            if numbers is None:
                found[feed.subscriber] = [feed.number]
            else:
                numbers.append(feed.number)
    return found


def _itself(feed: AnyFeed) -> AnyFeed:
    return feed


@dataclass(slots=True, eq=False)
class EventFeed:
    """One subscriber's share in a posting, for events only: they are passed on as they happen, so there is nothing to keep."""

    subscriber: Subscriber
    number: int
    posting: Posting


class StandbyFeed(EventFeed):
    """As that, at a holder that is not the one that feeds the subscriber: for when that one dies (:mod:`gsg.feeds.standbys`)."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class Feed:
    """One subscriber's share in a posting; ``all_feeds`` is the room that what is kept for all feeds has together."""

    subscriber: Subscriber
    number: int
    posting: Posting
    all_feeds: Room
    sequence: int = 0
    loading: bool = True
    """Its snapshot is still under way."""
    congested: bool = False
    """Its link takes nothing now."""
    round: int = 0
    """Counts snapshots: one that is still being sent when another begins is given up."""
    gap: bool = False
    _kept: int = 0
    _kept_bytes: int = 0
    """Of what was kept while held; what is about to be sent is not looked at."""
    _pieces: list[Piece] = field(default_factory=list)
    """What is kept, by the message of a publisher that it comes from."""

    @property
    def held(self) -> bool:
        """Whether deltas are kept here for now."""
        return self.loading or self.congested

    def add_delta(self, fact: Tuple, sign: int, nth: int, origin: Origin | None, stamp: int = 0) -> bool:
        """Keep a delta of the nth message of any publisher; whether it is the first since :meth:`take_pieces` was called."""
        if self.gap:
            return False
        if self.held:
            size_bytes = len(encode(fact))
            if self._kept >= HELD_DELTAS or self._kept_bytes + size_bytes > HELD_BYTES or not self.all_feeds.has(size_bytes):
                self.gap = True
                self._let_go()
                return False
            self._kept_bytes += size_bytes
            self.all_feeds.take(size_bytes)
        if not self._pieces or self._pieces[-1].nth != nth:
            self._pieces.append(Piece(self, nth, origin))
        piece = self._pieces[-1]
        piece.facts.append(fact)
        piece.signs.append(sign)
        if self.posting.anchor is None:
            piece.stamps.append(stamp)
        self._kept += 1
        return self._kept == 1

    def take_pieces(self) -> list[Piece]:
        """What was kept, if the feed may speak."""
        if self.held:
            return []
        pieces = self._pieces
        self._let_go()
        return pieces

    def _let_go(self) -> None:
        if self._kept_bytes:
            self.all_feeds.leave(self._kept_bytes)
        self._kept, self._kept_bytes, self._pieces = 0, 0, []

    def take_gap(self) -> bool:
        """Whether the subscriber is to be told of a gap now: once, as it is silent from then on until its snapshot."""
        if not self.gap or self.held:
            return False
        self.loading = True
        return True

    def messages_of(self, piece: Piece, *, more: bool) -> Iterator[Message]:
        """What was taken, for the subscriber, in the order in which it was kept; ``more`` of the same message follows by others."""
        cut = list(parts(piece.facts, DELTAS))
        for part in cut:
            last = part is cut[-1] and not more
            yield Deltas(
                self.number, self.sequence, piece.facts[part], piece.signs[part], piece.origin, not last, piece.stamps[part]
            )
            self.sequence += 1

    def begin_snapshot(self) -> None:
        """Forget what was kept: a snapshot that includes it is about to be sent."""
        self.gap = False
        self.loading = True
        self.round += 1
        self._let_go()

    def await_snapshot(self) -> None:
        """Its snapshot is to come, and will include whatever happens until it is begun: nothing is kept meanwhile."""
        self.begin_snapshot()
        self.gap = True


AnyFeed: TypeAlias = Feed | EventFeed


class Piece:
    """What a feed keeps of one message of a publisher. ``nth`` counts those messages at the rendezvous."""

    __slots__ = ("facts", "feed", "nth", "origin", "signs", "stamps")

    def __init__(self, feed: Feed, nth: int, origin: Origin | None) -> None:
        self.feed = feed
        self.nth = nth
        self.origin = origin
        self.facts: list[Tuple] = []
        self.signs: list[int] = []
        self.stamps: list[int] = []
        """Of a template without constants."""


def deltas_of(pieces: Sequence[Piece], unfinished: Container[tuple[bytes, int]] = ()) -> Iterator[tuple[Subscriber, Message]]:
    """What was taken from feeds, in the order in which publishers said it, whichever feeds it goes by. Of messages that are
    ``unfinished``, by publisher and number, more follows."""
    if len(pieces) > 1:
        pieces = sorted(pieces, key=lambda piece: piece.nth)
    last = {(piece.feed.subscriber, _message_of(piece)): piece for piece in pieces}
    for piece in pieces:
        subscriber, origin = piece.feed.subscriber, piece.origin
        more = last[subscriber, _message_of(piece)] is not piece
        if not more and unfinished and origin is not None:
            more = (origin.publisher, origin.number) in unfinished
        for message in piece.feed.messages_of(piece, more=more):
            yield subscriber, message


def _message_of(piece: Piece) -> tuple[bytes, int]:
    """What is the same of all that one message said: it may have come in several slices, with others between them."""
    return (b"", piece.nth) if piece.origin is None else (piece.origin.publisher, piece.origin.number)

"""What is posted under a key: templates with their tests, and the feeds that carry what matches to subscribers.

Under one template, what carries a test is found by a constant that the test demands (:mod:`gsg.rendezvous.demands`), so that a
tuple meets those that it may pass, and not all of them. Which of its demands a test is posted under is free; it is the one under
which the fewest are posted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Sequence
from typing import TypeAlias

import rete

from ..errors import Refused
from ..placement.rules import NOWHERE
from ..tuples.features import Key, Template
from ..tuples.long_constants import short
from ..tuples.sizes import parts
from ..tuples.terms import Term, Tuple, Variable
from ..wire.messages import Deltas, InsertCondition, Message, Origin, Test, encode
from ..wire.room import Room
from .demands import Demand, Path, constants_at

Subscriber: TypeAlias = Hashable
"""Whoever a feed goes to: for a peer, the link to the subscriber's peer."""
Predicate: TypeAlias = Callable[[Tuple, "str | None"], bool]
"""A test, compiled: of a tuple and the text that it came as. It may have ``demands``, a sequence of Demand."""

DELTAS = 10_000
"""Deltas in one message."""
HELD_DELTAS = 20_000
HELD_BYTES = 8 * 1024 * 1024
"""Deltas kept for a feed whose subscriber cannot take them now, and their bytes as encoded; those of all feeds have ALL_BYTES
(:mod:`gsg.wire.room`). Beyond, they are dropped and the feed is marked with a gap: the subscriber is told, and gets a fresh
snapshot when it asks."""
MAX_PATHS = 32
"""Paths in use under one template: each costs every tuple a look-up. Beyond, what demands another one is tested every time."""
CROWDED = 8
"""So many under one constant are borne before a path is opened that nothing else uses."""


class EventFeed:
    """One subscriber's share in one template, for events only: they are passed on as they happen, so there is nothing to keep."""

    __slots__ = ("number", "posted", "subscriber")

    events_only = True

    def __init__(self, subscriber: Subscriber, number: int, posted: Posted) -> None:
        self.subscriber = subscriber
        self.number = number
        self.posted = posted


class StandbyFeed(EventFeed):
    """As that, at a holder that is not the one that feeds the subscriber: for when that one dies (:mod:`gsg.feeds.standbys`)."""

    __slots__ = ()


class Feed:
    """One subscriber's share in one template; ``all_feeds`` is the room that what is kept for all feeds has together."""

    __slots__ = (
        "_kept",
        "_kept_bytes",
        "_pieces",
        "_room",
        "congested",
        "gap",
        "loading",
        "number",
        "posted",
        "round",
        "sequence",
        "subscriber",
    )

    events_only = False

    def __init__(self, subscriber: Subscriber, number: int, posted: Posted, all_feeds: Room) -> None:
        self._room = all_feeds
        self.subscriber = subscriber
        self.number = number
        self.posted = posted
        self.sequence = 0
        self.loading = True
        """Its snapshot is still under way."""
        self.congested = False
        """Its link takes nothing now."""
        self.round = 0
        """Counts snapshots: one that is still being sent when another begins is given up."""
        self.gap = False
        self._kept = 0
        self._kept_bytes = 0
        """Of what was kept while held; what is about to be sent is not looked at."""
        self._pieces: list[Piece] = []
        """What is kept, by the message of a publisher that it comes from."""

    @property
    def held(self) -> bool:
        """Whether deltas are kept here for now."""
        return self.loading or self.congested

    def add(self, fact: Tuple, sign: int, nth: int, origin: Origin | None, stamp: int = 0) -> bool:
        """Keep a delta of the nth message of any publisher; whether it is the first delta since the last :meth:`take`."""
        if self.gap:
            return False
        if self.held:
            size_bytes = len(encode(fact))
            if self._kept >= HELD_DELTAS or self._kept_bytes + size_bytes > HELD_BYTES or not self._room.has(size_bytes):
                self.gap = True
                self._let_go()
                return False
            self._kept_bytes += size_bytes
            self._room.take(size_bytes)
        if not self._pieces or self._pieces[-1].nth != nth:
            self._pieces.append(Piece(self, nth, origin))
        piece = self._pieces[-1]
        piece.facts.append(fact)
        piece.signs.append(sign)
        if self.posted.anchor is None:
            piece.stamps.append(stamp)
        self._kept += 1
        return self._kept == 1

    def take(self) -> list[Piece]:
        """What was kept, if the feed may speak."""
        if self.held:
            return []
        pieces = self._pieces
        self._let_go()
        return pieces

    def _let_go(self) -> None:
        if self._kept_bytes:
            self._room.leave(self._kept_bytes)
        self._kept, self._kept_bytes, self._pieces = 0, 0, []

    def tells_gap(self) -> bool:
        """Whether the subscriber is to be told of a gap now: once, as it is silent from then on until its snapshot."""
        if not self.gap or self.held:
            return False
        self.loading = True
        return True

    def messages(self, piece: Piece, *, more: bool) -> Iterator[Message]:
        """What was taken, for the subscriber, in the order in which it was kept; ``more`` of the same message follows by others."""
        cut = list(parts(piece.facts, DELTAS))
        for part in cut:
            last = part is cut[-1] and not more
            yield Deltas(
                self.number, self.sequence, piece.facts[part], piece.signs[part], piece.origin, not last, piece.stamps[part]
            )
            self.sequence += 1

    def restart(self) -> None:
        """Forget what was kept: a snapshot that includes it is about to be sent."""
        self.gap = False
        self.loading = True
        self.round += 1
        self._let_go()

    def wait(self) -> None:
        """Its snapshot is to come, and will include whatever happens until it is begun: nothing is kept meanwhile."""
        self.restart()
        self.gap = True


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


def deltas(pieces: Sequence[Piece], unfinished: Container[tuple[bytes, int]] = ()) -> Iterator[tuple[Subscriber, Message]]:
    """What was taken from feeds, in the order in which publishers said it, whichever feeds it goes by. Of messages that are
    ``unfinished``, by publisher and number, more follows."""
    if len(pieces) > 1:
        pieces = sorted(pieces, key=_nth)
    last = {(piece.feed.subscriber, _said_by(piece)): piece for piece in pieces}
    for piece in pieces:
        subscriber, said_by, origin = piece.feed.subscriber, _said_by(piece), piece.origin
        more = last[subscriber, said_by] is not piece
        if not more and unfinished and origin is not None:
            more = (origin.publisher, origin.number) in unfinished
        for message in piece.feed.messages(piece, more=more):
            yield subscriber, message


def _said_by(piece: Piece) -> int:
    """What is the same of all that one message said: it may have come in several slices, with others between them."""
    return -piece.nth if piece.origin is None else id(piece.origin)


def _nth(piece: Piece) -> int:
    return piece.nth


AnyFeed: TypeAlias = Feed | EventFeed

_ANY_ARITY: Tuple = ()
"""A template without positions asks for events of every arity; this is what it matches."""


class Posted:
    """A template under one anchor, with the test that goes with it, and its feeds."""

    __slots__ = ("_demanded", "_more", "_one", "_reached", "anchor", "path", "predicate", "template", "test")

    def __init__(self, template: Template, test: Test | None, anchor: Key | None) -> None:
        self.template = template
        self.test = test
        self.anchor = anchor
        """The key that it is posted under; None for everywhere."""
        self.path: Path | None = None
        """The path of the demand of its test that it is found by; without one, by its template alone."""
        self._demanded: Term | tuple[Term, ...] = ()
        self.predicate: Predicate | None = None
        """Its test, compiled, where every tuple under the template is tested; else the rendezvous compiles it when it is met."""
        self._one: AnyFeed | None = None
        self._reached: dict[Subscriber, list[int]] | None = None
        self._more: dict[AnyFeed, None] | None = None
        """All feeds, where there are several: a dict for each of very many subscriptions would be most of what they take."""

    @property
    def constants(self) -> tuple[Term, ...]:
        """What is demanded at the end of the path."""
        return self._demanded if type(self._demanded) is tuple else (self._demanded,)  # type: ignore[return-value]  # one term

    @property
    def meets_all(self) -> bool:
        """Whether every tuple under its anchor is one of the template's."""
        return self.anchor is not None and not self.template.same and self.template.anchors() == (self.anchor[1],)

    def found_by(self, path: Path, constants: tuple[Term, ...]) -> None:
        """It is found by a demand of its test."""
        self.path = path
        self._demanded = constants[0] if len(constants) == 1 else constants

    def reached(self) -> dict[Subscriber, list[int]]:
        """Whom a tuple reaches that it meets alone, with the numbers of their feeds; not to be changed."""
        if self._reached is None:
            self._reached = {}
            for feed in self.feeds:
                self._reached.setdefault(feed.subscriber, []).append(feed.number)
        return self._reached

    def add(self, feed: AnyFeed) -> None:
        """One feed more."""
        self._reached = None
        if self._one is None and self._more is None:
            self._one = feed
            return
        if self._more is None:
            assert self._one is not None
            self._more, self._one = {self._one: None}, None
        self._more[feed] = None

    def remove(self, feed: AnyFeed) -> None:
        """One feed fewer."""
        self._reached = None
        if self._more is None:
            self._one = None
        else:
            del self._more[feed]

    @property
    def feeds(self) -> Collection[AnyFeed]:
        """The feeds, oldest first."""
        if self._more is not None:
            return self._more
        return () if self._one is None else (self._one,)


_Bucket: TypeAlias = "Posted | dict[Test | None, Posted]"
"""What is found by one constant, by its test; most constants find one."""


class Postings:
    """What is posted under one template, by its test; found by what a tuple holds where tests demand something."""

    __slots__ = ("_by_path", "_undemanding")

    def __init__(self) -> None:
        self._undemanding: dict[Test | None, Posted] = {}
        """What every tuple under the template meets."""
        self._by_path: dict[Path, dict[Term, _Bucket]] | None = None

    def __bool__(self) -> bool:
        return bool(self._undemanding or self._by_path)

    def __iter__(self) -> Iterator[Posted]:
        yield from self._undemanding.values()
        for buckets in (self._by_path or {}).values():
            for constant, bucket in buckets.items():
                yield from (posted for posted in _of(bucket) if posted.constants[0] == constant)

    def get(self, test: Test | None, demands: Sequence[Demand]) -> Posted | None:
        """What is posted with this test, which has these demands."""
        posted = self._undemanding.get(test)
        if posted is None and self._by_path is not None:
            for demand in demands:
                bucket = self._by_path.get(demand.path, {}).get(demand.constants[0])
                if type(bucket) is dict:
                    posted = bucket.get(test)
                elif type(bucket) is Posted and bucket.test == test:
                    posted = bucket
                if posted is not None:
                    break
        return posted

    def post(self, posted: Posted, demands: Sequence[Demand]) -> None:
        """Post under the best of the demands, or under none; ``posted.path`` says which."""
        # What the template says already selects nothing under it.
        said = {(position,) for position in posted.template.anchors()}
        demand = self._chosen([demand for demand in demands if demand.path not in said])
        if demand is None:
            self._undemanding[posted.test] = posted
            return
        if self._by_path is None:
            self._by_path = {}
        buckets = self._by_path.setdefault(demand.path, {})
        # One tuple for the path of all that have it.
        posted.found_by(next(path for path in self._by_path if path == demand.path), demand.constants)
        for constant in demand.constants:
            bucket = buckets.get(constant)
            if bucket is None:
                buckets[constant] = posted
            elif type(bucket) is dict:
                bucket[posted.test] = posted
            else:
                assert type(bucket) is Posted
                buckets[constant] = {bucket.test: bucket, posted.test: posted}

    def remove(self, posted: Posted) -> None:
        """Take away what was posted."""
        if posted.path is None:
            del self._undemanding[posted.test]
            return
        assert self._by_path is not None, "it is posted under a path"
        buckets = self._by_path[posted.path]
        for constant in posted.constants:
            bucket = buckets[constant]
            if type(bucket) is dict:
                del bucket[posted.test]
            if type(bucket) is Posted or not bucket:
                del buckets[constant]
        if not buckets:
            del self._by_path[posted.path]
            if not self._by_path:
                self._by_path = None

    def meeting(self, items: Tuple) -> Iterable[Posted]:
        """What a tuple of this template may pass: everything that it passes is among it, once."""
        if self._by_path is None:
            return self._undemanding.values()
        met: list[Posted] = list(self._undemanding.values())
        for path, buckets in self._by_path.items():
            if len(path) == 1 and path[0] < len(items):
                constant = items[path[0]]
                bucket = buckets.get(constant)
                if bucket is not None:
                    met.extend(_of(bucket))
                elif type(constant) is Variable:
                    met.extend(_all(buckets))
                continue
            constants = constants_at(items, path)
            if constants is None:
                met.extend(_all(buckets))
                continue
            found = [bucket for constant in constants if (bucket := buckets.get(constant)) is not None]
            if len(found) == 1:
                met.extend(_of(found[0]))
            elif found:
                # One may demand several of the constants.
                met.extend({posted: None for bucket in found for posted in _of(bucket)})
        return met

    def _chosen(self, demands: Sequence[Demand]) -> Demand | None:
        paths = self._by_path or {}

        def crowd(demand: Demand) -> tuple[int, bool, int, int]:
            buckets = paths.get(demand.path, {})
            most = max(len(_of(buckets[constant])) if constant in buckets else 0 for constant in demand.constants)
            return (most.bit_length() if most > CROWDED else 0, demand.path not in paths, len(demand.path), len(demand.constants))

        possible = demands if len(paths) < MAX_PATHS else [demand for demand in demands if demand.path in paths]
        return min(possible, key=crowd, default=None)


def _of(bucket: _Bucket) -> Collection[Posted]:
    return (bucket,) if type(bucket) is Posted else bucket.values()  # type: ignore[union-attr]  # a dict


def _all(buckets: dict[Term, _Bucket]) -> dict[Posted, None]:
    return {posted: None for bucket in buckets.values() for posted in _of(bucket)}


class Stand:
    """What is posted under one key: templates by look-up, and under each what its tests demand."""

    __slots__ = ("key", "size", "sole", "table")

    def __init__(self, key: Key | None) -> None:
        self.sole: Posted | None = None
        """What is posted here, where it is alone and every tuple under the key meets it."""
        self.key = key
        """None for everywhere."""
        self.table: rete.TemplateTable[Postings] = rete.TemplateTable()
        self.size = 0
        """How many are posted here."""

    def get(self, template: Template, test: Test | None, demands: Sequence[Demand] = ()) -> Posted | None:
        """What is posted under exactly this template and test."""
        postings = self.table.get(template)
        return None if postings is None else postings.get(test, demands)

    def post(self, template: Template, test: Test | None, demands: Sequence[Demand]) -> Posted:
        """Post what is not there yet."""
        postings = self.table.get(template)
        if postings is None:
            postings = Postings()
            self.table.post(template, postings)
        posted = Posted(template, test, self.key)
        postings.post(posted, demands)
        self.size += 1
        self._look()
        return posted

    def meeting(self, items: Tuple, *, is_event: bool = False) -> list[Posted]:
        """What a tuple may pass; of events, also what is posted for those of any arity."""
        met: list[Posted] = []
        for shape in (items, _ANY_ARITY) if is_event else (items,):
            for postings in self.table.matching(shape):
                met.extend(postings.meeting(items))
        return met

    def remove(self, posted: Posted) -> None:
        """Take away what was posted."""
        postings = self.table.get(posted.template)
        assert postings is not None, "a posted template is in its table"
        postings.remove(posted)
        if not postings:
            self.table.remove(posted.template)
        self.size -= 1
        self._look()

    def _look(self) -> None:
        self.sole = None
        if self.size == 1 and self.key is not None:
            [only] = self
            if only.test is None and only.meets_all:
                self.sole = only

    def __iter__(self) -> Iterator[Posted]:
        for postings in self.table:
            yield from postings


def anchor_key(asked: InsertCondition) -> Key | None:
    """The key that the condition is posted under; None for everywhere. Raises Refused when the anchor is no constant of it."""
    pattern = asked.template.pattern
    arity = len(pattern)
    if (not pattern and not asked.events_only) or any(not 0 <= first < later < arity for first, later in asked.template.same):
        raise Refused(f"template {asked.template!r} has no positions, or repeats some that it does not have")
    if any(type(constant) is Variable for constant in pattern):
        raise Refused(f"template {asked.template!r} holds a variable; expected constants and nothing")
    if asked.anchor == NOWHERE and not asked.template.anchors():
        return None
    return key_of(asked.template, asked.anchor)


def key_of(template: Template, position: int) -> Key:
    """The key of a position of a template. Raises Refused where it has no constant."""
    constant = template.pattern[position] if 0 <= position < len(template.pattern) else None
    if constant is None:
        raise Refused(f"position {position} is no constant of template {template!r}; expected one of {template.anchors()}")
    return (len(template.pattern), position, short(constant))

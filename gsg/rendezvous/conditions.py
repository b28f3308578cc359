"""What subscribers have posted at one peer: conditions, each a posting under its key with a feed for its subscriber.

Equal templates of several subscribers are stored once. What has no constants is posted everywhere and matched under a tuple's home.
Nothing here knows of facts: whoever matches them (:mod:`gsg.rendezvous.rendezvous`, :mod:`gsg.rendezvous.matching`) looks here.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from itertools import chain
from typing import TypeAlias

from rete.predicates import Required

from ..errors import Refused
from ..tuples.features import HOME, Interval, Key, Template
from ..tuples.long_constants import ShortTerm
from ..tuples.ordered_attributes import NONE_ORDERED, OrderedAttributes
from ..tuples.terms import Tuple
from ..wire.messages import InsertCondition
from ..wire.waiting import ALL_BYTES, Room
from .broken_links import BrokenLink
from .condition_tests import CompiledTests, CompileTest
from .demands import Demand, Path
from .fan_out.parts import FanOuts, PartFeed
from .feed import AnyFeed, EventFeed, Feed, Posting, StandbyFeed, Subscriber
from .postings import KeyPostings, anchor_key
from .postings_by_key import PostingsByKey

EVERYWHERE = (0, HOME, None)
"""Stands for a key where what has none is told of."""

KeyInUse: TypeAlias = tuple[int, int, ShortTerm | Interval | None]
"""A key under which something is posted, or EVERYWHERE; None for any constant."""


class Conditions:
    """The conditions of one rendezvous.

    ``on_change(feed, is_there)`` hears of each that comes, with True, and ends, with False; but of none that stands by.
    """

    def __init__(self, compile_test: CompileTest, ordered: OrderedAttributes = NONE_ORDERED) -> None:
        self._ordered = ordered
        self.on_change: Callable[[AnyFeed, bool], None] | None = None
        self.tests = CompiledTests(compile_test)
        self.by_key = PostingsByKey(ordered)
        self.standby = PostingsByKey(ordered)
        """What stands by: met by events alone."""
        self.everywhere = KeyPostings(None)
        self._new_keys: list[KeyInUse] = []  # that of one condition: whoever posts it takes it at once
        self._of_subscriber: dict[Subscriber, dict[int, AnyFeed]] = {}
        """All feeds, by number. Limit of another peer: its quota, which refuses one more; they go with the link."""
        self._room = Room(ALL_BYTES, each_bytes=0)  # of what all feeds keep whose subscribers cannot take it now
        self.fan_outs: FanOuts | None = None
        """What is fed by way of other subscribers."""

    def post_condition(self, subscriber: Subscriber, asked: InsertCondition) -> AnyFeed:
        """Post a template for a subscriber. Raises Refused as :meth:`gsg.rendezvous.rendezvous.Rendezvous.insert_condition`."""
        key = anchor_key(asked, self._ordered)
        if self.any_feed(subscriber, asked.feed) is not None:
            raise Refused(f"feed {asked.feed} is in use already; expected a new number")
        if asked.standby and key is None:
            raise Refused("a template without constants is posted everywhere: nothing of it stands by")
        predicate = None if asked.test is None else self.tests.compile(asked.test)
        demands: Sequence[Demand] = getattr(predicate, "demands", ())
        if asked.exclusive:
            self._check_free(key, subscriber, asked, demands)
        kept = self.standby if asked.standby else self.by_key
        postings = self.everywhere if key is None else kept.get(key)
        posting = None if postings is None else postings.get(asked.template, asked.test, demands)
        if posting is None:
            if postings is None or not postings.size:
                self._new_keys.append(EVERYWHERE if key is None else key)
            if postings is None:
                assert key is not None, "what is posted everywhere has its place"
                postings = kept.open_key(key)
            requires: Sequence[Required[Path]] = getattr(predicate, "requires", ())
            posting = postings.post_template(asked.template, asked.test, demands, requires)
            if posting.path is None:
                posting.predicate = predicate
        feed: AnyFeed
        if asked.standby:
            feed = StandbyFeed(subscriber, asked.feed, posting)
        elif self.fan_outs is not None and (head := self.fan_outs.head_for(posting, subscriber, asked)) is not None:
            feed = PartFeed(subscriber, asked.feed, posting, head, events_only=asked.events_only)
        else:
            feed = self._direct_feed(subscriber, asked, posting)
        self._add(feed)
        self._tell(feed, is_there=True)
        return feed

    def _direct_feed(self, subscriber: Subscriber, asked: InsertCondition, posting: Posting) -> AnyFeed:
        if asked.events_only:
            return EventFeed(subscriber, asked.feed, posting)
        return Feed(subscriber, asked.feed, posting, self._room)

    def pass_on(self, subscriber: Subscriber, asked: InsertCondition, posting: Posting) -> AnyFeed:
        """Feed a subscriber what this peer is fed itself (:mod:`gsg.feeds.by_heads.heads`): the posting is under no key.

        Raises Refused for a number that is in use.
        """
        if self.any_feed(subscriber, asked.feed) is not None:
            raise Refused(f"feed {asked.feed} is in use already; expected a new number")
        feed = self._direct_feed(subscriber, asked, posting)
        self._add(feed)
        return feed

    def _check_free(self, key: Key | None, subscriber: Subscriber, asked: InsertCondition, demands: Sequence[Demand]) -> None:
        """Raise Refused where anybody has a feed of this condition, other than the one that is to be replaced.

        Whoever has lost its link has none any more.
        """
        under = [self.everywhere] if key is None else [self.by_key.get(key), self.standby.get(key)]
        each = [None if postings is None else postings.get(asked.template, asked.test, demands) for postings in under]
        for feed in chain.from_iterable(posting.feeds for posting in each if posting is not None):
            replaced = feed.subscriber is subscriber and feed.number == asked.instead
            if not replaced and type(feed.subscriber) is not BrokenLink:
                raise Refused("somebody has this already")

    def _add(self, feed: AnyFeed) -> None:
        self._kept_by(feed).count_feed(feed, 1)
        if isinstance(feed, PartFeed):
            assert self.fan_outs is not None, "it is of one"
            self.fan_outs.add_member(feed)
        else:
            feed.posting.add_feed(feed)
            if self.fan_outs is not None and _may_be_fanned_out(feed):
                self.fan_outs.add_direct(feed)
        self._of_subscriber.setdefault(feed.subscriber, {})[feed.number] = feed

    def _kept_by(self, feed: AnyFeed) -> PostingsByKey:
        return self.standby if type(feed) is StandbyFeed else self.by_key

    def _tell(self, feed: AnyFeed, *, is_there: bool) -> None:
        if self.on_change is not None and type(feed) is not StandbyFeed:
            self.on_change(feed, is_there)

    def remove_condition(self, subscriber: Subscriber, number: int) -> None:
        """End a feed, and its posting if that was the last one. An unknown number is nothing: it may have ended meanwhile."""
        of_subscriber = self._of_subscriber.get(subscriber)
        feed = None if of_subscriber is None else of_subscriber.pop(number, None)
        if of_subscriber is None or feed is None:
            return
        if not of_subscriber:
            del self._of_subscriber[subscriber]
        posting, kept = feed.posting, self._kept_by(feed)
        if type(feed) is not PartFeed:
            posting.remove_feed(feed)
        kept.count_feed(feed, -1)
        if type(feed) is Feed:
            feed.begin_snapshot()
        if self.fan_outs is not None and _may_be_fanned_out(feed):
            self.fan_outs.remove_feed(feed)
        if posting.facts is not None:
            return
        if not posting.feeds and not (self.fan_outs is not None and posting in self.fan_outs.fanned):
            self.tests.forget(posting)
            if posting.anchor is None:
                self.everywhere.remove(posting)
            else:
                kept.remove(posting.anchor, posting)
        self._tell(feed, is_there=False)

    def remove_subscriber(self, subscriber: Subscriber) -> None:
        """End all feeds of a subscriber."""
        for number in list(self._of_subscriber.get(subscriber, ())):
            self.remove_condition(subscriber, number)

    def give_events_to(self, instead: Subscriber, subscriber: Subscriber) -> None:
        """Post all that a subscriber has for another one too, for events alone; but not what is passed on to it: of that its
        rendezvous tells it."""
        for number, feed in self._of_subscriber.get(subscriber, {}).items():
            if feed.posting.facts is None:
                self._add((StandbyFeed if type(feed) is StandbyFeed else EventFeed)(instead, number, feed.posting))

    # --- what is there ----------------------------------------------------------------------------------------------------

    def any_feed(self, subscriber: Subscriber, number: int) -> AnyFeed | None:
        """A subscriber's feed of this number, of whatever kind."""
        return self._of_subscriber.get(subscriber, {}).get(number)

    def feed(self, subscriber: Subscriber, number: int) -> Feed | None:
        """A subscriber's feed of facts, if it has one of this number."""
        feed = self.any_feed(subscriber, number)
        return feed if type(feed) is Feed else None

    def feeds_of(self, subscriber: Subscriber) -> list[Feed]:
        """All feeds of facts of a subscriber."""
        return [feed for feed in self._of_subscriber.get(subscriber, {}).values() if type(feed) is Feed]

    def feeds_under(self, keys: Iterable[Key]) -> Iterable[AnyFeed]:
        """All feeds of what tuples meet under these keys, once each."""
        found: dict[AnyFeed, None] = {}
        for key in keys:
            for posting in chain(self.by_key.get(key) or (), self.everywhere if key[1] == HOME else ()):
                found.update(dict.fromkeys(posting.feeds))
                if self.fan_outs is not None and (fan_out := self.fan_outs.fanned.get(posting)) is not None:
                    found.update(dict.fromkeys(fan_out.feeds()))
        return found

    def candidates(self, items: Tuple, positions: Container[int] | None) -> list[Posting]:
        """What is posted that an event may pass, under these of its positions, or all of them."""
        candidates = self.by_key.candidates(items, positions)
        candidates += self.standby.candidates(items, positions) if self.standby.in_use else ()
        if self.everywhere.size and (positions is None or HOME in positions):
            candidates.extend(self.everywhere.candidates(items, is_event=True))
        return candidates

    def sole_candidate(self, items: Tuple, positions: Container[int] | None) -> Posting | None:
        """The posting that an event meets and matches, where it is the only one under any of its keys: so it is in most streams."""
        arity = len(items)
        in_use = self.by_key.in_use.get(arity)
        if in_use is None or len(in_use) != 1 or self.everywhere.size or self.by_key.intervals or self.standby.intervals:
            return None
        [position] = in_use
        if positions is None or position in positions:
            postings = self.by_key.find((arity, position, items[position]))
            if postings is not None and not (self.standby.in_use and self.standby.candidates(items, positions)):
                return postings.sole
        return None

    def load_of(self, key: Key, template: Template) -> tuple[int, bool]:
        """How many templates are posted under a key, and whether this one is among them."""
        postings = self.by_key.get(key)
        return (0, False) if postings is None else (postings.size, postings.get(template, None) is not None)

    def has_templates(self, key: Key) -> bool:
        """Whether templates are posted under a key; what stands by is not."""
        return key in self.by_key

    def has_listeners(self, key: Key) -> bool:
        """Whether events meet something under a key."""
        if key in self.by_key or key in self.standby or (key[1] == HOME and self.everywhere.size > 0):
            return True
        return any(kept.postings_of_interval(key) is not None for kept in (self.by_key, self.standby))

    # --- what publishers are told -----------------------------------------------------------------------------------------

    def take_new_keys(self) -> list[KeyInUse]:
        """The keys that something was posted under where there was nothing, since the last call."""
        keys, self._new_keys = self._new_keys, []
        return keys

    def keys_in_use(self) -> Iterable[KeyInUse]:
        """The keys under which something is posted; EVERYWHERE for what has none."""
        return [*self.by_key, *([EVERYWHERE] if self.everywhere.size else [])]

    def keys_on_standby(self) -> Iterable[Key]:
        """The keys under which something stands by, and nothing else is posted."""
        return [key for key in self.standby if key not in self.by_key]

    def positions_in_use(self, arity: int) -> Iterable[int]:
        """The positions of tuples of this arity under which something is posted, or stands by."""
        in_use = chain.from_iterable(kept.in_use.get(arity, ()) for kept in (self.by_key, self.standby))
        return [*in_use, *([HOME] if self.everywhere.size else [])]

    def is_in_use(self, arity: int) -> bool:
        """Whether anything that tuples of this arity meet is posted, or stands by."""
        return arity in self.by_key.in_use or arity in self.standby.in_use or self.everywhere.size > 0

    # --- figures ----------------------------------------------------------------------------------------------------------

    def templates(self, *, standby: bool = False) -> int:
        """Templates stored, or that stand by; those of several subscribers count once."""
        return self.standby.templates() if standby else self.by_key.templates() + self.everywhere.size

    def templates_bytes(self, subscriber: Subscriber) -> int:
        """What the templates of a subscriber's feeds take, those that stand by included."""
        return self.by_key.templates_bytes[subscriber] + self.standby.templates_bytes[subscriber]

    def feeds(self, subscriber: Subscriber | None = None, *, standby: bool = False) -> int:
        """Feeds to all subscribers, or to one; those that stand by are counted apart."""
        return (self.standby if standby else self.by_key).feeds(subscriber)


def _may_be_fanned_out(feed: AnyFeed) -> bool:
    """Not what stands by, what is fed by the peers of many keys, or what is passed on here already."""
    anchor = feed.posting.anchor
    return type(feed) is not StandbyFeed and anchor is not None and type(anchor[2]) is not Interval and feed.posting.facts is None

"""The rendezvous: where facts and templates that share a key meet. One peer is the rendezvous of many keys.

What happens to a tuple here, under each of its positions whose key this peer holds:

1. a fact is entered under the key, and nothing more happens if it was there already (:meth:`Rendezvous.publish`); an event is
   not kept;
2. what is posted under that key is tried, found by one look-up per shape and path that is in use, and under position 0 also what
   has no constants: facts in :meth:`Rendezvous._match_fact`, events in :mod:`gsg.rendezvous.matching`;
3. it is added to the feed of each subscriber of each template that matches.

Matching happens under the template's own anchor only, so a fact that reaches this peer under two keys is fed once. Nothing here
waits or sends: the holder of this object calls :meth:`Rendezvous.take_messages` and sends what it gets; ``Subscriber`` handles are
opaque to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from math import inf

import dht

from ..storage.facts_by_key import FactsByKey
from ..storage.visibility import Seen
from ..tuples.audiences import reader_of
from ..tuples.features import HOME, Key, Load, Template, keys_at
from ..tuples.long_constants import Remains, is_hashed
from ..tuples.ordered_attributes import NONE_ORDERED, OrderedAttributes
from ..tuples.terms import Tuple
from ..wire.messages import Event, Gap, InsertCondition, Message, Moved, Origin, Snapshot
from ..wire.trace_context import NO_SPANS, Spans, kind_of
from .changes import Change
from .condition_tests import CompileTest
from .conditions import Conditions
from .fan_out.parts import FanOuts
from .feed import AnyFeed, Feed, FeedNumbers, Posting, Subscriber, deltas_of
from .postings import KeyPostings, key_of
from .progress import Progress
from .snapshot import snapshot_parts


class Rendezvous:
    """Facts and conditions by key, and what comes of their meeting.

    ``on_fact``, ``on_copy`` and ``on_event`` hear of each that has come, with how many templates it met whose tests it passed, and
    how many copies of it go to subscribers. They are None where nobody traces (:mod:`gsg.monitoring.tracing`).
    """

    def __init__(
        self, compile_test: CompileTest, clock: Callable[[], float] = time.monotonic, ordered: OrderedAttributes = NONE_ORDERED
    ) -> None:
        self.clock = clock
        """Seconds, by which slices of matching end; they never go back."""
        self.on_fact: Callable[[int, Tuple, bytes, int, bool, bool | None, int, int], None] | None = None
        """With sign, fact, positions, stamp, whether as its holder, and whether it changed under its home, if that is here."""
        self.on_copy: Callable[[int, Remains, bytes, int, int, int], None] | None = None
        """With sign, fact, positions and stamp, as another holder tells of it."""
        self.on_event: Callable[[bytes, Event, Sequence[int] | None, int, int], None] | None = None
        """With publisher, event and positions."""
        self.spans: Spans = NO_SPANS
        self.conditions = Conditions(compile_test, ordered)
        self._postings, self._everywhere = self.conditions.by_key, self.conditions.everywhere
        self.held = FactsByKey(clock, ordered)
        self.moved: dict[Key, None] = {}
        """Keys that are others' by now, all of whose facts those have, and that still have something here."""
        self._dirty: list[Feed] = []  # bounded by the feeds: those with something to say since take(), which ends each read
        self._happened: list[tuple[Subscriber, Message]] = []  # what else a read, or a slice of matching, brings about until then
        self.progress = Progress()
        self.fan_outs = self.conditions.fan_outs = FanOuts(
            lambda to, message: self._happened.append((to, message)), self._reads_more
        )
        self._said: Origin | None = None
        self._origin: Origin | None = None
        self._nth = 0
        """The message whose facts come or go, as it says it and as subscribers are told, and how many there were."""
        self._by_heads = self._directly = False
        """Whether something of it goes by heads, and to members of parts directly."""
        self._unfinished: dict[tuple[bytes, int], None] = {}
        """Messages, by publisher and number, of which only some facts have come or gone: one for each link (time_slices.py)."""
        self.matched = self.templates_met = 0
        """Tuples forwarded to subscribers, and templates that they met and whose tests they passed, since the start."""
        self.gaps = 0
        """Times that the deltas of a feed were not kept, since the start: its subscriber starts from a snapshot."""

    # --- facts ------------------------------------------------------------------------------------------------------------

    def publish(
        self,
        sign: int,
        facts: Sequence[Tuple],
        places: Sequence[bytes],
        *,
        stamp: int = 0,
        origin: Origin | None = None,
        as_holder: bool = True,
    ) -> int:
        """Facts come (1) or go (-1), each under its places, as in Change; returns how many changed under their home."""
        change = Change(sign, facts, places, stamp, as_holder=as_holder)
        self.publish_until(inf, change, range(len(facts)), origin)
        return change.changed

    def publish_until(self, ends_s: float, change: Change, numbers: Sequence[int], origin: Origin | None) -> int:
        """These facts of a change, by number, all that are said by ``origin``, come or go until the time is over by :attr:`clock`:
        how many did, at least one of several. The rest is to follow, or :meth:`give_up` to be called."""
        if origin is None or origin.trace is None:
            return self._publish_until(ends_s, change, numbers, origin, None)
        with self.spans.match(origin.trace, kind_of(change.sign)) as span:
            templates_met, matched = self.templates_met, self.matched
            made = self._publish_until(ends_s, change, numbers, origin, span.context)
            span.count_matched(made, self.templates_met - templates_met, self.matched - matched)
        return made

    def _publish_until(
        self, ends_s: float, change: Change, numbers: Sequence[int], origin: Origin | None, trace: bytes | None
    ) -> int:
        self._begin_message(origin, trace)
        made = self._change_until(ends_s, change, numbers)
        if origin is not None:
            said = origin.publisher, origin.number
            if made < len(numbers):
                self._unfinished[said] = None
            else:
                self._unfinished.pop(said, None)
                self.progress.advance(*said)
            if self._by_heads or self._directly:
                self.fan_outs.note_sent(*said, by_heads=self._by_heads, directly=self._directly)
        return made

    def _change_until(self, ends_s: float, change: Change, numbers: Sequence[int]) -> int:
        sign, stamp, facts, places = change.sign, change.stamp, change.facts, change.places
        clock, variants, change_all, on_fact = self.clock, self.held.variants, self.held.change_all, self.on_fact
        templates_met, matched = self.templates_met, self.matched
        for made, number in enumerate(numbers, 1):
            fact, positions, before = facts[number], places[number], change.changed
            if self.moved and change.as_holder:
                self.keep_keys(keys_at(fact, positions))
            tell = self._changed if type(fact) is tuple and not variants else self._changed_for_some
            for key in change_all(fact, positions, sign, stamp):
                change.changed += key[1] == HOME
                tell(key, fact, sign, stamp)
            if change.changed == before and HOME in positions:
                change.unchanged.append(number)
            if on_fact is not None and positions:
                changed = change.changed > before if HOME in positions else None
                counts = self.templates_met - templates_met, self.matched - matched
                on_fact(sign, fact, positions, stamp, change.as_holder, changed, *counts)
                templates_met, matched = self.templates_met, self.matched
            if made < len(numbers) and clock() >= ends_s:
                return made
        return len(numbers)

    def give_up(self, origin: Origin | None) -> None:
        """The rest of what a message says does not come; whoever waits for it asks in vain, as for what was never sent."""
        if origin is not None:
            self._unfinished.pop((origin.publisher, origin.number), None)

    def _begin_message(self, origin: Origin | None, trace: bytes | None = None) -> None:
        """What changes from now on is what this message says, and goes on with a context; without a message, it is news to this
        peer alone."""
        self._by_heads = self._directly = False
        if origin is not self._said:
            told = self.fan_outs.with_predecessors(origin)
            if told is not None and told.trace is not trace:
                told = Origin(told.publisher, told.number, told.after, trace)
            self._said, self._origin = origin, told
            self._nth += 1

    def _changed(self, key: Key, fact: Tuple, sign: int, stamp: int) -> None:
        """Tell the feeds of a key: everybody may read this, and nobody may read it already."""
        if (postings := self._postings.get(key)) is not None:
            self._match_fact(postings, fact, sign, stamp)
        if key[1] == HOME and self._everywhere.size:
            self._match_fact(self._everywhere, fact, sign, stamp)
        if (postings := self._postings.postings_of_interval(key)) is not None:
            self._match_fact(postings, fact, sign, stamp)

    def _changed_for_some(self, key: Key, fact: Tuple, sign: int, stamp: int) -> None:
        """Tell the feeds of a key whose readers see a difference, where there are facts for named readers."""
        if type(fact) is tuple and key not in self.held.variants:
            self._changed(key, fact, sign, stamp)
            return
        seen = self.held.seen(key, fact, sign, stamp)
        of_interval = self._postings.postings_of_interval(key)
        for postings in (self._postings.get(key), self._everywhere if key[1] == HOME else None, of_interval):
            if postings is not None:
                self._match_fact(postings, seen.fact, sign, stamp, seen)

    def _match_fact(self, under: KeyPostings, fact: Tuple, sign: int, stamp: int, seen: Seen | None = None) -> None:
        """Add a change of a fact to the feeds of all that it matches; ``seen``: what it is to each reader, where that differs."""
        fanned, member_feeds = self.fan_outs.fanned, self.fan_outs.member_feeds
        for postings in under.table.matching(fact):
            for posting in postings.candidates(fact):
                if posting.test is None or self.conditions.tests.passes(posting, fact, None):
                    self.templates_met += 1
                    if fanned and posting in fanned:
                        self._by_heads = True
                        if seen is not None and seen.readers:
                            self.fan_outs.tell_directly(posting, seen.readers)
                    for feed in posting.feeds:
                        if type(feed) is Feed:
                            if member_feeds and feed.subscriber in member_feeds:
                                self._directly = True
                            if seen is not None:
                                sign, stamp = seen.by(reader_of(feed.subscriber), among_several=posting.anchor is None)
                                if not sign:
                                    continue
                            self.matched += 1
                            if feed.add_delta(fact, sign, self._nth, self._origin, stamp):
                                self._dirty.append(feed)

    def pass_on_changes(self, feeds: Iterable[AnyFeed], changes: Sequence[tuple[Tuple, int]], origin: Origin | None) -> None:
        """What this peer is fed itself has changed, as ``origin`` has said, and these are fed by it."""
        # As one message: what comes of it is said by its own origin, whose order here is that of the rendezvous.
        self._said = self._origin = origin
        self._nth += 1
        for feed in feeds:
            if type(feed) is Feed:
                for fact, sign in changes:
                    if feed.add_delta(fact, sign, self._nth, origin):
                        self._dirty.append(feed)

    def _reads_more(self, posting: Posting, peer: bytes) -> bool:
        """Whether facts under a posting are there for a peer that are not there for everybody."""
        variants = None if posting.anchor is None else self.held.variants.get(posting.anchor)
        return variants is not None and variants.names(peer)

    # --- events -----------------------------------------------------------------------------------------------------------

    def add_events(self, messages: Iterable[tuple[Subscriber, Message]]) -> None:
        """Events have been matched: they follow the deltas of what was published before."""
        if self._dirty:
            self._happened = self.take_messages()
        self._happened.extend(messages)

    def count_event(
        self, publisher: bytes, event: Event, positions: Sequence[int] | None, reached: FeedNumbers, templates: int
    ) -> None:
        """An event has met so many templates whose tests it passed, and reaches these."""
        self.templates_met += templates
        self.matched += len(reached)
        if self.on_event is not None:
            self.on_event(publisher, event, positions, templates, len(reached))

    # --- subscribers ------------------------------------------------------------------------------------------------------

    def insert_condition(self, subscriber: Subscriber, asked: InsertCondition) -> AnyFeed:
        """Post a template for a subscriber; the feed is held until its snapshot is sent (:meth:`snapshot`, :meth:`release_feed`).

        Raises Refused when the request makes no sense, its test is unknown, or it is exclusive and the place is taken.
        """
        feed = self.conditions.post_condition(subscriber, asked)
        if type(feed) is Feed:
            feed.congested = self.progress.holds_answers(subscriber)
        return feed

    def drop_subscriber(self, subscriber: Subscriber) -> None:
        """The subscriber is gone: its feeds end."""
        self.progress.drop_subscriber(subscriber)
        self.conditions.remove_subscriber(subscriber)

    def break_link(self, subscriber: Subscriber, instead: Subscriber) -> None:
        """The link to a subscriber broke: events that its feeds match go to another one instead, until that is dropped."""
        self.conditions.give_events_to(instead, subscriber)
        self.drop_subscriber(subscriber)

    def loads(self, template: Template, positions: Iterable[int]) -> list[Load]:
        """The load at each position. Raises Refused for one that is no anchor of the template."""
        keys = [key_of(template, position) for position in positions]
        return [Load(len(self.held.under(key)), *self.conditions.load_of(key, template)) for key in keys]

    def snapshot(self, feed: Feed) -> Iterator[Snapshot | None]:
        """The stored facts that match the feed's template, in parts; None where others are to have their turn.

        They are what is stored now: deltas from now on are kept until :meth:`release_feed`. Of a template without constants, of
        which there may be all that is held here, a fact that changes meanwhile is in it or not: its last delta says what holds.
        """
        feed.begin_snapshot()
        posting, reader, held, passes = feed.posting, reader_of(feed.subscriber), self.held, self.conditions.tests.passes
        if posting.facts is not None:
            return snapshot_parts(feed, list(posting.facts()), None, None, self.clock)
        matches, tested = posting.template.matches, posting.test is not None
        admits = (
            None
            if posting.matches_all and not tested
            else lambda fact: matches(fact) and (not tested or passes(posting, fact, None))
        )
        if posting.anchor is not None:
            return snapshot_parts(feed, list(held.visible(posting.anchor, reader)), admits, None, self.clock)
        went = held.recently_gone(admits or (lambda fact: True))
        stamps = partial(held.stamps_at_home, reader=reader)
        return snapshot_parts(feed, held.visible_at_home(reader), admits, stamps, self.clock, went)

    def hold_subscriber(self, subscriber: Subscriber) -> None:
        """The subscriber's link is congested: keep its deltas until :meth:`unhold_subscriber`."""
        self.progress.hold_answers(subscriber)
        for feed in self.conditions.feeds_of(subscriber):
            feed.congested = True

    def unhold_subscriber(self, subscriber: Subscriber) -> None:
        """The subscriber's link has room: its feeds may speak, except those whose snapshot is under way."""
        self.progress.release_answers(subscriber)
        for feed in self.conditions.feeds_of(subscriber):
            feed.congested = False
            self._dirty.append(feed)

    def release_feed(self, feed: AnyFeed) -> None:
        """The feed's snapshot has been sent: deltas may follow. Of events there is none."""
        if type(feed) is Feed:
            feed.loading = False
            self._dirty.append(feed)

    @property
    def quiet(self) -> bool:
        """Whether nothing waits to be taken, and no message is made in part."""
        return not self._dirty and not self._happened and not self.progress.answers and not self._unfinished

    def take_messages(self) -> list[tuple[Subscriber, Message]]:
        """What is to be sent, in order; empty when nothing has happened since the last call."""
        messages = self._happened
        self._happened = []
        if self._dirty:
            dirty, self._dirty = self._dirty, []
            messages.extend(gaps := [(feed.subscriber, Gap(feed.number)) for feed in dirty if feed.take_gap()])
            self.gaps += len(gaps)
            messages.extend(deltas_of([piece for feed in dirty for piece in feed.take_pieces()], self._unfinished))
        # Last: they say that what comes before them is all.
        messages.extend(self.progress.take_answers())
        return messages

    # --- keys that change hands: gsg/churn/handover.py decides, and finds the peers ----------------------------------------------

    def all_keys(self) -> list[Key]:
        """The keys that have facts or templates here, or had facts that went."""
        return list(dict.fromkeys(chain(self.held.known_keys(), self._postings)))

    def keys(self) -> int:
        """How many keys have facts or templates."""
        return len(self.held.keys() | set(self._postings))

    def holds_key(self, key: Key) -> bool:
        """Whether there are facts or templates under a key."""
        return key in self.held or key in self._postings

    def tell_moved(self, keys: Iterable[Key], holder: dht.Contact, *, leaves: bool = False) -> None:
        """Another peer is the rendezvous of these keys now: tell their feeds to follow, once each."""
        following = self.conditions.feeds_under(keys)
        self._happened.extend((feed.subscriber, Moved(feed.number, holder, leaves)) for feed in following)

    def move_keys(self, keys: Iterable[Key]) -> None:
        """Others hold these keys now, and have their facts, which stay here until :meth:`drop_moved_key`."""
        self.moved.update(dict.fromkeys(keys))

    def take_over(self, signs: Sequence[int], facts: Sequence[Remains], places: Sequence[bytes], stamps: Sequence[int]) -> None:
        """What another holder knows of keys that are ours too, of what went what remains; per fact and key, the later stamp is
        right."""
        self._begin_message(None)
        changes_tell = not self._everywhere.size and not self.held.variants
        templates_met, matched = self.templates_met, self.matched
        for sign, told, positions, stamp in zip(signs, facts, places, stamps, strict=True):
            fact: Tuple = self.held.whole(told) if sign < 0 else told  # type: ignore[assignment]  # or a tombstone will do
            if self.moved:
                self.keep_keys(keys_at(fact, positions))
            if changes_tell and sign > 0 and type(fact) is tuple:
                for key in self.held.change_all(fact, positions, 1, stamp):
                    self._changed(key, fact, 1, stamp)
            else:
                changes_tell = changes_tell and type(fact) is tuple
                self._take_over_one(sign, fact, positions, stamp)
            if self.on_copy is not None:
                self.on_copy(sign, told, positions, stamp, self.templates_met - templates_met, self.matched - matched)
                templates_met, matched = self.templates_met, self.matched

    def _take_over_one(self, sign: int, fact: Tuple, positions: bytes, stamp: int) -> None:
        entries, everywhere = self.held, self._everywhere
        change = entries.change(fact, sign)
        for key in keys_at(fact, positions):
            known = entries.stamp_of(key, fact)
            if known > stamp or (known == stamp and (sign > 0 or fact not in entries.under(key))):
                continue  # the same change, or an older one; of two at one moment, both sides take the retraction
            if change(key, fact, stamp):
                self._changed_for_some(key, fact, sign, stamp)
            elif key[1] == HOME and everywhere.size and (sign > 0 or (entries.variants and not is_hashed(fact))):
                # Holders are not heard in order: a feed of several that has heard from another one that the fact went, while its
                # reader sees it by a variant, needs this later word. Where only a hash of the fact is known, whoever knows it whole
                # says so.
                seen = entries.seen(key, fact, sign, stamp)
                self._match_fact(everywhere, seen.fact, sign, stamp, seen)

    def has_moved_feeds(self) -> bool:
        """Whether feeds of moved keys are still here."""
        return any(key in self._postings for key in self.moved)

    def keep_keys(self, keys: Iterable[Key]) -> None:
        """Moved keys are ours again."""
        for key in keys:
            self.moved.pop(key, None)

    def drop_moved_key(self, key: Key) -> None:
        """Forget the facts of a moved key, once no feed needs them here."""
        if key in self._postings or self._postings.postings_of_interval(key) is not None:
            return
        self.moved.pop(key, None)
        self._begin_message(None)
        for fact in self.held.drop(key):
            self._changed_for_some(key, fact, -1, 0)  # it has not gone: others hold it

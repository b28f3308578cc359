"""The rendezvous: where facts and templates that share a key meet. One peer is the rendezvous of many keys.

What happens to a tuple here, under each of its positions whose key this peer holds:

1. it is entered under the key (a fact; an event is not), and nothing more happens if it was there already;
2. the templates posted under that key are asked, by one look-up per shape and path that is in use, and under position 0 also those
   without constants;
3. it is added to the feed of each subscriber of each template that matches.

Equal templates of several subscribers are stored once. Matching happens under the template's own anchor only, so a fact that
reaches this peer under two keys is fed once. Nothing here waits or sends: the holder of this object calls :meth:`take` and sends
what it gets; ``Subscriber`` handles are opaque to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain
from math import inf

import dht

from .audiences import Audience, reader_of, readers_among
from .changes import Change
from .compiled import CompiledTests, CompileTest
from .demands import Demand
from .entries import Entries
from .errors import Refused
from .features import HOME, Key, Template, keys_at
from .gathering import gathered
from .hashed import Remains, ShortTerm, is_hashed
from .messages import After, Event, Gap, InsertCondition, Message, Moved, Origin, Snapshot
from .model import Tuple
from .passages import Passage, Reached, Reaching
from .passing import Passing
from .placement import Load
from .posting import AnyFeed, EventFeed, Feed, Posted, Stand, StandbyFeed, Subscriber, anchor_key, deltas, key_of
from .room import ALL_BYTES, Room
from .stands import EVERYWHERE, Stands, is_taken
from .stored import stored
from .variants import Seen


class Rendezvous:
    """Facts and templates by key, and the feeds that join them."""

    def __init__(self, compile_test: CompileTest, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        """Seconds, by which slices of matching end; they never go back."""
        self.tests = CompiledTests(compile_test)
        self.held = Entries()
        self._stands = Stands()
        self._standby = Stands()
        """What stands by: met by events alone."""
        self._everywhere = Stand(None)
        """Templates without constants: matched under the tuple's home."""
        self._new_keys: list[tuple[int, int, ShortTerm | None]] = []  # that of one condition: whoever posts it takes it at once
        self._of_subscriber: dict[Subscriber, dict[int, AnyFeed]] = {}
        """All feeds, by number. Limit of another peer: its quota, which refuses one more; they go with the link (:meth:`drop`)."""
        self.moved: dict[Key, None] = {}
        """Keys that are others' by now, all of whose facts those have, and that still have something here."""
        self._room = Room(ALL_BYTES, each_bytes=0)  # of what all feeds keep whose subscribers cannot take it now
        self._dirty: list[Feed] = []  # bounded by the feeds: those with something to say since take(), which ends each read
        self._happened: list[tuple[Subscriber, Message]] = []  # what else a read, or a slice of matching, brings about until then
        self.passing = Passing()
        self._origin: Origin | None = None
        self._nth = 0
        """The message whose facts come or go, and how many there were."""
        self._unfinished: dict[tuple[bytes, int], None] = {}
        """Messages, by publisher and number, of which only some facts have come or gone: one for each link (:mod:`gsg.transit`)."""
        self.matched = self.met = 0
        """Tuples forwarded to subscribers, and templates that they met and whose tests they passed, since the start."""
        self.gaps = 0
        """Times that the deltas of a feed were not kept, since the start: its subscriber starts from a snapshot."""

    # --- publishers -------------------------------------------------------------------------------------------------------

    def publish(
        self,
        sign: int,
        facts: Sequence[Tuple],
        places: Sequence[bytes],
        *,
        stamp: int = 0,
        as_holder: bool = True,
        origin: Origin | None = None,
    ) -> int:
        """Facts come or go, as in Change; returns how many changed under their home."""
        self.publish_until(inf, change := Change(sign, facts, places, stamp, as_holder=as_holder), range(len(facts)), origin)
        return change.changed

    def publish_until(self, ends_s: float, change: Change, numbers: Sequence[int], origin: Origin | None) -> int:
        """These facts of a change, by number, all that are said by ``origin``, come or go until the time is over by :attr:`clock`:
        how many did, at least one of several. The rest is to follow, or :meth:`give_up` to be called."""
        self._says(origin)
        made = self._change_until(ends_s, change, numbers)
        if origin is not None:
            said = origin.publisher, origin.number
            if made < len(numbers):
                self._unfinished[said] = None
            else:
                self._unfinished.pop(said, None)
                self.passing.passed(*said)
        return made

    def _change_until(self, ends_s: float, change: Change, numbers: Sequence[int]) -> int:
        sign, stamp, facts, places = change.sign, change.stamp, change.facts, change.places
        clock, variants, change_all = self.clock, self.held.variants, self.held.change_all
        for made, number in enumerate(numbers, 1):
            fact, positions, before = facts[number], places[number], change.changed
            if self.moved and change.as_holder:
                self.keep(keys_at(fact, positions))
            tell = self._changed if type(fact) is tuple and not variants else self._changed_for_some
            for key in change_all(fact, positions, sign, stamp):
                change.changed += key[1] == HOME
                tell(key, fact, sign, stamp)
            if change.changed == before and HOME in positions:
                change.unchanged.append(number)
            if made < len(numbers) and clock() >= ends_s:
                return made
        return len(numbers)

    def give_up(self, origin: Origin | None) -> None:
        """The rest of what a message says does not come; whoever waits for it asks in vain, as for what was never sent."""
        if origin is not None:
            self._unfinished.pop((origin.publisher, origin.number), None)

    def _says(self, origin: Origin | None) -> None:
        """What changes from now on is what this message says; without one, it is news to this peer alone."""
        if origin is not self._origin:
            self._origin = origin
            self._nth += 1

    def _changed(self, key: Key, fact: Tuple, sign: int, stamp: int) -> None:
        """Tell the feeds of a key: everybody may read this, and nobody may read it already."""
        if (stand := self._stands.get(key)) is not None:
            self._feed(stand, fact, sign, stamp)
        if key[1] == HOME and self._everywhere.size:
            self._feed(self._everywhere, fact, sign, stamp)

    def _changed_for_some(self, key: Key, fact: Tuple, sign: int, stamp: int) -> None:
        """Tell the feeds of a key whose readers see a difference, where there are facts for named readers."""
        if type(fact) is tuple and key not in self.held.variants:
            self._changed(key, fact, sign, stamp)
            return
        seen = self.held.seen(key, fact, sign, stamp)
        for stand in (self._stands.get(key), self._everywhere if key[1] == HOME else None):
            if stand is not None:
                self._feed_some(stand, seen)

    def _feed_some(self, stand: Stand, seen: Seen) -> None:
        for posted in stand.meeting(seen.fact):
            if posted.test is None or self.tests.passes(posted, seen.fact, None):
                self.met += 1
                for feed in posted.feeds:
                    sign, stamp = seen.by(reader_of(feed.subscriber), among_several=posted.anchor is None)
                    if sign and type(feed) is Feed:
                        self.matched += 1
                        if feed.add(seen.fact, sign, self._nth, self._origin, stamp):
                            self._dirty.append(feed)

    def flash(
        self,
        publisher: bytes,
        events: Sequence[Event],
        places: Sequence[bytes],
        after: After | None = None,
        audience: Audience | None = None,
    ) -> None:
        """Events pass under their places: matched, forwarded, not kept. They follow the deltas of what was published before."""
        if events:
            self.pass_on(Passage(self, publisher, events, places, after, audience), inf)
            self.passing.passed(publisher, events[-1].number)

    def pass_on(self, passage: Passage, for_s: float) -> bool:
        """Forward what a slice of a passage brings; whether that was the last one."""
        if self._dirty:
            self._happened = self.take()
        self._happened.extend(gathered(passage, for_s))
        return passage.done

    def reach(
        self,
        publisher: bytes,
        event: Event,
        positions: Sequence[int] | None = None,
        ends_s: float = inf,
        audience: Audience | None = None,
    ) -> Reached | Reaching:
        """Whom an event reaches, under all of its positions where none are named; what is to go on, where that takes too long."""
        items = event.items
        in_use = self._stands.in_use.get(len(items))
        if in_use is not None and len(in_use) == 1 and not self._everywhere.size:
            [position] = in_use
            if positions is None or position in positions:
                stand = self._stands.find((len(items), position, items[position]))
                alone = not self._standby.in_use or not self._standby.met(items, positions)
                if alone and stand is not None and (sole := stand.sole) is not None:
                    whom = sole.reached() if audience is None else readers_among(sole.reached(), audience)
                    self._has_reached(publisher, event, positions, whom, 1)
                    return whom
        reaching = Reaching(publisher, event, positions, audience, self._meeting(items, positions))
        return reaching.reached if self.go_on(reaching, ends_s) else reaching

    def go_on(self, reaching: Reaching, ends_s: float) -> bool:
        """Look at more of what an event meets; whether that was all."""
        if not reaching.meet(self.tests.passes, self.clock, ends_s):
            return False
        self._has_reached(reaching.publisher, reaching.event, reaching.positions, reaching.reached, len(reaching.passed))
        return True

    def _meeting(self, items: Tuple, positions: Container[int] | None) -> list[Posted]:
        """What is posted that a tuple may pass, under these of its positions."""
        meeting = self._stands.met(items, positions)
        meeting += self._standby.met(items, positions) if self._standby.in_use else ()
        if self._everywhere.size and (positions is None or HOME in positions):
            meeting.extend(self._everywhere.meeting(items, is_event=True))
        return meeting

    def _has_reached(self, publisher: bytes, event: Event, positions: Iterable[int] | None, reached: Reached, met: int) -> None:
        """All that an event meets was looked at."""
        self.met += met
        self.matched += len(reached)

    def _feed(self, stand: Stand, fact: Tuple, sign: int, stamp: int) -> None:
        for postings in stand.table.matching(fact):
            for posted in postings.meeting(fact):
                if posted.test is None or self.tests.passes(posted, fact, None):
                    self.met += 1
                    for feed in posted.feeds:
                        if type(feed) is Feed:
                            self.matched += 1
                            if feed.add(fact, sign, self._nth, self._origin, stamp):
                                self._dirty.append(feed)

    # --- subscribers ------------------------------------------------------------------------------------------------------

    def loads(self, template: Template, positions: Iterable[int]) -> list[Load]:
        """The load at each position. Raises Refused for one that is no anchor of the template."""
        found = []
        for position in positions:
            key = key_of(template, position)
            stand = self._stands.get(key)
            facts = len(self.held.under(key))
            found.append(Load(facts, 0, False) if stand is None else Load(facts, stand.size, stand.get(template, None) is not None))
        return found

    def insert_condition(self, subscriber: Subscriber, asked: InsertCondition) -> AnyFeed:
        """Post a template for a subscriber; the feed is held until its snapshot has been sent (:meth:`snapshot`, :meth:`release`).

        Raises Refused when the request makes no sense, its test is unknown, or it is exclusive and the place is taken.
        """
        key = anchor_key(asked)
        if self.any_feed(subscriber, asked.feed) is not None:
            raise Refused(f"feed {asked.feed} is in use already; expected a new number")
        if asked.standby and key is None:
            raise Refused("a template without constants is posted everywhere: nothing of it stands by")
        stands = self._standby if asked.standby else self._stands
        stand = self._everywhere if key is None else stands.get(key)
        predicate = None if asked.test is None else self.tests.compile(asked.test)
        demands: Sequence[Demand] = getattr(predicate, "demands", ())
        posted = None if stand is None else stand.get(asked.template, asked.test, demands)
        if asked.exclusive:
            each = [posted] if key is None else [one.posted(key, asked, demands) for one in (self._stands, self._standby)]
            if is_taken(each, subscriber, asked.instead):
                raise Refused("somebody has this already")
        if posted is None:
            if stand is None or not stand.size:
                self._new_keys.append(EVERYWHERE if key is None else key)
            if stand is None:
                assert key is not None, "there is always a stand of what is posted everywhere"
                stand = stands.make(key)
            posted = stand.post(asked.template, asked.test, demands)
            if posted.path is None:
                posted.predicate = predicate
        feed: AnyFeed
        if asked.standby or asked.events_only:
            feed = (StandbyFeed if asked.standby else EventFeed)(subscriber, asked.feed, posted)
        else:
            feed = Feed(subscriber, asked.feed, posted, self._room)
            feed.congested = self.passing.holds(subscriber)
        self._add(feed, stands)
        return feed

    def _add(self, feed: AnyFeed, stands: Stands) -> None:
        stands.fed(feed.subscriber, feed.posted, 1)
        feed.posted.add(feed)
        self._of_subscriber.setdefault(feed.subscriber, {})[feed.number] = feed

    def interrupt(self, subscriber: Subscriber, instead: Subscriber) -> None:
        """The link to a subscriber broke: events that its feeds match go to another one instead, until that is dropped."""
        for number, feed in self._of_subscriber.get(subscriber, {}).items():
            stands_by = type(feed) is StandbyFeed
            kind, stands = (StandbyFeed, self._standby) if stands_by else (EventFeed, self._stands)
            self._add(kind(instead, number, feed.posted), stands)
        self.drop(subscriber)

    def take_new_keys(self) -> list[tuple[int, int, ShortTerm | None]]:
        """The keys that something was posted under where there was nothing, since the last call."""
        keys, self._new_keys = self._new_keys, []
        return keys

    def anchors(self) -> Iterable[tuple[int, int, ShortTerm | None]]:
        """The keys under which something is posted; what is posted everywhere has arity 0, position 0 and no constant."""
        return [*self._stands, *([EVERYWHERE] if self._everywhere.size else [])]

    def standing_by(self) -> Iterable[Key]:
        """The keys under which something stands by, and nothing else is posted."""
        return [key for key in self._standby if key not in self._stands]

    def positions_in_use(self, arity: int) -> Iterable[int]:
        """The positions of tuples of this arity under which something is posted, or stands by."""
        in_use = chain.from_iterable(stands.in_use.get(arity, ()) for stands in (self._stands, self._standby))
        return [*in_use, *([HOME] if self._everywhere.size else [])]

    def snapshot(self, feed: Feed) -> Iterator[Snapshot | None]:
        """The stored facts that match the feed's template, in parts; None where others are to have their turn.

        They are what is stored now: deltas from now on are kept until :meth:`release`.
        """
        feed.restart()
        posted, reader, held, passes = feed.posted, reader_of(feed.subscriber), self.held, self.tests.passes
        matches, tested = posted.template.matches, posted.test is not None
        admits = (
            None if posted.meets_all and not tested else lambda fact: matches(fact) and (not tested or passes(posted, fact, None))
        )
        stamps = None if posted.anchor is not None else lambda facts: held.stamps_at_home(facts, reader)
        went = [] if stamps is None else held.went_lately(admits or (lambda fact: True))
        return stored(feed, list(held.visible(posted.anchor, reader)), admits, stamps, self.clock, went)

    def any_feed(self, subscriber: Subscriber, number: int) -> AnyFeed | None:
        """A subscriber's feed of this number, of whatever kind."""
        return self._of_subscriber.get(subscriber, {}).get(number)

    def feed(self, subscriber: Subscriber, number: int) -> Feed | None:
        """A subscriber's feed of facts, if it has one of this number."""
        feed = self.any_feed(subscriber, number)
        return feed if type(feed) is Feed else None

    def hold(self, subscriber: Subscriber) -> None:
        """The subscriber's link is congested: keep its deltas until :meth:`unhold`."""
        self.passing.hold(subscriber)
        for feed in self._of_subscriber.get(subscriber, {}).values():
            if type(feed) is Feed:
                feed.congested = True

    def unhold(self, subscriber: Subscriber) -> None:
        """The subscriber's link has room: its feeds may speak, except those whose snapshot is under way."""
        self.passing.unhold(subscriber)
        for feed in self._of_subscriber.get(subscriber, {}).values():
            if type(feed) is Feed:
                feed.congested = False
                self._dirty.append(feed)

    def release(self, feed: AnyFeed) -> None:
        """The feed's snapshot has been sent: deltas may follow. Of events there is none."""
        if type(feed) is Feed:
            feed.loading = False
            self._dirty.append(feed)

    def remove_condition(self, subscriber: Subscriber, number: int) -> None:
        """End a feed, and its template if that was the last one. An unknown number is nothing: it may have ended meanwhile."""
        of_subscriber = self._of_subscriber.get(subscriber)
        feed = None if of_subscriber is None else of_subscriber.pop(number, None)
        if of_subscriber is None or feed is None:
            return
        if not of_subscriber:
            del self._of_subscriber[subscriber]
        posted = feed.posted
        posted.remove(feed)
        stands = self._standby if type(feed) is StandbyFeed else self._stands
        stands.fed(subscriber, posted, -1)
        if type(feed) is Feed:
            feed.restart()
        if posted.feeds:
            return
        self.tests.forget(posted)
        key = posted.anchor
        if key is None:
            self._everywhere.remove(posted)
        else:
            stands.remove(key, posted)

    def drop(self, subscriber: Subscriber) -> None:
        """The subscriber is gone: its feeds end."""
        self.passing.drop(subscriber)
        for number in list(self._of_subscriber.get(subscriber, ())):
            self.remove_condition(subscriber, number)

    @property
    def quiet(self) -> bool:
        """Whether nothing waits to be taken, and no message is made in part."""
        return not self._dirty and not self._happened and not self.passing.answers and not self._unfinished

    def take(self) -> list[tuple[Subscriber, Message]]:
        """What is to be sent, in order; empty when nothing has happened since the last call."""
        messages = self._happened
        self._happened = []
        if self._dirty:
            dirty, self._dirty = self._dirty, []
            messages.extend(gaps := [(feed.subscriber, Gap(feed.number)) for feed in dirty if feed.tells_gap()])
            self.gaps += len(gaps)
            messages.extend(deltas([piece for feed in dirty for piece in feed.take()], self._unfinished))
        # Last: they say that what comes before them is all.
        messages.extend(self.passing.take())
        return messages

    # --- keys that change hands: gsg/handover.py decides, and finds the peers ----------------------------------------------

    def all_keys(self) -> list[Key]:
        """The keys that have facts or templates here, or had facts that went."""
        return list(dict.fromkeys(chain(self.held.known_keys(), self._stands)))

    def holds(self, key: Key) -> bool:
        """Whether there are facts or templates under a key."""
        return key in self.held or key in self._stands

    def has_templates(self, key: Key) -> bool:
        """Whether templates are posted under a key; what stands by is not."""
        return key in self._stands

    def has_listeners(self, key: Key) -> bool:
        """Whether events meet something under a key."""
        return key in self._stands or key in self._standby or (key[1] == HOME and self._everywhere.size > 0)

    def tell_moved(self, keys: Iterable[Key], holder: dht.Contact, *, leaves: bool = False) -> None:
        """Another peer is the rendezvous of these keys now: tell their feeds to follow, once each."""
        following: dict[AnyFeed, None] = {}
        for key in keys:
            stands = [self._stands.get(key), self._everywhere if key[1] == HOME else None]
            for posted in (posted for stand in stands if stand is not None for posted in stand):
                following.update(dict.fromkeys(posted.feeds))
        self._happened.extend((feed.subscriber, Moved(feed.number, holder, leaves)) for feed in following)

    def move(self, keys: Iterable[Key]) -> None:
        """Others hold these keys now, and have their facts, which stay here until :meth:`drop_if_unused`."""
        self.moved.update(dict.fromkeys(keys))

    def take_over(self, signs: Sequence[int], facts: Sequence[Remains], places: Sequence[bytes], stamps: Sequence[int]) -> None:
        """What another holder knows of keys that are ours too, of what went what remains; per fact and key, the later stamp is
        right."""
        self._says(None)
        entries = self.held
        changes_tell = not self._everywhere.size and not entries.variants
        for sign, told, positions, stamp in zip(signs, facts, places, stamps, strict=True):
            fact: Tuple = entries.whole(told) if sign < 0 else told  # type: ignore[assignment]  # or a tombstone will do
            if self.moved:
                self.keep(keys_at(fact, positions))
            if changes_tell and sign > 0 and type(fact) is tuple:
                for key in entries.change_all(fact, positions, 1, stamp):
                    self._changed(key, fact, 1, stamp)
                continue
            change, changes_tell = entries.change(fact, sign), changes_tell and type(fact) is tuple
            for key in keys_at(fact, positions):
                known = entries.stamp_of(key, fact)
                if known > stamp or (known == stamp and (sign > 0 or fact not in entries.under(key))):
                    continue  # the same change, or an older one; of two at one moment, both sides take the retraction
                if change(key, fact, stamp):
                    self._changed_for_some(key, fact, sign, stamp)
                elif key[1] == HOME and self._everywhere.size and (sign > 0 or (entries.variants and not is_hashed(fact))):
                    # Not heard of in order: who was told by another that it went, and sees it, is to hear the later word. Where
                    # only a hash of it is known, the other says so as soon as it knows.
                    self._feed_some(self._everywhere, entries.seen(key, fact, sign, stamp))

    def followed(self) -> bool:
        """Whether feeds of moved keys are still here."""
        return any(key in self._stands for key in self.moved)

    def keep(self, keys: Iterable[Key]) -> None:
        """Moved keys are ours again."""
        for key in keys:
            self.moved.pop(key, None)

    def drop_if_unused(self, key: Key) -> None:
        """Forget the facts of a moved key, once no feed needs them here."""
        if key in self._stands:
            return
        self.moved.pop(key, None)
        self._says(None)
        for fact in self.held.drop(key):
            self._changed_for_some(key, fact, -1, 0)  # it has not gone: others hold it

    # --- figures ----------------------------------------------------------------------------------------------------------

    def keys(self) -> int:
        """Keys that have facts or templates."""
        return len(self.held.keys() | set(self._stands))

    def templates(self, *, standby: bool = False) -> int:
        """Templates stored, or that stand by; those of several subscribers count once."""
        return self._standby.size() if standby else self._stands.size() + self._everywhere.size

    def templates_bytes(self, subscriber: Subscriber) -> int:
        """What the templates of a subscriber's feeds take, those that stand by included."""
        return self._stands.templates_bytes[subscriber] + self._standby.templates_bytes[subscriber]

    def feeds(self, subscriber: Subscriber | None = None, *, standby: bool = False) -> int:
        """Feeds to all subscribers, or to one; those that stand by are counted apart."""
        return (self._standby if standby else self._stands).feeds(subscriber)

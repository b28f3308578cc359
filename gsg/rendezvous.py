"""The rendezvous: where facts and templates that share a key meet. One peer is the rendezvous of many keys.

What happens to a tuple here, under each of its positions whose key this peer holds:

1. it is entered under the key (a fact; an event is not), and nothing more happens if it was there already;
2. the templates posted under that key are asked, by one look-up per shape, and under position 0 also those without constants;
3. it is added to the feed of each subscriber of each template that matches.

Equal templates of several subscribers are stored once. Matching happens under the template's own anchor only, so a fact that
reaches this peer under two keys is fed once. Nothing here waits or sends: the holder of this object calls :meth:`take` and sends
what it gets; ``Subscriber`` handles are opaque to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import dht

from .errors import Refused
from .features import HOME, Key, Template
from .messages import Event, Happened, InsertCondition, Load, Message, Moved, Snapshot, Test, parts
from .model import Tuple, Variable
from .placement import NOWHERE
from .posting import Feed, Posted, Predicate, Stand, Subscriber

CompileTest: TypeAlias = Callable[[Test], Predicate]
"""Turns a condition's test into a function of a tuple and the text that it came as. Raises Refused for one it does not know."""

SNAPSHOT_FACTS = 2_000
"""Facts in one Snapshot message."""
REMEMBERED_RETRACTIONS = 1_000_000
"""Retractions remembered while keys change hands. A fact whose retraction was forgotten could come back with a key handed over."""


class Rendezvous:
    """Facts and templates by key, and the feeds that join them."""

    def __init__(self, compile_test: CompileTest) -> None:
        self._compile_test = compile_test
        self._facts: dict[Key, dict[Tuple, int]] = {}
        """With each fact the stamp of its insertion."""
        self._stands: dict[Key, Stand] = {}
        self._everywhere = Stand()
        """Templates without constants: matched under the tuple's home."""
        self._feeds: dict[tuple[Subscriber, int], Feed] = {}
        self._of_subscriber: dict[Subscriber, dict[int, Feed]] = {}
        self._moved: dict[Key, None] = {}
        """Keys whose facts another peer has by now."""
        self._retracted: dict[Key, dict[Tuple, int]] | None = None
        """While keys may be handed over: what was retracted here, with its stamp.

        Limit: REMEMBERED_RETRACTIONS, then all is forgotten.
        """
        self._retractions = 0
        self._dirty: list[Feed] = []
        self._happened: list[tuple[Subscriber, Message]] = []
        self.matched = 0
        """Tuples forwarded to subscribers, since the start."""
        self.failed_tests = 0
        """Tests that raised, since the start: such a tuple does not match."""

    # --- publishers -------------------------------------------------------------------------------------------------------

    def publish(self, sign: int, facts: Sequence[Tuple], places: Sequence[bytes], *, stamp: int = 0, as_holder: bool = True) -> int:
        """Facts come (1) or go (-1) under their places; returns how many changed under their home.

        ``stamp`` is the publisher's time, in microseconds; it matters only to facts that change hands (:meth:`take_over`).
        ``as_holder=False``: for the sake of feeds that have not followed their key to its new holder yet.
        """
        changed_homes = 0
        change = self._enter if sign > 0 else self._leave
        for fact, positions in zip(facts, places, strict=True):
            for position in positions:
                key = (len(fact), position, fact[position])
                if as_holder and self._moved:
                    self._moved.pop(key, None)
                if change(key, fact, stamp):
                    changed_homes += position == HOME
                    stand = self._stands.get(key)
                    if stand is not None:
                        self._feed(stand, fact, sign)
                    if position == HOME and self._everywhere.by_test:
                        self._feed(self._everywhere, fact, sign)
        return changed_homes

    def flash(self, publisher: bytes, events: Sequence[Event], places: Sequence[bytes]) -> None:
        """Events pass under their places: matched, forwarded, not kept. They follow the deltas of what was published before."""
        if self._dirty:
            self._happened = self.take()
        for event, positions in zip(events, places, strict=True):
            items = event.items
            reached: dict[Subscriber, list[int]] = {}
            for position in positions:
                stand = self._stands.get((len(items), position, items[position]))
                if stand is not None:
                    self._reach(stand, event, reached)
                if position == HOME and self._everywhere.by_test:
                    self._reach(self._everywhere, event, reached)
            for subscriber, feeds in reached.items():
                self._happened.append((subscriber, Happened(publisher, event, feeds)))
                self.matched += 1

    def _enter(self, key: Key, fact: Tuple, stamp: int) -> bool:
        if self._retracted and key in self._retracted:
            self._retracted[key].pop(fact, None)
        facts = self._facts.get(key)
        if facts is None:
            self._facts[key] = {fact: stamp}
            return True
        before = len(facts)
        facts[fact] = stamp
        return len(facts) != before

    def _leave(self, key: Key, fact: Tuple, stamp: int) -> bool:
        if self._retracted is not None:
            self._retractions += 1
            if self._retractions > REMEMBERED_RETRACTIONS:
                self._retracted, self._retractions = {}, 1
            self._retracted.setdefault(key, {})[fact] = stamp
        facts = self._facts.get(key)
        if facts is None or fact not in facts:
            return False
        del facts[fact]
        if not facts:
            del self._facts[key]
        return True

    def _feed(self, stand: Stand, fact: Tuple, sign: int) -> None:
        for postings in stand.table.matching(fact):
            for posted in postings:
                if posted.predicate is None or self._passes(posted.predicate, fact, None):
                    for feed in posted.feeds.values():
                        if feed.events_only:
                            continue
                        self.matched += 1
                        if feed.add(fact, sign):
                            self._dirty.append(feed)

    def _reach(self, stand: Stand, event: Event, reached: dict[Subscriber, list[int]]) -> None:
        for postings in stand.table.matching(event.items) + stand.table.matching(_ANY_ARITY):
            for posted in postings:
                if posted.predicate is None or self._passes(posted.predicate, event.items, event.text):
                    for feed in posted.feeds.values():
                        reached.setdefault(feed.subscriber, []).append(feed.number)

    def _passes(self, predicate: Predicate, items: Tuple, text: str | None) -> bool:
        try:
            return predicate(items, text)
        except Exception:  # a test is a stranger's: whatever it does, the tuple does not match and the peer goes on
            self.failed_tests += 1
            return False

    # --- subscribers ------------------------------------------------------------------------------------------------------

    def loads(self, template: Template, positions: Iterable[int]) -> list[Load]:
        """The load at each position. Raises Refused for one that is no anchor of the template."""
        found = []
        for position in positions:
            key = _key(template, position)
            stand = self._stands.get(key)
            facts = len(self._facts.get(key, ()))
            found.append(
                Load(facts, 0, False) if stand is None else Load(facts, len(stand.by_test), (template, None) in stand.by_test)
            )
        return found

    def insert_condition(self, subscriber: Subscriber, asked: InsertCondition) -> Feed:
        """Post a template for a subscriber; the feed is held until its snapshot has been sent (:meth:`snapshot`, :meth:`release`).

        Raises Refused when the request makes no sense, its test is unknown, or it is exclusive and the place is taken.
        """
        key = _anchor_key(asked)
        if (subscriber, asked.feed) in self._feeds:
            raise Refused(f"feed {asked.feed} is in use already; expected a new number")
        predicate = None if asked.test is None else self._compile_test(asked.test)
        stand = self._everywhere if key is None else self._stands.get(key)
        if stand is None:
            assert key is not None
            stand = self._stands[key] = Stand()
        posted = stand.by_test.get((asked.template, asked.test))
        if posted is not None and asked.exclusive:
            raise Refused("somebody has this already")
        if posted is None:
            posted = stand.by_test[asked.template, asked.test] = Posted(asked.template, asked.test, predicate)
            postings = stand.table.get(asked.template)
            if postings is None:
                stand.table.post(asked.template, [posted])
            else:
                postings.append(posted)
        feed = Feed(subscriber, asked, posted, key)
        posted.feeds[subscriber, asked.feed] = feed
        self._feeds[subscriber, asked.feed] = feed
        self._of_subscriber.setdefault(subscriber, {})[asked.feed] = feed
        return feed

    def snapshot(self, feed: Feed) -> list[Snapshot]:
        """The stored facts that match the feed's template, in parts; deltas from now on are kept until :meth:`release`."""
        feed.restart()
        posted = feed.posted
        matches, predicate = posted.template.matches, posted.predicate
        facts = [
            fact
            for fact in self._stored(feed.anchor)
            if matches(fact) and (predicate is None or self._passes(predicate, fact, None))
        ]
        cut = [facts[part] for part in parts(facts, SNAPSHOT_FACTS)] or [[]]
        return [Snapshot(feed.number, part, index == 0, index == len(cut) - 1, feed.sequence) for index, part in enumerate(cut)]

    def feed(self, subscriber: Subscriber, number: int) -> Feed | None:
        """A subscriber's feed, if it has one of this number."""
        return self._feeds.get((subscriber, number))

    def hold(self, subscriber: Subscriber) -> None:
        """The subscriber's link is congested: keep its deltas until :meth:`unhold`."""
        for feed in self._of_subscriber.get(subscriber, {}).values():
            feed.congested = True

    def unhold(self, subscriber: Subscriber) -> None:
        """The subscriber's link has room: its feeds may speak, except those whose snapshot is under way."""
        for feed in self._of_subscriber.get(subscriber, {}).values():
            feed.congested = False
            self._dirty.append(feed)

    def release(self, feed: Feed) -> None:
        """The feed's snapshot has been sent: deltas may follow."""
        feed.loading = False
        self._dirty.append(feed)

    def remove_condition(self, subscriber: Subscriber, number: int) -> None:
        """End a feed, and its template if that was the last one. An unknown number is nothing: it may have ended meanwhile."""
        feed = self._feeds.pop((subscriber, number), None)
        if feed is None:
            return
        of_subscriber = self._of_subscriber[subscriber]
        del of_subscriber[number]
        if not of_subscriber:
            del self._of_subscriber[subscriber]
        posted = feed.posted
        del posted.feeds[subscriber, number]
        feed.restart()
        if posted.feeds:
            return
        stand = self._everywhere if feed.anchor is None else self._stands[feed.anchor]
        del stand.by_test[posted.template, posted.test]
        postings = stand.table.get(posted.template)
        assert postings is not None, "a posted template is in its table"
        postings.remove(posted)
        if not postings:
            stand.table.remove(posted.template)
        if feed.anchor is not None and not stand.by_test:
            del self._stands[feed.anchor]

    def drop(self, subscriber: Subscriber) -> None:
        """The subscriber is gone: its feeds end."""
        for number in list(self._of_subscriber.get(subscriber, ())):
            self.remove_condition(subscriber, number)

    def take(self) -> list[tuple[Subscriber, Message]]:
        """What is to be sent, in order; empty when nothing has happened since the last call."""
        messages = self._happened
        self._happened = []
        if self._dirty:
            dirty, self._dirty = self._dirty, []
            for feed in dirty:
                messages.extend((feed.subscriber, message) for message in feed.take())
        return messages

    # --- keys that change hands: gsg/handover.py decides, and finds the peers ----------------------------------------------

    def all_keys(self) -> list[Key]:
        """The keys that have facts or templates here, or had facts that were retracted while keys change hands."""
        return list(self._facts.keys() | self._stands.keys() | (self._retracted or {}).keys())

    def holds(self, key: Key) -> bool:
        """Whether there are facts or templates under a key."""
        return key in self._facts or key in self._stands

    def history(self, key: Key) -> list[tuple[int, Tuple, int]]:
        """The facts under a key as (1, fact, stamp), and those that were retracted of late as (-1, fact, stamp)."""
        present = [(1, fact, stamp) for fact, stamp in self._facts.get(key, _NOTHING).items()]
        gone = (self._retracted or {}).get(key, _NOTHING)
        return present + [(-1, fact, stamp) for fact, stamp in gone.items()]

    def move(self, keys: Iterable[Key], holder: dht.Contact, *, leaves: bool = False) -> None:
        """Another peer has the facts of these keys now: tell their feeds to follow, once each. The facts stay until dropped."""
        following: dict[Feed, None] = {}
        for key in keys:
            self._moved[key] = None
            if self._retracted:
                # What happens to the key from now on is the new holder's to remember.
                self._retracted.pop(key, None)
            stands = [self._stands.get(key), self._everywhere if key[1] == HOME else None]
            for posted in (posted for stand in stands if stand is not None for posted in stand.by_test.values()):
                following.update(dict.fromkeys(posted.feeds.values()))
        self._happened.extend((feed.subscriber, Moved(feed.number, holder, leaves)) for feed in following)

    def take_over(self, signs: Sequence[int], facts: Sequence[Tuple], places: Sequence[bytes], stamps: Sequence[int]) -> None:
        """What another peer knew of keys that are ours from now on; per fact and key, the later stamp is right."""
        for sign, fact, positions, stamp in zip(signs, facts, places, stamps, strict=True):
            wanted = bytearray()
            for position in positions:
                key = (len(fact), position, fact[position])
                if key in self._moved:
                    # It comes back: what was left of it here has missed what happened at its other holder.
                    for _, old, _ in self.history(key):
                        self.publish(-1, [old], [bytes((position,))])
                    self._moved.pop(key, None)
                    if self._retracted:
                        self._retracted.pop(key, None)
                known = max(self._facts.get(key, _NOTHING).get(fact, -1), (self._retracted or {}).get(key, _NOTHING).get(fact, -1))
                if known <= stamp:
                    wanted.append(position)
            self.publish(sign, [fact], [bytes(wanted)], stamp=stamp)

    def remember_retractions(self) -> None:
        """From now on keys may be handed over to this peer, by others who do not hear of what is retracted here."""
        if self._retracted is None:
            self._retracted = {}

    def forget_retractions(self) -> None:
        """No key is about to be handed over any more."""
        self._retracted, self._retractions = None, 0

    def has_moved(self, key: Key) -> bool:
        """Whether another peer has the facts of a key by now."""
        return key in self._moved

    def moved_keys(self) -> list[Key]:
        """The keys that were moved and still have something here."""
        return list(self._moved)

    def followed(self) -> bool:
        """Whether feeds of moved keys are still here."""
        return any(key in self._stands for key in self._moved)

    def keep(self, key: Key) -> None:
        """A moved key is ours again."""
        self._moved.pop(key, None)

    def drop_if_unused(self, key: Key) -> None:
        """Forget the facts of a moved key, once no feed needs them here."""
        if key in self._stands:
            return
        self._moved.pop(key, None)
        for fact in self._facts.pop(key, ()):
            if key[1] == HOME and self._everywhere.by_test:
                self._feed(self._everywhere, fact, -1)

    # --- figures ----------------------------------------------------------------------------------------------------------

    def facts(self) -> int:
        """Distinct facts held; walks them all."""
        return len({fact for facts in self._facts.values() for fact in facts})

    def entries(self) -> int:
        """Facts under keys: a fact held under two keys counts twice."""
        return sum(map(len, self._facts.values()))

    def keys(self) -> int:
        """Keys that have facts or templates."""
        return len(self._facts.keys() | self._stands.keys())

    def templates(self) -> int:
        """Templates stored; those of several subscribers count once."""
        return sum(len(stand.by_test) for stand in self._stands.values()) + len(self._everywhere.by_test)

    def feeds(self) -> int:
        """Feeds to subscribers."""
        return len(self._feeds)

    def _stored(self, anchor: Key | None) -> Iterable[Tuple]:
        if anchor is not None:
            return self._facts.get(anchor, ())
        return (fact for (_, position, _), facts in self._facts.items() if position == HOME for fact in facts)


_NOTHING: dict[Tuple, int] = {}
_ANY_ARITY: Tuple = ()
"""A template without positions asks for events of every arity; this is what it matches."""


def _anchor_key(asked: InsertCondition) -> Key | None:
    """The key that the condition is posted under; None for everywhere. Raises Refused when the anchor is no constant of it."""
    pattern = asked.template.pattern
    arity = len(pattern)
    if (not pattern and not asked.events_only) or any(not 0 <= first < later < arity for first, later in asked.template.same):
        raise Refused(f"template {asked.template!r} has no positions, or repeats some that it does not have")
    if any(type(constant) is Variable for constant in pattern):
        raise Refused(f"template {asked.template!r} holds a variable; expected constants and nothing")
    if asked.anchor == NOWHERE and not asked.template.anchors():
        return None
    return _key(asked.template, asked.anchor)


def _key(template: Template, position: int) -> Key:
    constant = template.pattern[position] if 0 <= position < len(template.pattern) else None
    if constant is None:
        raise Refused(f"position {position} is no constant of template {template!r}; expected one of {template.anchors()}")
    return (len(template.pattern), position, constant)

"""What readers see after any history of facts for all and for some, at one holder and at three that hear of it in any order."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from place import ANYTHING, compile_test, everywhere
from readers import P_ALONE, PQ, READERS, VARIANTS, Desk, Link, P, Q, T, U

from gsg.feeds.feed import AlphaFeed
from gsg.feeds.union import Union
from gsg.placement.rules import NOWHERE
from gsg.rendezvous.rendezvous import Rendezvous
from gsg.tuples.audiences import Restricted
from gsg.tuples.terms import Tuple
from gsg.wire.messages import Deltas, InsertCondition

HISTORIES = st.lists(st.tuples(st.sampled_from((1, 1, -1)), st.sampled_from(VARIANTS)), max_size=30)
OF_ONE = st.lists(st.tuples(st.sampled_from((1, 1, -1)), st.sampled_from(VARIANTS[:3])), max_size=8)


def seen(facts: set[Tuple], reader: bytes) -> set[Tuple]:
    """By the definition."""
    return {tuple(fact) for fact in facts if not isinstance(fact, Restricted) or reader in fact.audience}


@given(HISTORIES, st.integers(0, 30))
def test_each_reader_sees_at_any_time_what_some_visible_variant_says(history: list[tuple[int, Tuple]], late: int) -> None:
    desk = Desk()
    desk.rendezvous.held.remembering = bool(late % 2)
    sees: dict[bytes, set[Tuple]] = {reader: set() for reader in READERS}
    facts: set[Tuple] = set()
    for number, (sign, fact) in enumerate(history):
        if number == late:
            sees = {reader: set(desk.follow(link, 1)) for reader, link in desk.links.items()}  # type: ignore[arg-type]  # a link
        (facts.add if sign > 0 else facts.discard)(fact)
        desk.rendezvous.publish(sign, [fact], [everywhere(fact)], stamp=number + 1)
        for link, message in desk.rendezvous.take_messages():
            assert isinstance(message, Deltas)
            for told, change in zip(message.facts, message.signs, strict=True):
                # Each change of what a reader sees is told once.
                assert (told in sees[link.contact.id]) == (change < 0)  # type: ignore[attr-defined]  # a link
                (sees[link.contact.id].add if change > 0 else sees[link.contact.id].discard)(told)  # type: ignore[attr-defined]
        for reader in READERS:
            assert late > number or sees[reader] == seen(facts, reader)
            assert set(desk.seen_by(reader)) == seen(facts, reader)
    for fact in VARIANTS:
        desk.retract(fact)
    desk.rendezvous.held.buried.forget_before(10**9)
    assert desk.rendezvous.held.variants == {}


class Several:
    """Three holders of the same keys, and what readers without constants make of what they tell."""

    def __init__(self) -> None:
        self.holders = [Rendezvous(compile_test) for _ in range(3)]
        self.links = [Link(reader) for reader in READERS]
        self.sees: dict[bytes, set[Tuple]] = {reader: set() for reader in READERS}
        self._feeds = {(link, at): AlphaFeed(1) for link in self.links for at in range(3)}
        self._unions = {link: Union() for link in self.links}
        for holder in self.holders:
            holder.held.remembering = True

    def _settle(self, link: Link, some: Sequence[Tuple]) -> None:
        sees = self.sees[link.contact.id]
        for fact, sign in self._unions[link].settle(some, [self._feeds[link, at].facts for at in range(3)]):
            (sees.add if sign > 0 else sees.remove)(fact)

    def subscribe(self, at: int) -> None:
        """All readers, at one holder."""
        holder = self.holders[at]
        for link in self.links:
            feed = holder.insert_condition(link, InsertCondition(1, 1, ANYTHING, NOWHERE))
            for part in filter(None, holder.snapshot(feed)):  # type: ignore[arg-type]  # a feed of facts
                self._settle(link, [fact for fact, _ in self._feeds[link, at].take_part(part) or []])
            holder.release_feed(feed)

    def hear(self, at: int, sign: int, fact: Tuple, stamp: int) -> None:
        """A holder hears of a change, and tells."""
        self.holders[at].take_over([sign], [fact], [everywhere(fact)], [stamp])
        for link, message in self.holders[at].take_messages():
            assert isinstance(link, Link)
            assert isinstance(message, Deltas)
            assert self._feeds[link, at].is_next(message)
            self._feeds[link, at].apply(message)
            for told, change, when in zip(message.facts, message.signs, message.stamps, strict=True):
                if change < 0:
                    self._unions[link].note_retraction(told, when)
            self._settle(link, message.facts)

    def dies(self, at: int) -> None:
        """What a holder has said last counts for nothing more."""
        for link in self.links:
            self._feeds[link, at].facts.clear()
            self._settle(link, [T, U])


@given(OF_ONE, st.integers(0, 2**32))
def test_holders_that_hear_of_changes_in_any_order_agree_in_the_end(history: list[tuple[int, Tuple]], seed: int) -> None:
    changes: list[tuple[int, Tuple, int]] = []
    facts: set[Tuple] = set()
    for stamp, (sign, fact) in enumerate(history, 1):
        # What changes nothing is told to nobody, whatever its stamp.
        if (fact in facts) == (sign < 0):
            changes.append((sign, fact, stamp))
        (facts.add if sign > 0 else facts.discard)(fact)
    rng = Random(seed)
    several = Several()
    pending = {at: rng.sample(changes, len(changes)) for at in range(3)}
    late = {at: rng.choice((0, rng.randrange(len(changes) + 1))) for at in range(3)}
    for at in range(3):
        several.subscribe(at) if not late[at] else None
    while any(pending.values()):
        at = rng.choice([at for at in range(3) if pending[at]])
        several.hear(at, *pending[at].pop())
        several.subscribe(at) if len(changes) - len(pending[at]) == late[at] else None

    assert several.sees == {reader: seen(facts, reader) for reader in READERS}
    several.dies(rng.randrange(3))
    assert several.sees == {reader: seen(facts, reader) for reader in READERS}


def test_a_holder_that_knew_only_what_went_and_died_takes_nothing_away() -> None:
    several = Several()
    for at in range(3):
        several.subscribe(at)
        several.hear(at, 1, Restricted(T, PQ), 1)
    for at in (0, 1):
        several.hear(at, 1, T, 2)

    for at in range(3):
        several.hear(at, -1, Restricted(T, PQ), 3)
    several.dies(2)

    assert several.sees[P] == {T}


@pytest.mark.parametrize("fact", [T, Restricted(T, PQ)], ids=["for all", "for some"])
def test_a_holder_that_missed_what_went_and_came_back_takes_nothing_away(fact: Tuple) -> None:
    several = Several()
    for at in range(3):
        several.subscribe(at)
        several.hear(at, 1, fact, 1)
    several.hear(2, -1, fact, 2)
    assert several.sees[P] == set()

    for at in range(3):
        several.hear(at, 1, fact, 3)
    several.hear(0, -1, fact, 2)
    several.dies(2)

    assert several.sees[P] == {T}


def test_what_comes_late_and_before_what_went_is_seen() -> None:
    several = Several()
    several.subscribe(0)
    several.hear(0, 1, Restricted(T, PQ), 1)
    several.hear(0, -1, Restricted(T, PQ), 3)
    assert several.sees[P] == set()

    several.hear(0, 1, Restricted(T, P_ALONE), 2)

    assert (several.sees[P], several.sees[Q]) == ({T}, set())

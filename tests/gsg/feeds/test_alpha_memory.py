"""Rows of a memory while its feeds replace each other: what is told adds up, whatever each of them says and when."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import cast

import pytest

import gsg.feeds.alpha_memory
import rete
from gsg.feeds.alpha_memory import AlphaMemory, Source
from gsg.feeds.feed import Differences
from gsg.tuples.terms import Tuple
from gsg.wire.exchange import PeerLink
from gsg.wire.messages import Deltas, Snapshot

X, Y = ("x",), ("y",)
FACTS: list[Tuple] = [X, Y]
HISTORIES = 500
HAPPENINGS = 40


@dataclass
class Nowhere:
    """In the place of a link."""

    contact: None = None


class Feeds:
    """The feeds of one memory, the newest last, and how often each row is there as told."""

    def __init__(self) -> None:
        self.memory = AlphaMemory(rete.AlphaSpec(rete.Template((None,))), 1)
        self.told: Counter[Tuple] = Counter()

    def hear(self, differences: Differences) -> None:
        for fact, sign in differences:
            self.told[fact] += sign
        assert all(times in (0, 1) for times in self.told.values())

    def add(self) -> Source:
        """A feed beside those that there are; the newest of these is to be replaced by it."""
        if self.memory.sources:
            self.memory.sources[-1].begin_replacing()
        source = Source(self.memory, len(self.memory.sources), cast(PeerLink, Nowhere()))
        self.memory.sources += (source,)
        return source

    def snapshot(self, source: Source, *facts: Tuple) -> None:
        """It is whole: those that it replaces yield."""
        differences = source.feed.take_part(Snapshot(1, list(facts), True, True, 0))
        assert differences is not None
        self.hear(self.memory.changes_from(source, differences))
        source.end_loading()
        for older in self.memory.sources[:-1]:
            self.hear(self.memory.drop_unconfirmed(older))

    def delta(self, source: Source, fact: Tuple, sign: int) -> None:
        self.hear(self.memory.changes_from(source, source.feed.apply(Deltas(1, 0, [fact], [sign]))))

    def forget(self, source: Source) -> None:
        self.hear(self.memory.remove_feed(source))

    @property
    def rows(self) -> set[Tuple]:
        assert +self.told == Counter(self.memory.facts())
        return set(+self.told)


def live(feeds: Feeds, rng: Random) -> None:
    """Something happens."""
    sources = feeds.memory.sources
    older, latest = sources[:-1], sources[-1]
    match rng.choice(["delta"] * 6 + ["replace", "whole", "forget"]):
        case "delta":
            feeds.delta(rng.choice(sources if latest.loading is None else older), rng.choice(FACTS), rng.choice([1, -1]))
        case "replace" if latest.loading is None and len(sources) < 3:
            feeds.add()
        case "whole" if latest.loading is not None:
            feeds.snapshot(latest, *rng.sample(FACTS, rng.randint(0, len(FACTS))))
        case "forget" if older and latest.loading is None:
            feeds.forget(rng.choice(older))


@pytest.mark.parametrize("said", [1, 10_000])
async def test_what_is_told_adds_up_whatever_feeds_say_and_when_they_end(said: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.feeds.alpha_memory, "WORDS", said)
    for seed in range(HISTORIES):
        rng, feeds = Random(seed), Feeds()
        feeds.snapshot(feeds.add(), X)
        for _ in range(HAPPENINGS):
            live(feeds, rng)
            assert feeds.rows <= {*FACTS}, seed
        *older, latest = feeds.memory.sources
        if latest.loading is not None:
            feeds.snapshot(latest, Y)
        for source in older:
            feeds.forget(source)

        assert feeds.rows == set(latest.facts), seed


async def test_what_a_feed_has_told_counts_until_it_ends() -> None:
    feeds = Feeds()
    old = feeds.add()
    feeds.snapshot(old, X)
    new = feeds.add()

    feeds.delta(old, X, -1)
    feeds.delta(old, Y, 1)
    feeds.snapshot(new, X)

    assert (feeds.rows, feeds.memory.is_contested(old)) == ({Y}, True)
    feeds.delta(new, X, -1)
    feeds.delta(new, Y, 1)
    assert (feeds.rows, feeds.memory.is_contested(old)) == ({Y}, False)
    feeds.forget(old)
    assert feeds.rows == {Y}


async def test_of_what_a_feed_has_not_told_lately_the_one_in_its_place_knows_better() -> None:
    feeds = Feeds()
    old = feeds.add()
    feeds.snapshot(old, X)
    new = feeds.add()

    feeds.snapshot(new, Y)

    assert (feeds.rows, feeds.memory.is_contested(old)) == ({Y}, False)

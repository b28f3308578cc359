"""Rows of a memory while its feeds replace each other: what is told adds up, whatever each of them says and when."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gsg.memories
import rete
from gsg.exchange import Channel
from gsg.feeds import Differences
from gsg.memories import Memory, Source
from gsg.messages import Deltas, Snapshot
from gsg.model import Tuple

X, Y = ("x",), ("y",)
FACTS: list[Tuple] = [X, Y]


@dataclass
class Nowhere:
    """In the place of a channel."""

    contact: None = None


class Feeds:
    """The feeds of one memory, the newest last, and how often each row is there as told."""

    def __init__(self) -> None:
        self.memory = Memory(rete.AlphaSpec(rete.Template((None,))), 1)
        self.told: Counter[Tuple] = Counter()

    def hear(self, differences: Differences) -> None:
        for fact, sign in differences:
            self.told[fact] += sign
        assert all(times in (0, 1) for times in self.told.values())

    def add(self) -> Source:
        """A feed beside those that there are; the newest of these is to be replaced by it."""
        if self.memory.sources:
            self.memory.sources[-1].follow()
        source = Source(self.memory, len(self.memory.sources), cast(Channel, Nowhere()))
        self.memory.sources += (source,)
        return source

    def snapshot(self, source: Source, *facts: Tuple) -> None:
        """It is whole: those that it replaces yield."""
        differences = source.feed.snapshot(Snapshot(1, list(facts), True, True, 0))
        assert differences is not None
        self.hear(self.memory.changed(source, differences))
        source.is_whole()
        for older in self.memory.sources[:-1]:
            self.hear(self.memory.yields(older))

    def delta(self, source: Source, fact: Tuple, sign: int) -> None:
        self.hear(self.memory.changed(source, source.feed.apply(Deltas(1, 0, [fact], [sign]))))

    def forget(self, source: Source) -> None:
        self.hear(self.memory.without(source))

    @property
    def rows(self) -> set[Tuple]:
        assert +self.told == Counter(self.memory.facts())
        return set(+self.told)


@st.composite
def doings(draw: st.DrawFn) -> list[tuple[str, int, Tuple, int]]:
    """What happens, which feed it concerns (modulo those there are), and a fact with a sign."""
    kinds = st.sampled_from(["delta"] * 5 + ["replace", "whole", "whole", "forget"])
    one = st.tuples(kinds, st.integers(0, 3), st.sampled_from(FACTS), st.sampled_from([1, -1]))
    return draw(st.lists(one, max_size=30))


@pytest.mark.parametrize("said", [1, 10_000])
@given(doings=doings(), held=st.lists(st.sets(st.sampled_from(FACTS)), min_size=8, max_size=8))
def test_what_is_told_adds_up_whatever_feeds_say_and_when_they_end(
    said: int, doings: list[tuple[str, int, Tuple, int]], held: list[set[Tuple]]
) -> None:
    async def main() -> None:
        feeds = Feeds()
        feeds.snapshot(feeds.add(), *held[0])
        for kind, at, fact, sign in doings:
            sources = feeds.memory.sources
            source = sources[at % len(sources)]
            if kind == "delta" and source.whole is None:
                feeds.delta(source, fact, sign)
            elif kind == "replace" and sources[-1].whole is None and len(sources) < 4:
                feeds.add()
            elif kind == "whole" and sources[-1].whole is not None:
                feeds.snapshot(sources[-1], *held[at])
            elif kind == "forget" and source is not sources[-1] and sources[-1].whole is None:
                feeds.forget(source)
            assert feeds.rows <= {*FACTS}
        latest = feeds.memory.sources[-1]
        if latest.whole is not None:
            feeds.snapshot(latest, *held[-1])
        for source in feeds.memory.sources[:-1]:
            feeds.forget(source)

        assert feeds.rows == set(latest.facts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gsg.memories, "SAID", said)
        asyncio.run(main())


async def test_what_a_feed_has_told_counts_until_it_ends() -> None:
    feeds = Feeds()
    old = feeds.add()
    feeds.snapshot(old, X)
    new = feeds.add()

    feeds.delta(old, X, -1)
    feeds.delta(old, Y, 1)
    feeds.snapshot(new, X)

    assert (feeds.rows, feeds.memory.contested(old)) == ({Y}, True)
    feeds.delta(new, X, -1)
    feeds.delta(new, Y, 1)
    assert (feeds.rows, feeds.memory.contested(old)) == ({Y}, False)
    feeds.forget(old)
    assert feeds.rows == {Y}


async def test_of_what_a_feed_has_not_told_lately_the_one_in_its_place_knows_better() -> None:
    feeds = Feeds()
    old = feeds.add()
    feeds.snapshot(old, X)
    new = feeds.add()

    feeds.snapshot(new, Y)

    assert (feeds.rows, feeds.memory.contested(old)) == ({Y}, False)

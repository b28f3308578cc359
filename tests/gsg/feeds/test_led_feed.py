"""What a head remembers of a feed, for those who are sent to it while something is on its way: facts as they were, and changes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from gsg.feeds.alpha_memory import AlphaMemory, Source
from gsg.feeds.by_heads.led_feed import RECENT, RECENT_FACTS, LedFeed
from gsg.tuples.features import Template, alpha_of
from gsg.tuples.terms import Tuple
from gsg.wire.exchange import PeerLink
from gsg.wire.messages import Deltas, Snapshot
from gsg.wire.waiting import Room

LINK = cast(PeerLink, None)
"""Nothing is sent."""


def led(*facts: int) -> LedFeed:
    async def make() -> LedFeed:
        return LedFeed(Source(AlphaMemory(alpha_of(Template((None,))), 1), 1, LINK), 0, Room(1_000_000))

    made = asyncio.run(make())
    made.take_part(Snapshot(1, [(fact,) for fact in facts], True, True, 0))
    return made


def deltas(sequence: int, *signed: int) -> Deltas:
    """Facts by number, which come, or go where they are negative."""
    return Deltas(1, sequence, [(abs(each),) for each in signed], [1 if each > 0 else -1 for each in signed])


def facts_of(facts: Sequence[Tuple] | dict[Tuple, int]) -> list[object]:
    return sorted(fact[0] for fact in facts)  # type: ignore[type-var]  # numbers


def test_changes_are_those_that_change_something() -> None:
    one = led(1, 2)

    assert one.take_deltas(deltas(0, 2, 3, -1, -9)) == [((3,), 1), ((1,), -1)]
    assert facts_of(one.facts) == [2, 3]


def test_facts_before_some_changes_are_as_they_were() -> None:
    one = led(1, 2)
    one.take_deltas(deltas(0, 3, -1))
    one.take_deltas(deltas(1, 1, -2))
    one.take_deltas(deltas(2, -3, 1))

    since = one.changes_since(1)

    assert since is not None
    assert [change.sequence for _, change in since] == [1, 2]
    assert facts_of(one.facts_before(since)) == [2, 3]
    assert facts_of(one.facts_before(one.changes_since(0) or [])) == [1, 2]
    assert one.changes_since(3) == []


def test_changes_that_are_remembered_no_more_are_none() -> None:
    one = led()
    for number in range(RECENT + 1):
        one.take_deltas(deltas(number, number + 1))

    assert one.changes_since(0) is None
    assert one.changes_since(1) is not None


def test_changes_are_remembered_up_to_so_many_facts() -> None:
    one = led()
    one.take_deltas(deltas(0, 1))
    one.take_deltas(deltas(1, *range(2, RECENT_FACTS + 2)))

    assert one.changes_since(0) is None
    assert one.changes_since(1) is not None


@pytest.mark.parametrize("sequence", [-1, 7])
def test_a_sequence_that_cannot_be_is_no_change(sequence: int) -> None:
    one = led(1)

    assert one.take_deltas(deltas(sequence, 2)) is None


def test_after_a_hole_nothing_is_told_before_a_snapshot_which_brings_the_difference() -> None:
    one = led(1, 2)
    assert one.take_deltas(deltas(5, 3)) is None
    assert one.take_deltas(deltas(6, 4)) is None

    assert one.take_part(Snapshot(1, [(2,), (3,)], True, True, 7)) == [((1,), -1), ((3,), 1)]

"""The subscriber's side of a feed."""

from __future__ import annotations

import pytest

from gsg.feeds.feed import AlphaFeed, Differences, FeedState, SequenceHole
from gsg.tuples.terms import Tuple
from gsg.wire.messages import Deltas, Snapshot

A, B, C = ("a",), ("b",), ("c",)


def snapshot(*facts: Tuple, first: bool = True, last: bool = True, sequence: int = 0) -> Snapshot:
    return Snapshot(1, list(facts), first, last, sequence)


def deltas(sequence: int, *changes: tuple[Tuple, int]) -> Deltas:
    return Deltas(1, sequence, [fact for fact, _ in changes], [sign for _, sign in changes])


def live(*facts: Tuple) -> AlphaFeed:
    feed = AlphaFeed(1)
    feed.take_part(snapshot(*facts))
    return feed


def told(feed: AlphaFeed, message: Deltas) -> Differences:
    return feed.apply(message) if feed.is_next(message) else []


def test_a_feed_waits_until_its_snapshot_is_whole() -> None:
    feed = AlphaFeed(1)
    assert feed.state is FeedState.WAITING

    assert feed.take_part(snapshot(A, last=False)) is None
    assert (feed.state, list(feed.facts)) == (FeedState.LOADING, [])
    assert feed.take_part(snapshot(B, first=False, last=False)) is None
    assert feed.take_part(snapshot(C, first=False)) == [(A, 1), (B, 1), (C, 1)]
    assert (feed.state, list(feed.facts)) == (FeedState.LIVE, [A, B, C])


def test_where_nothing_was_there_each_part_may_be_told_as_it_comes() -> None:
    feed = AlphaFeed(1)

    assert feed.take_part(snapshot(A, last=False), in_parts=True) == [(A, 1)]
    assert feed.take_part(snapshot(B, first=False), in_parts=True) == [(B, 1)]
    assert (feed.state, list(feed.facts)) == (FeedState.LIVE, [A, B])
    assert feed.take_part(snapshot(B, last=False), in_parts=True) is None
    assert feed.take_part(snapshot(C, first=False), in_parts=True) == [(A, -1), (C, 1)]


def test_parts_that_were_told_are_what_was_there_when_a_snapshot_begins_anew() -> None:
    feed = AlphaFeed(1)

    assert feed.take_part(snapshot(A, last=False), in_parts=True) == [(A, 1)]
    assert feed.take_part(snapshot(B, last=False), in_parts=True) is None
    assert feed.take_part(snapshot(C, first=False), in_parts=True) == [(A, -1), (B, 1), (C, 1)]


def test_differences_of_which_nobody_hears_are_left_out() -> None:
    feed = AlphaFeed(1)

    assert feed.take_part(snapshot(A, last=False), is_heard=False) is None
    assert feed.take_part(snapshot(B, first=False), is_heard=False) == []
    assert list(feed.facts) == [A, B]
    assert feed.take_part(snapshot(B)) == [(A, -1)]


def test_deltas_change_the_facts() -> None:
    feed = live(A)

    assert told(feed, deltas(0, (B, 1), (A, -1))) == [(B, 1), (A, -1)]
    assert told(feed, deltas(1, (A, 1))) == [(A, 1)]
    assert list(feed.facts) == [B, A]


def test_deltas_count_from_the_snapshot_on() -> None:
    feed = AlphaFeed(1)
    feed.take_part(snapshot(sequence=7))

    assert told(feed, deltas(6, (A, 1))) == []
    assert told(feed, deltas(7, (B, 1))) == [(B, 1)]


def test_deltas_of_the_past_are_not_looked_at_twice() -> None:
    feed = live()
    told(feed, deltas(0, (A, 1)))

    assert told(feed, deltas(0, (A, -1))) == []
    assert list(feed.facts) == [A]


def test_a_fact_that_comes_or_goes_twice_counts_once() -> None:
    feed = live(A)

    assert told(feed, deltas(0, (A, 1), (B, -1), (B, 1), (B, 1), (A, -1), (A, -1))) == [(B, 1), (A, -1)]


def test_a_delta_that_neither_adds_nor_takes_is_nothing() -> None:
    assert told(live(A), deltas(0, (A, 0), (B, 0))) == []


def test_a_hole_in_the_sequence_is_noticed_and_a_snapshot_awaited() -> None:
    feed = live(A)

    with pytest.raises(SequenceHole):
        told(feed, deltas(1, (B, 1)))

    assert feed.state is FeedState.WAITING
    assert told(feed, deltas(2, (C, 1))) == []
    assert list(feed.facts) == [A]


def test_a_fresh_snapshot_is_told_as_differences() -> None:
    feed = live(A, B)
    with pytest.raises(SequenceHole):
        told(feed, deltas(1))

    assert feed.take_part(snapshot(B, last=False, sequence=5)) is None
    assert told(feed, deltas(5, (A, -1))) == []
    assert feed.take_part(snapshot(C, first=False, sequence=5)) == [(A, -1), (C, 1)]
    assert told(feed, deltas(5, (A, 1))) == [(A, 1)]


def test_a_snapshot_that_begins_again_forgets_its_parts() -> None:
    feed = AlphaFeed(1)
    feed.take_part(snapshot(A, last=False))

    assert feed.take_part(snapshot(B)) == [(B, 1)]


def test_a_part_without_its_beginning_is_not_looked_at() -> None:
    feed = live(A)

    assert feed.take_part(snapshot(B, first=False)) is None
    assert list(feed.facts) == [A]


def test_a_feed_in_the_place_of_another_tells_the_difference_to_it() -> None:
    feed = AlphaFeed(2, {A: None, B: None})

    assert feed.take_part(snapshot(B, C)) == [(A, -1), (C, 1)]

"""The clock of changes: always later, whatever the clocks say."""

from __future__ import annotations

import pytest

from gsg.errors import Refused
from gsg.storage.clock import MAX_AHEAD_OF_UNSET_S, MAX_AHEAD_S, RIGHT_FROM_S, HybridClock


def test_times_grow_while_the_clock_stands_or_is_set_back() -> None:
    seconds = iter([5.0, 5.0, 3.0, 6.0])
    versions = HybridClock(lambda: next(seconds))

    assert [versions.next_stamp() for _ in range(4)] == [5_000_000, 5_000_001, 5_000_002, 6_000_000]


def test_what_comes_after_a_time_that_was_seen_is_later() -> None:
    versions = HybridClock(lambda: 5.0)

    versions.see_stamp(7_000_000)

    assert versions.next_stamp() == 7_000_001


@pytest.mark.parametrize(("known", "first"), [(0, 35_000_001), (40_000_000, 70_000_001)], ids=["little", "much"])
def test_a_peer_that_was_stopped_speaks_later_than_what_it_may_have_missed(known: int, first: int) -> None:
    versions = HybridClock(lambda: 5.0)

    versions.resume(known)

    assert versions.next_stamp() == first


def test_a_clock_that_begins_in_1970_takes_what_others_say() -> None:
    versions = HybridClock(lambda: 0.0)

    versions.see_stamp(1_800_000_000_000_000)

    assert versions.next_stamp() == 1_800_000_000_000_001


def test_a_time_out_of_reason_is_refused_and_changes_nothing() -> None:
    versions = HybridClock(lambda: 5.0)

    with pytest.raises(Refused, match="the latest that the clock of this peer lets pass; set the clocks of both peers"):
        versions.see_stamp((MAX_AHEAD_OF_UNSET_S + 6) * 1_000_000)

    assert versions.next_stamp() == 5_000_000


def test_by_a_clock_that_is_set_no_time_is_far_ahead_whatever_was_seen() -> None:
    now_s = float(RIGHT_FROM_S)
    versions = HybridClock(lambda: now_s)
    versions.see_stamp(most := (RIGHT_FROM_S + MAX_AHEAD_S) * 1_000_000)

    # Else one wrong time after the other would take a peer to where no other one follows.
    with pytest.raises(Refused, match=f"stamp {most + 2} is beyond {most},"):
        versions.see_stamp(most + 2)
    now_s += 1
    versions.see_stamp(most + 2)

    assert versions.next_stamp() == most + 3

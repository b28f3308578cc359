"""Which peer a task writes to: the one of its partition, again while it is lost for short, and then the next."""

from __future__ import annotations

import pytest

from simulations.streams.sink.peer_failover import PeerFailover

URLS = ("a", "b", "c")


@pytest.mark.parametrize(("partition", "url"), [(0, "a"), (1, "b"), (5, "c")])
def test_a_partition_begins_at_the_same_peer_each_time(partition: int, url: str) -> None:
    assert PeerFailover(URLS, first=partition, stay_s=10).url == url


def test_a_peer_that_is_lost_is_asked_again_until_it_was_away_for_too_long() -> None:
    failover = PeerFailover(URLS, first=0, stay_s=10)
    asked = []
    for now in (0, 4, 9.9, 10, 10, 10):
        failover.note_lost(now)
        asked.append(failover.url)

    assert asked == ["a", "a", "a", "b", "c", "a"]


def test_a_peer_that_is_back_may_be_away_as_long_again() -> None:
    failover = PeerFailover(URLS, first=0, stay_s=10)
    failover.note_lost(0)
    failover.note_connected()

    failover.note_lost(20)

    assert failover.url == "a"


def test_the_peer_that_took_its_turn_is_stayed_with_as_the_first_one_was() -> None:
    failover = PeerFailover(URLS, first=0, stay_s=10)
    failover.note_lost(0)
    failover.note_lost(10)
    failover.note_connected()

    failover.note_lost(11)

    assert failover.url == "b"


def test_without_staying_the_next_peer_is_asked_at_once() -> None:
    failover = PeerFailover(URLS, first=0, stay_s=0)

    failover.note_lost(0)

    assert failover.url == "b"

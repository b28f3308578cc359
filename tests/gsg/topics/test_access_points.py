"""Members of a topic are found in the cache, or by walks; that there are none is said with its probability."""

from __future__ import annotations

from random import Random

import pytest
from contacts import contact

from dht import Contact
from gsg.topics.access_points import (
    ADVERT_LIFE_S,
    LEAST_CACHED,
    LIFETIME,
    MAX_SEARCHES,
    MAX_WALK,
    MOST_CACHED,
    SEARCH_S,
    AccessPoints,
    Found,
    cache_size,
)
from gsg.wire.topic_messages import Advert, Walk, WalkEnd


class Searcher:
    def __init__(self) -> None:
        self.sent: list[tuple[Contact, Walk | WalkEnd]] = []
        self.found: list[Found] = []
        self.reaches = True
        self.points = AccessPoints(contact(0), Random(1), self._send, lambda at_s: None)

    def _send(self, to: Contact, message: Walk | WalkEnd) -> bool:
        self.sent.append((to, message))
        return self.reaches

    def search(self) -> int:
        self.points.search("t", [contact(1), contact(2)], 0.0, self.found.append)
        walk = self.sent[-1][1]
        assert isinstance(walk, Walk)
        return walk.number


def test_what_the_cache_knows_is_found_at_once() -> None:
    searcher = Searcher()
    searcher.points.learn_member(Advert("t", contact(7)), 0.0)

    searcher.points.search("t", [contact(1)], 0.0, searcher.found.append)

    assert (searcher.found, searcher.sent) == ([Found([contact(7)])], [])


def test_the_first_walk_that_finds_members_ends_the_search() -> None:
    searcher = Searcher()
    number = searcher.search()

    searcher.points.receive_walk_end(WalkEnd(number, "t", [contact(8)]), 0.0)
    searcher.points.receive_walk_end(WalkEnd(number, "t", [contact(9)]), 0.0)

    assert searcher.found == [Found([contact(8)])]
    assert searcher.points.member_of("t") == contact(8)


def test_that_there_is_none_is_said_with_its_probability() -> None:
    searcher = Searcher()
    searcher.points.topics = 1_000.0
    number = searcher.search()

    for _ in range(2):
        searcher.points.receive_walk_end(WalkEnd(number, "t", []), 0.0)

    [found] = searcher.found
    share = cache_size(1_000.0) / 1_000.0
    assert found.members == []
    assert found.certainty == pytest.approx(1 - (1 - share) ** (2 * LIFETIME + 1))


def test_a_search_ends_though_its_walks_are_lost() -> None:
    searcher = Searcher()
    searcher.search()

    searcher.points.advance(SEARCH_S)

    assert [found.members for found in searcher.found] == [[]]


def test_a_walk_goes_on_until_somebody_knows_a_member_or_its_life_is_over() -> None:
    searcher = Searcher()

    searcher.points.receive_walk(Walk(1, "t", contact(5), 3), [], [contact(6)], 0.0)
    searcher.points.receive_walk(Walk(1, "t", contact(5), 0), [], [contact(6)], 0.0)
    searcher.points.learn_member(Advert("t", contact(7)), 0.0)
    searcher.points.receive_walk(Walk(1, "t", contact(5), 3), [], [contact(6)], 0.0)

    assert searcher.sent == [
        (contact(6), Walk(1, "t", contact(5), 2)),
        (contact(5), WalkEnd(1, "t", [])),
        (contact(5), WalkEnd(1, "t", [contact(7)])),
    ]


def test_the_cache_is_bounded_and_takes_no_name_that_is_none() -> None:
    searcher = Searcher()
    for number in range(500):
        searcher.points.learn_member(Advert(f"t{number}", contact(7)), 0.0)
    searcher.points.learn_member(Advert("x" * 300, contact(7)), 0.0)
    searcher.points.learn_member(Advert("", contact(7)), 0.0)
    searcher.points.learn_member(Advert("own", contact(0)), 0.0)

    assert len(searcher.points) == cache_size(1.0) == 32
    assert not {"own", "", "x" * 300} & set(searcher.points.known())


@pytest.mark.parametrize(
    ("topics", "size"), [(1, LEAST_CACHED), (1_000, 370), (1e19, MOST_CACHED)], ids=["few", "many", "beyond reason"]
)
def test_the_cache_is_as_large_as_walks_need(topics: float, size: int) -> None:
    assert cache_size(topics) == size


def test_the_cache_shrinks_at_once_when_there_are_fewer_topics() -> None:
    searcher = Searcher()
    searcher.points.topics = 1e9
    for number in range(MOST_CACHED + 10):
        searcher.points.learn_member(Advert(str(number), contact(1)), 0.0)
    at_most = len(searcher.points)

    searcher.points.topics = 1.0
    searcher.points.learn_member(Advert("t", contact(1)), 0.0)

    assert (at_most, len(searcher.points)) == (MOST_CACHED, LEAST_CACHED)


@pytest.mark.parametrize(("who", "left"), [(1, 0), (2, 1)], ids=["the one known", "another"])
def test_a_member_that_left_is_no_access_point(who: int, left: int) -> None:
    searcher = Searcher()
    searcher.points.learn_member(Advert("t", contact(1)), 0.0)

    searcher.points.forget_member("t", contact(who).id)

    assert len(searcher.points) == left


def test_a_member_that_is_not_heard_of_any_more_is_forgotten_however_often_others_pass_on_what_it_said() -> None:
    searcher, other = Searcher(), Searcher()
    searcher.points.learn_member(Advert("t", contact(1)), 0.0)

    for now_s in range(1, round(ADVERT_LIFE_S) + 2):
        for to, by in ((other.points, searcher.points), (searcher.points, other.points)):
            for advert in by.sample(4, now_s):
                to.learn_member(advert, now_s)
            to.forget_late(now_s)

    assert (searcher.points.known(), other.points.known()) == ([], [])


def test_a_larger_cache_believes_an_advert_for_longer() -> None:
    searcher = Searcher()
    searcher.points.topics = 1e9
    searcher.points.learn_member(Advert("t", contact(1)), 0.0)

    searcher.points.forget_late(2 * ADVERT_LIFE_S)

    assert searcher.points.known() == ["t"]


def test_the_later_advert_is_believed() -> None:
    searcher = Searcher()
    searcher.points.learn_member(Advert("t", contact(1)), 10.0)

    searcher.points.learn_member(Advert("t", contact(2), 5_000), 10.0)
    before = searcher.points.member_of("t")
    searcher.points.learn_member(Advert("t", contact(3), 1_000), 12.0)

    assert (before, searcher.points.member_of("t")) == (contact(1), contact(3))


@pytest.mark.parametrize("age_ms", [-1, 1 << 60], ids=["from the future", "too old"])
def test_an_advert_with_an_age_that_cannot_be_is_passed_over(age_ms: int) -> None:
    searcher = Searcher()

    searcher.points.learn_member(Advert("t", contact(1), age_ms), 0.0)

    assert searcher.points.known() == []


def test_a_dead_peer_is_no_access_point() -> None:
    searcher = Searcher()
    searcher.points.learn_member(Advert("t", contact(1)), 0.0)

    searcher.points.forget_peer(contact(1).id)

    assert searcher.points.member_of("t") is None


def test_searches_are_bounded() -> None:
    searcher = Searcher()

    for _ in range(MAX_SEARCHES + 1):
        searcher.search()

    assert len(searcher.points._searches) == MAX_SEARCHES
    assert len(searcher.found) == 1


def test_oneself_is_no_member_that_a_walk_finds() -> None:
    searcher = Searcher()
    number = searcher.search()

    for _ in range(2):
        searcher.points.receive_walk_end(WalkEnd(number, "t", [contact(0)]), 0.0)

    assert [found.members for found in searcher.found] == [[]]


@pytest.mark.parametrize(("left", "onward"), [(3, 2), (1 << 60, MAX_WALK - 1)], ids=["few", "beyond reason"])
def test_a_walk_goes_to_a_bounded_number_of_peers(left: int, onward: int) -> None:
    searcher = Searcher()

    searcher.points.receive_walk(Walk(7, "t", contact(5), left), [], [contact(6)], 0.0)

    assert searcher.sent == [(contact(6), Walk(7, "t", contact(5), onward))]


def test_a_walk_that_cannot_go_on_ends() -> None:
    searcher = Searcher()
    searcher.reaches = False

    searcher.points.receive_walk(Walk(7, "t", contact(5), 5), [], [contact(6)], 0.0)

    assert searcher.sent[-1] == (contact(5), WalkEnd(7, "t", []))


def test_a_walk_of_ours_that_comes_back_ends_without_a_message() -> None:
    searcher = Searcher()
    number = searcher.search()
    searcher.sent.clear()

    for _ in range(2):
        searcher.points.receive_walk(Walk(number, "t", contact(0), 0), [], [], 0.0)

    assert searcher.sent == []
    assert len(searcher.found) == 1

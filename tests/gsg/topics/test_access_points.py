"""Members of a topic are found in the cache, or by walks; that there are none is said with its probability."""

from __future__ import annotations

from random import Random

import pytest

from dht import Contact
from gsg.topics.access_points import LIFETIME, SEARCH_S, AccessPoints, Found, cache_size
from gsg.wire.topic_messages import Advert, Walk, WalkEnd


def contact(number: int) -> Contact:
    return Contact(number.to_bytes(20, "big"), "10.0.0.1", 1 + number)


class Searcher:
    def __init__(self) -> None:
        self.sent: list[tuple[Contact, Walk | WalkEnd]] = []
        self.found: list[Found] = []
        self.points = AccessPoints(
            contact(0), Random(1), lambda to, message: not self.sent.append((to, message)), lambda at_s: None
        )

    def search(self) -> int:
        self.points.search("t", [contact(1), contact(2)], 0.0, self.found.append)
        walk = self.sent[-1][1]
        assert isinstance(walk, Walk)
        return walk.number


def test_what_the_cache_knows_is_found_at_once() -> None:
    searcher = Searcher()
    searcher.points.meet(Advert("t", contact(7)))

    searcher.points.search("t", [contact(1)], 0.0, searcher.found.append)

    assert (searcher.found, searcher.sent) == ([Found([contact(7)])], [])


def test_the_first_walk_that_finds_members_ends_the_search() -> None:
    searcher = Searcher()
    number = searcher.search()

    searcher.points.ended(WalkEnd(number, "t", [contact(8)]))
    searcher.points.ended(WalkEnd(number, "t", [contact(9)]))

    assert searcher.found == [Found([contact(8)])]
    assert searcher.points.member_of("t") == contact(8)


def test_that_there_is_none_is_said_with_its_probability() -> None:
    searcher = Searcher()
    searcher.points.topics = 1_000.0
    number = searcher.search()

    for _ in range(2):
        searcher.points.ended(WalkEnd(number, "t", []))

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

    searcher.points.walked(Walk(1, "t", contact(5), 3), [], [contact(6)])
    searcher.points.walked(Walk(1, "t", contact(5), 0), [], [contact(6)])
    searcher.points.meet(Advert("t", contact(7)))
    searcher.points.walked(Walk(1, "t", contact(5), 3), [], [contact(6)])

    assert searcher.sent == [
        (contact(6), Walk(1, "t", contact(5), 2)),
        (contact(5), WalkEnd(1, "t", [])),
        (contact(5), WalkEnd(1, "t", [contact(7)])),
    ]


def test_the_cache_is_bounded_and_takes_no_name_that_is_none() -> None:
    searcher = Searcher()
    for number in range(500):
        searcher.points.meet(Advert(f"t{number}", contact(7)))
    searcher.points.meet(Advert("x" * 300, contact(7)))
    searcher.points.meet(Advert("own", contact(0)))

    assert len(searcher.points) == cache_size(1.0) == 32
    assert not {"own", "x" * 300} & set(searcher.points.known())

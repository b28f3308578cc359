"""What happens to facts is told as their feed says it, whoever says it and whatever is held, without a network."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ways import P, Q, Ways

import gsg.feeds.publisher_order
from gsg.feeds.publisher_order import NOBODY, ORDER_WAIT_S


@pytest.fixture
def ways() -> Ways:
    return Ways("r1", "r2", "r3")


def test_what_another_publisher_says_of_the_same_fact_waits_behind_what_is_held(ways: Ways) -> None:
    ways.arrive("r1", 2, after={"r2": 1}, facts="ab")
    ways.arrive("r1", 30, publisher=Q, facts="bc")
    ways.arrive("r1", 31, publisher=Q, facts="d")
    assert ways.told == []

    ways.arrive("r2", 1)

    assert ways.told == [1, 2, 30, 31]


def test_what_another_publisher_says_of_other_facts_does_not_wait(ways: Ways) -> None:
    ways.arrive("r1", 2, after={"r2": 1}, facts="ab")

    ways.arrive("r1", 30, publisher=Q, facts="c")
    ways.arrive("r3", 40, publisher=Q, facts="a")  # of another feed

    assert ways.told == [30, 40]


def test_what_is_nobodys_in_particular_waits_for_all_that_its_feed_brought_before_and_is_waited_for(ways: Ways) -> None:
    ways.arrive("r1", 2, after={"r2": 1}, facts="a")
    ways.arrive("r1", 0, publisher=NOBODY, facts="b", called=20)
    ways.arrive("r1", 30, publisher=Q, facts="c")
    assert ways.told == []

    ways.arrive("r2", 1)

    assert ways.told == [1, 2, 20, 30]


def test_what_is_nobodys_in_particular_does_not_wait_for_other_feeds(ways: Ways) -> None:
    ways.arrive("r1", 2, after={"r2": 1}, facts="a")

    ways.arrive("r3", 0, publisher=NOBODY, facts="a", called=20)

    assert ways.told == [20]


def test_two_publishers_that_wait_for_each_other_are_delivered_as_the_feeds_say(ways: Ways) -> None:
    # P: 4 by r2, then 5 by r1. Q: 3 by r1, then 9 by r2. r1 has 5 before 3, of one fact, and r2 has 9 before 4, of another.
    ways.arrive("r1", 5, after={"r2": 4}, facts="a")
    ways.arrive("r1", 3, after={"r2": 2}, publisher=Q, facts="a")
    ways.arrive("r2", 9, after={"r1": 8}, publisher=Q, facts="b")
    ways.arrive("r2", 4, after={"r1": 3}, facts="b")
    assert ways.told == []

    ways.wait(ORDER_WAIT_S)

    assert sorted(ways.told) == [3, 4, 5, 9]
    assert ways.told.index(5) < ways.told.index(3)
    assert ways.told.index(9) < ways.told.index(4)
    assert len(ways.ordering) == 0


def test_many_changes_of_one_fact_by_two_publishers_wait_each_behind_the_last(ways: Ways) -> None:
    ways.arrive("r1", 2, after={"r2": 1}, facts="a")
    for number in range(3, 5_001):
        ways.arrive("r1", number, publisher=Q if number % 2 else P, facts="a")
    assert ways.told == []
    behind = [len(held.behind) for held in ways.ordering._oldest.values()]

    ways.wait(ORDER_WAIT_S)

    assert ways.told == list(range(2, 5_001))
    # What each costs is not to depend on how many wait already.
    assert max(behind) == 1


class Counting:
    """A fact that counts how often such facts are looked at."""

    looked_at = 0

    def __hash__(self) -> int:
        Counting.looked_at += 1
        return id(self)


def test_what_is_held_costs_nothing_where_it_concerns_other_facts(ways: Ways) -> None:
    def cost_of(number: int) -> int:
        before = Counting.looked_at
        passes = ways.ordering.passes("r1", P, number, [(b"r2", number - 1, 0)])
        concerns = ("feed", [Counting()])
        assert not passes
        assert ways.ordering.conflicts(P, concerns) is False
        ways.ordering.hold(0.0, "r1", P, [(b"r2", number - 1, 0)], [(number, number, 100)], concerns)
        return Counting.looked_at - before

    costs = [cost_of(2 * number) for number in range(1, 201)]

    assert set(costs[1:]) == {costs[1]}


STEPS = st.one_of(
    st.tuples(
        st.just("arrive"),
        st.sampled_from(["r1", "r2", "r3"]),
        st.sampled_from([P, Q, NOBODY]),
        st.integers(1, 9),
        st.dictionaries(st.sampled_from(["r1", "r2", "r3"]), st.integers(1, 12), max_size=2),
        st.sampled_from(["", "a", "b", "ab"]),
        st.booleans(),
    ),
    st.tuples(st.just("passed"), st.sampled_from(["r1", "r2", "r3"]), st.sampled_from([P, Q]), st.integers(0, 12)),
    st.tuples(st.just("lose"), st.sampled_from(["r1", "r2", "r3"])),
    st.tuples(st.just("wait"), st.sampled_from([0.5, ORDER_WAIT_S])),
)


@given(st.lists(STEPS, max_size=30), st.integers(1, 6))
def test_whatever_is_said_what_happens_to_a_fact_is_told_as_its_feed_says_it(
    steps: list[tuple[Any, ...]],  # Any: as the strategies above
    limit: int,
) -> None:
    ways = Ways("r1", "r2", "r3")
    arrived: list[tuple[int, str, str]] = []
    nobodys: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gsg.feeds.publisher_order, "HELD", limit)
        for count, (what, *rest) in enumerate(steps):
            if what == "arrive":
                way, publisher, number, after, facts, more = rest
                if publisher == NOBODY:
                    number, after, facts = 0, {}, facts or "c"
                    nobodys.append(count)
                arrived.append((count, way, facts))
                ways.arrive(way, number, after=after, publisher=publisher, facts=facts, more=more, called=count)
            elif what == "passed":
                ways.passed(rest[0], rest[2], rest[1])
            elif what == "lose":
                ways.lose(rest[0])
            else:
                ways.wait(rest[0])
            assert len(ways.ordering) <= limit
        ways.wait(ORDER_WAIT_S)

    assert sorted(ways.told) == [count for count, _, _ in arrived]
    assert len(ways.ordering) == 0
    assert ways.ordering.due_s is None
    for way in ("r1", "r2", "r3"):
        for fact in "ab":
            concerned = [count for count, by, facts in arrived if by == way and fact in facts]
            assert [count for count in ways.told if count in concerned] == concerned
        of_feed = [count for count, by, facts in arrived if by == way and facts]
        for nobodys_own in set(nobodys).intersection(of_feed):
            at, place = of_feed.index(nobodys_own), ways.told.index(nobodys_own)
            assert {count for count in ways.told[:place] if count in of_feed} == set(of_feed[:at])

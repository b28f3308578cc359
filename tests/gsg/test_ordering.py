"""What comes by several ways is put in the order of its publisher, without a network."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gsg.ordering
from gsg.ordering import NOBODY, ORDER_WAIT_S, Ordering

P, Q = b"publisher", b"another"


class Ways:
    """Rendezvous ``r1``, ``r2``, ... that feed a peer by one way each, until lost; and what the peer has been told."""

    def __init__(self, *names: str) -> None:
        self.there = {name.encode(): [name] for name in names}
        self.standby: dict[bytes, list[str]] = {}
        self.ordering: Ordering[int] = Ordering(
            lambda rendezvous: self.there.get(rendezvous, []), lambda rendezvous: self.standby.get(rendezvous, [])
        )
        self.told: list[int] = []
        self.now = 0.0

    def arrive(
        self,
        way: str,
        *numbers: int,
        after: dict[str, int] | None = None,
        publisher: bytes = P,
        facts: str = "",
        more: bool = False,
        called: int | None = None,
        events: int = 0,
    ) -> None:
        """Events, or what happens to some facts of the one feed that comes by this way; ``events``: the last named of an event."""
        named = [(name.encode(), number, events) for name, number in (after or {}).items()]
        concerns = (way, list(facts)) if facts else None
        passes = self.ordering.passes(way, publisher, numbers[-1], named, more=more)
        if passes and not (concerns is not None and self.ordering.conflicts(publisher, concerns)):
            self.told.extend(numbers if called is None else [called])
        else:
            things = [(number, number if called is None else called, 100) for number in numbers]
            self.told.extend(self.ordering.hold(self.now, way, publisher, named, things, concerns))

    def passed(self, way: str, number: int, publisher: bytes = P) -> None:
        self.told.extend(self.ordering.passed(way, publisher, number))

    def lose(self, way: str) -> None:
        self.there.pop(way.encode(), None)
        self.told.extend(self.ordering.lost(way))

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.told.extend(self.ordering.expire(self.now))

    def questions(self) -> list[tuple[object, bytes, int]]:
        asked, self.ordering.questions = self.ordering.questions, []
        return asked


@pytest.fixture
def ways() -> Ways:
    return Ways("r1", "r2", "r3")


def test_what_comes_by_one_way_is_told_at_once_and_nobody_is_asked(ways: Ways) -> None:
    ways.arrive("r1", 1, 2)
    ways.arrive("r1", 3)

    assert ways.told == [1, 2, 3]
    assert ways.questions() == []


def test_a_later_one_waits_for_an_earlier_one_of_another_way(ways: Ways) -> None:
    ways.arrive("r1", 2, after={"r2": 1})
    assert ways.told == []

    ways.arrive("r2", 1)

    assert ways.told == [1, 2]
    assert ways.questions() == [("r2", P, 1)]


def test_where_only_events_come_from_only_events_are_waited_for(ways: Ways) -> None:
    ways.standby[b"s"] = ["s"]
    ways.arrive("r1", 5, after={"s": 4}, events=0, facts="a")
    assert ways.told == [5]

    ways.arrive("r1", 9, after={"s": 8}, events=7, facts="a")
    assert ways.told == [5]
    assert ways.questions() == [("s", P, 7)]

    ways.arrive("s", 7)
    assert ways.told == [5, 7, 9]


def test_a_way_that_brought_nothing_says_that_the_number_has_passed(ways: Ways) -> None:
    ways.arrive("r1", 2, after={"r2": 1})

    ways.passed("r2", 1)
    ways.arrive("r1", 4, after={"r2": 1})

    assert ways.told == [2, 4]
    assert ways.questions() == [("r2", P, 1)]


def test_messages_of_one_batch_that_name_each_other_are_merged(ways: Ways) -> None:
    ways.arrive("r1", 11, 13, 15, after={"r2": 16})
    assert ways.told == []

    ways.arrive("r2", 12, 14, 16, after={"r1": 15})

    assert ways.told == [11, 12, 13, 14, 15, 16]


def test_rendezvous_that_do_not_feed_this_peer_are_not_waited_for(ways: Ways) -> None:
    ways.arrive("r1", 9, after={"r7": 8})

    assert ways.told == [9]
    assert ways.questions() == []


def test_publishers_do_not_wait_for_each_other(ways: Ways) -> None:
    ways.arrive("r1", 2, after={"r2": 1})
    ways.arrive("r1", 30, publisher=Q)

    assert ways.told == [30]


def test_what_comes_by_the_same_way_after_something_held_waits_too(ways: Ways) -> None:
    ways.arrive("r1", 2, after={"r2": 1})
    ways.arrive("r1", 3)

    ways.passed("r2", 1)

    assert ways.told == [2, 3]


def test_one_question_is_under_way_at_a_time_and_the_next_asks_for_all_that_is_wanted(ways: Ways) -> None:
    for number in range(2, 20, 2):
        ways.arrive("r1", number, after={"r2": number - 1})
    assert ways.questions() == [("r2", P, 1)]

    ways.passed("r2", 1)
    assert ways.questions() == [("r2", P, 17)]
    ways.passed("r2", 17)

    assert ways.told == list(range(2, 20, 2))
    assert ways.questions() == []


def test_a_way_that_is_there_by_the_time_of_an_answer_is_asked_too(ways: Ways) -> None:
    late = ways.there.pop(b"r3")
    ways.arrive("r1", 9, after={"r2": 7, "r3": 8})
    assert ways.questions() == [("r2", P, 7)]

    ways.there[b"r3"] = late
    ways.passed("r2", 7)
    assert (ways.told, ways.questions()) == ([], [("r3", P, 8)])

    ways.passed("r3", 8)
    assert ways.told == [9]


def test_an_answer_that_says_less_than_was_asked_ends_the_waiting(ways: Ways) -> None:
    ways.arrive("r1", 9, after={"r2": 8})

    ways.passed("r2", 3)

    assert ways.told == [9]


def test_a_lost_way_is_not_waited_for(ways: Ways) -> None:
    ways.arrive("r1", 4, after={"r2": 2, "r3": 3})

    ways.lose("r2")
    assert ways.told == []
    ways.lose("r3")

    assert ways.told == [4]
    assert ways.ordering.late == 0


def test_what_stays_away_is_waited_for_once_and_counted(ways: Ways) -> None:
    ways.arrive("r1", 2, 4, after={"r2": 3})
    ways.wait(ORDER_WAIT_S - 0.1)
    assert ways.told == []
    assert ways.ordering.due_s == ORDER_WAIT_S

    ways.wait(0.1)
    ways.arrive("r1", 6, after={"r2": 3})

    assert ways.told == [2, 4, 6]
    assert ways.ordering.late == 2
    assert ways.ordering.due_s is None


def test_what_comes_by_a_way_later_is_waited_for_again(ways: Ways) -> None:
    ways.arrive("r1", 2, after={"r2": 1})
    ways.wait(ORDER_WAIT_S)

    ways.arrive("r1", 4, after={"r2": 3})
    ways.arrive("r2", 1)
    ways.arrive("r2", 3)

    assert ways.told == [2, 1, 3, 4]


def test_what_is_given_up_takes_what_comes_before_it_along(ways: Ways) -> None:
    ways.arrive("r1", 10, after={"r2": 9})
    ways.wait(4)
    ways.arrive("r3", 5, after={"r2": 4})

    ways.wait(1)

    assert ways.told == [5, 10]


def test_what_has_waited_the_longest_goes_at_the_limit(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.ordering, "HELD", 2)

    ways.arrive("r1", 2, after={"r2": 1})
    ways.arrive("r1", 20, after={"r2": 19}, publisher=Q)
    assert ways.told == []
    ways.arrive("r1", 30, after={"r2": 29}, publisher=Q)

    assert ways.told == [2]
    assert ways.ordering.late == 1
    assert len(ways.ordering) == 2


def test_bytes_that_are_held_are_bounded(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.ordering, "HELD_BYTES", 250)

    ways.arrive("r1", 2, 4, 6, after={"r2": 5})

    assert ways.told == [2]
    assert len(ways.ordering) == 2


def test_the_publisher_unheard_of_for_the_longest_is_forgotten_unless_something_of_it_is_held(
    ways: Ways, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gsg.ordering, "PUBLISHERS", 2)
    ways.arrive("r1", 2, after={"r2": 1}, publisher=b"a")
    for publisher in (b"b", b"c", b"d"):
        ways.arrive("r2", 1, publisher=publisher)

    ways.passed("r2", 1, publisher=b"a")
    ways.passed("r2", 1, publisher=b"b")

    assert ways.told == [1, 1, 1, 2]


def test_more_of_a_message_is_waited_for(ways: Ways) -> None:
    ways.arrive("r2", 3, more=True)
    ways.arrive("r1", 4, after={"r2": 3})
    assert ways.told == [3]

    ways.arrive("r2", 3)

    assert ways.told == [3, 3, 4]


def test_what_is_sent_again_does_not_overtake_what_came_before_it_on_its_way(ways: Ways) -> None:
    ways.arrive("r1", 7, after={"r2": 6})

    ways.arrive("r1", 5)
    ways.arrive("r2", 6)

    assert ways.told == [6, 7, 5]


# --- facts --------------------------------------------------------------------------------------------------------------


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


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[list[tuple[str, list[int], dict[str, int]]]], list[str]]:
    """Batches of a publisher, each as messages ``(rendezvous, numbers, after)``; and the rendezvous that are used."""
    names = ["r1", "r2", "r3"][: draw(st.integers(1, 3))]
    last: dict[str, int] = {}
    number = 0
    batches = []
    for homes in draw(st.lists(st.lists(st.sampled_from(names), min_size=1, max_size=6), max_size=12)):
        parcels: dict[str, list[int]] = {}
        for home in homes:
            number += 1
            parcels.setdefault(home, []).append(number)
        last.update((home, numbers[-1]) for home, numbers in parcels.items())
        batches.append([(home, numbers, {one: last[one] for one in last if one != home}) for home, numbers in parcels.items()])
    return batches, names


def _deliver(
    data: st.DataObject, history: tuple[list[list[tuple[str, list[int], dict[str, int]]]], list[str]], lossy: bool
) -> tuple[Ways, list[int]]:
    """Let messages come in any order across ways, of which some bring nothing of what they have; questions are answered."""
    batches, names = history
    ways = Ways(*names)
    streams = {name: deque(message for batch in batches for message in batch if message[0] == name) for name in names}
    silent = set(data.draw(st.sets(st.sampled_from(names)))) if lossy else set()
    forwards = {name: data.draw(st.integers(0, 3)) for name in names}
    processed = dict.fromkeys(names, 0)
    waiting: list[tuple[str, int]] = []
    expected: list[int] = []
    while any(streams.values()):
        name = data.draw(st.sampled_from([name for name in names if streams[name]]))
        _, numbers, after = streams[name].popleft()
        wanted = [number for number in numbers if number % 4 >= forwards[name]]
        processed[name] = numbers[-1]
        if name in silent and data.draw(st.booleans()):
            ways.lose(name)
            streams[name].clear()
            continue
        if wanted:
            expected.extend(wanted)
            ways.arrive(name, *wanted, after=after)
        waiting.extend((str(way), number) for way, _, number in ways.questions())
        for way, number in list(waiting):
            if processed[way] >= number and data.draw(st.booleans()):
                waiting.remove((way, number))
                ways.passed(way, processed[way])
                waiting.extend((str(other), asked) for other, _, asked in ways.questions())
    while waiting:
        way, number = waiting.pop()
        if way.encode() in ways.there and processed[way] >= number:
            ways.passed(way, processed[way])
            waiting.extend((str(other), asked) for other, _, asked in ways.questions())
    return ways, expected


@given(st.data(), histories())
def test_whatever_comes_first_all_is_told_in_order_and_nothing_is_left(
    data: st.DataObject, history: tuple[list[list[tuple[str, list[int], dict[str, int]]]], list[str]]
) -> None:
    ways, expected = _deliver(data, history, lossy=False)

    assert ways.told == sorted(expected)
    assert len(ways.ordering) == 0
    assert ways.ordering.late == 0


@given(st.data(), histories())
def test_nothing_is_lost_or_left_when_ways_break(
    data: st.DataObject, history: tuple[list[list[tuple[str, list[int], dict[str, int]]]], list[str]]
) -> None:
    ways, expected = _deliver(data, history, lossy=True)
    ways.wait(ORDER_WAIT_S)

    assert sorted(ways.told) == sorted(expected)
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
        patch.setattr(gsg.ordering, "HELD", limit)
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


def test_what_is_due_is_told_at_that_very_moment_however_the_clock_rounds() -> None:
    ways = Ways("r1", "r2")
    ways.now = next(number / 1000 for number in range(1, 10_000) if (number / 1000 + ORDER_WAIT_S) - number / 1000 < ORDER_WAIT_S)
    ways.arrive("r1", 2, after={"r2": 1})

    due_s = ways.ordering.due_s
    assert due_s is not None
    ways.told.extend(ways.ordering.expire(due_s))

    assert ways.told == [2]

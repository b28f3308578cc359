"""What comes by several ways is put in the order of its publisher, without a network."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ways import P, Q, Ways

import gsg.feeds.publisher_order
from gsg.feeds.publisher_order import ORDER_WAIT_S


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


def test_an_answer_to_nothing_is_nothing(ways: Ways) -> None:
    ways.passed("r2", 1_000)
    ways.arrive("r1", 2, after={"r2": 1})

    assert ways.told == []
    ways.passed("r3", 1)
    assert ways.told == []
    ways.passed("r2", 1)
    assert ways.told == [2]


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
    monkeypatch.setattr(gsg.feeds.publisher_order, "HELD", 2)

    ways.arrive("r1", 2, after={"r2": 1})
    ways.arrive("r1", 20, after={"r2": 19}, publisher=Q)
    assert ways.told == []
    ways.arrive("r1", 30, after={"r2": 29}, publisher=Q)

    assert ways.told == [2]
    assert ways.ordering.late == 1
    assert len(ways.ordering) == 2


def test_bytes_that_are_held_are_bounded(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.feeds.publisher_order, "HELD_BYTES", 250)

    ways.arrive("r1", 2, 4, 6, after={"r2": 5})

    assert ways.told == [2]
    assert len(ways.ordering) == 2


def test_the_publisher_unheard_of_for_the_longest_is_forgotten_unless_something_of_it_is_held(
    ways: Ways, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gsg.feeds.publisher_order, "PUBLISHERS", 2)
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


def test_what_is_due_is_told_at_that_very_moment_however_the_clock_rounds() -> None:
    ways = Ways("r1", "r2")
    ways.now = next(number / 1000 for number in range(1, 10_000) if (number / 1000 + ORDER_WAIT_S) - number / 1000 < ORDER_WAIT_S)
    ways.arrive("r1", 2, after={"r2": 1})

    due_s = ways.ordering.due_s
    assert due_s is not None
    ways.told.extend(ways.ordering.expire(due_s))

    assert ways.told == [2]

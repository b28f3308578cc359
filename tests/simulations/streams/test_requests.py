"""Rows as requests: the last word of each fact, parts of events, and keys that name what is in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gsg.tuples.event_key import MAX_KEY_CHARACTERS
from gsg.tuples.terms import Tuple
from simulations.streams.sink.options import MAX_PRODUCER
from simulations.streams.sink.requests import PART_BYTES, PART_TUPLES, EventPart, EventParts, TaskPlace, last_words, parts_of

PLACE = TaskPlace("lake", "7", 3)
rows = st.lists(st.tuples(st.sampled_from([1, -1]), st.tuples(st.integers(0, 5))))


def events_in_parts(events: list[Tuple], at_once: int = 10_000) -> list[EventPart]:
    parts = EventParts()
    made = [part for begin in range(0, len(events), at_once) for part in parts.add_events(events[begin : begin + at_once])]
    return [*made, *parts.flush()]


@given(st.sets(st.tuples(st.integers(0, 5))), rows)
def test_last_words_leave_what_all_rows_leave_one_after_the_other(before: set[Tuple], said: list[tuple[int, Tuple]]) -> None:
    one_by_one = set(before)
    for sign, items in said:
        (one_by_one.add if sign > 0 else one_by_one.discard)(items)

    come, gone = last_words([items for _, items in said], [sign for sign, _ in said])

    assert (before | set(come)) - set(gone) == one_by_one
    assert (before - set(gone)) | set(come) == one_by_one
    assert len(come) + len(gone) == len({items for _, items in said})


def test_without_signs_all_facts_come_and_each_once() -> None:
    assert last_words([("b",), ("a",), ("b",)], None) == ([("b",), ("a",)], [])


def test_requests_are_cut_by_number_and_by_bytes() -> None:
    assert [len(part) for part in parts_of([(number,) for number in range(2 * PART_TUPLES + 1)])] == [PART_TUPLES, PART_TUPLES, 1]
    assert [len(part) for part in parts_of([("x" * (PART_BYTES // 4),)] * 9)] == [4, 4, 1]
    assert list(parts_of([])) == []


def test_events_are_cut_as_facts_are_and_each_part_says_with_which_row_it_begins() -> None:
    parts = events_in_parts([(number,) for number in range(2 * PART_TUPLES + 1)])

    assert [(part.first, len(part.events)) for part in parts] == [
        (0, PART_TUPLES),
        (PART_TUPLES, PART_TUPLES),
        (2 * PART_TUPLES, 1),
    ]
    assert [len(part.events) for part in events_in_parts([("x" * (PART_BYTES // 4),)] * 9)] == [4, 4, 1]


@given(st.lists(st.sampled_from([10, 1_000, PART_BYTES // 3]), max_size=30), st.integers(1, 12))
def test_where_parts_begin_does_not_depend_on_how_many_rows_come_at_once(sizes: list[int], at_once: int) -> None:
    events: list[Tuple] = [("x" * size,) for size in sizes]

    parts = events_in_parts(events, at_once)

    assert parts == events_in_parts(events)
    assert [items for part in parts for items in part.events] == events


def test_the_same_events_at_the_same_place_have_the_same_key_and_others_do_not() -> None:
    part = EventPart(0, [("a",), ("b",)])
    others = [
        EventPart(0, [("b",), ("a",)]).key(PLACE),
        EventPart(2, part.events).key(PLACE),
        part.key(PLACE._replace(batch="8")),
        part.key(PLACE._replace(partition=4)),
        part.key(PLACE._replace(producer="sea")),
    ]

    assert part.key(PLACE) == EventPart(0, [("a",), ("b",)]).key(PLACE)
    assert len({part.key(PLACE), *others}) == 6


def test_no_key_is_longer_than_a_peer_takes() -> None:
    longest = EventPart(2**40, [("a",)]).key(TaskPlace("p" * MAX_PRODUCER, str(2**63), 2**31))

    assert len(longest) <= MAX_KEY_CHARACTERS

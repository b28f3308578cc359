"""Indexes of events find what comparing each value finds, as events come and the oldest go."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg.channels.events import Event
from gsg.channels.temporal.index import Index, OrderedIndex, Record, equality_key, is_within

VALUES = st.sampled_from([0, 1, 2, 1.0, 1.5, float("nan"), "1", "2", "10", "a", "b", "", True, None, [1]])
BOUNDS = st.lists(st.tuples(st.sampled_from(["<", "<=", ">", ">="]), VALUES), min_size=1, max_size=3)


def _record(arrival: int, *values: Any) -> Record:
    return Record(arrival, 0.0, Event({}), values, tuple(map(equality_key, values)))


def _arrivals(records: list[Record]) -> list[int]:
    return [record.arrival for record in records]


@given(values=st.lists(VALUES, max_size=12), gone=st.integers(0, 12), bounds=BOUNDS)
def test_a_range_is_what_compares_so(values: list[Any], gone: int, bounds: list[tuple[str, Any]]) -> None:
    records = [_record(arrival, value) for arrival, value in enumerate(values)]
    index = OrderedIndex((), 0)
    for record in records:
        index.insert(record)
    for record in records[:gone]:
        index.remove(record)

    found, begin, end = index.buckets[()].find(bounds) if index.buckets else ([], 0, 0)

    expected = [record for record in records[gone:] if is_within(record.values[0], bounds)]
    assert sorted(_arrivals([record for record in found[begin:end] if is_within(record.values[0], bounds)])) == _arrivals(expected)
    if len({bound.__class__ is str for _, bound in bounds}) == 1:
        assert end - begin == len(expected)


@pytest.mark.parametrize(
    ("columns", "keys"),
    [((), {()}), ((0,), {"ann", "bob"}), ((0, 1), {("ann", 1), ("bob", 1), ("ann", 2)})],
    ids=["none", "one", "two"],
)
def test_events_are_found_by_the_values_of_columns(columns: tuple[int, ...], keys: set[object]) -> None:
    index = Index(columns)
    records = [_record(arrival, *values) for arrival, values in enumerate([("ann", 1), ("bob", 1), ("ann", 2), ("ann", 1)])]
    for record in records:
        index.insert(record)
    assert index.buckets.keys() == keys
    assert sorted(_arrivals([record for bucket in index.buckets.values() for record in bucket])) == [0, 1, 2, 3]

    for record in records:
        index.remove(record)

    assert index.buckets == {}


def test_equal_values_are_in_the_order_of_arrival() -> None:
    index = OrderedIndex((), 0)
    records = [_record(arrival, value) for arrival, value in enumerate([2, 1, 2.0, 1.0])]
    for record in records:
        index.insert(record)

    assert _arrivals(index.buckets[()].records) == [1, 3, 0, 2]


def test_what_is_in_no_order_is_not_found() -> None:
    index = OrderedIndex((), 0)
    record = _record(1, None)

    index.insert(record)
    index.remove(record)

    assert index.buckets == {}

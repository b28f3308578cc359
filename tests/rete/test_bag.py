"""Bags of tuples: whatever they are kept in, they count."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rete.bag import FEW, Bag, counted, items_of

items = st.integers(0, FEW + 2).map(lambda number: (number,))
ONE, TWO = ("one",), ("two",)


@given(st.lists(st.tuples(items, st.sampled_from((1, 1, 1, -1, 2)))))
def test_a_bag_counts_what_comes_and_goes(changes: list[tuple[tuple[object, ...], int]]) -> None:
    bag: Bag | None = None
    expected: Counter[tuple[object, ...]] = Counter()

    for item, weight in changes:
        bag = counted(bag, item, weight)
        expected[item] += weight

    assert dict(items_of(bag)) == {item: count for item, count in expected.items() if count}


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ([], None),
        ([(ONE, 1)], ONE),
        ([(ONE, 2)], {ONE: 2}),
        ([(ONE, 1), (ONE, 1)], {ONE: 2}),
        ([(ONE, 1), (TWO, 1)], [ONE, TWO]),
        ([(ONE, 1), (TWO, -1)], {ONE: 1, TWO: -1}),
        ([(ONE, 1), (TWO, 1), (ONE, -1)], TWO),
        ([(ONE, 1), (TWO, 1), (ONE, 1)], {ONE: 2, TWO: 1}),
        ([(ONE, 1), (ONE, -1)], None),
        ([(ONE, 2), (ONE, -2)], None),
    ],
)
def test_small_bags_are_kept_small(changes: list[tuple[tuple[object, ...], int]], kept: Bag | None) -> None:
    bag: Bag | None = None

    for item, weight in changes:
        bag = counted(bag, item, weight)

    assert bag == kept


def test_many_items_are_found_by_hash() -> None:
    bag: Bag | None = None

    for number in range(FEW + 1):
        bag = counted(bag, (number,), 1)

    assert isinstance(bag, dict)

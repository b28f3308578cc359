"""One alpha memory indexed for joins."""

from __future__ import annotations

from typing import Any

import pytest

from rete.bag import Bag
from rete.index import MAX_ALONE, Index, enter, key_getter, tuple_getter

FACT = ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("positions", "key"),
    [((), ()), ((2,), "c"), ((0, 2), ("a", "c")), ((3, 1), ("d", "b"))],
    ids=["none", "one", "two", "in order given"],
)
def test_a_join_key_is_bare_for_one_position(positions: tuple[int, ...], key: object) -> None:
    assert key_getter(positions)(FACT) == key


@pytest.mark.parametrize(
    ("positions", "values"),
    [((), ()), ((2,), ("c",)), ((1, 2, 3), ("b", "c", "d")), ((0, 2), ("a", "c")), ((2, 1), ("c", "b"))],
    ids=["none", "one", "a run", "with a hole", "backwards"],
)
def test_an_extension_is_always_a_tuple(positions: tuple[int, ...], values: tuple[str, ...]) -> None:
    assert tuple_getter(positions)(FACT) == values


def test_facts_are_found_by_their_key() -> None:
    index = Index((0,), (1,))
    for fact in (("a", "b"), ("a", "c"), ("d", "e")):
        index.enter_fact(fact)

    assert index.rows == {"a": [("a", "b"), ("a", "c")], "d": ("d", "e")}


def test_a_key_goes_with_its_last_item() -> None:
    bags: dict[str, Bag] = {}
    enter(bags, "a", ("b",), 1)
    enter(bags, "a", ("c",), 1)

    enter(bags, "a", ("b",), -1)
    enter(bags, "a", ("c",), -1)

    assert bags == {}


def joins(count: int) -> list[Any]:  # Any: an index asks nothing of its joins
    return [f"join {number}" for number in range(count)]


def test_the_first_join_of_a_level_has_buckets_of_its_own_and_others_share_some() -> None:
    index = Index((0,), (1,))
    one, other, third, deep = joins(4)

    first, is_alone = index.wait_at_level(1, one, for_many=False)
    second, third_too = index.wait_at_level(1, other, for_many=False), index.wait_at_level(1, third, for_many=False)
    deeper, _ = index.wait_at_level(2, deep, for_many=False)

    assert is_alone
    assert second == third_too == ({}, False)
    assert second[0] is third_too[0]
    assert len({id(first), id(second[0]), id(deeper)}) == 3
    assert [(level, join) for level, _, join in index.waiting] == [(1, one), (1, None), (2, deep)]
    assert index.joins == 4


def test_shared_buckets_stay_until_the_last_join_leaves_them() -> None:
    index = Index((0,), (1,))
    for join in joins(3):
        index.wait_at_level(1, join, for_many=False)

    assert not index.is_last(1)
    index.leave_level(1)
    assert index.is_last(1)
    index.leave_level(1)
    assert [join for _, _, join in index.waiting] == joins(1)


def test_a_join_takes_its_own_buckets_away_and_the_next_one_has_some() -> None:
    index = Index((0,), (1,))
    one, other, third = joins(3)
    own, _ = index.wait_at_level(1, one, for_many=False)
    index.wait_at_level(1, other, for_many=False)

    index.leave_alone(own)

    assert index.wait_at_level(1, third, for_many=True) == ({}, True)
    assert [join for _, _, join in index.waiting] == [None, third]


def test_a_join_may_insist_on_buckets_of_its_own() -> None:
    index = Index((0,), (1,))
    one, other = joins(2)

    assert index.wait_alone(1, one) is not index.wait_alone(1, other)
    assert index.joins == 2


def test_some_joins_for_many_queries_have_buckets_of_their_own_too() -> None:
    index = Index((0,), (1,))

    alone = [index.wait_at_level(1, join, for_many=True)[1] for join in joins(MAX_ALONE + 2)]

    assert alone == [True] * MAX_ALONE + [False, False]
    assert len(index.waiting) == MAX_ALONE + 1

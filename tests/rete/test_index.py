"""One alpha memory indexed for joins."""

from __future__ import annotations

import pytest

from rete.bag import Bag
from rete.index import Index, enter, key_getter, tuple_getter

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


def test_joins_of_one_level_share_buckets_until_the_last_leaves() -> None:
    index = Index((0,), (1,))
    first, second, deeper = index.join_level(1), index.join_level(1), index.join_level(2)

    assert second is first
    assert deeper is not first
    index.leave_level(1)
    assert [level for level, _ in index.waiting] == [1, 2]
    index.leave_level(1)
    assert [level for level, _ in index.waiting] == [2]


def test_a_join_that_waits_alone_shares_no_buckets_and_takes_its_own_away() -> None:
    index = Index((0,), (1,))
    shared, alone, other = index.join_level(1), index.join_alone(1), index.join_alone(1)

    assert len({id(shared), id(alone), id(other), id(index.join_level(1))}) == 3
    assert index.joins == 4
    index.leave_alone(alone)
    assert [buckets is other or buckets is shared for _, buckets in index.waiting] == [True, True]
    index.leave_level(1)
    index.leave_level(1)
    assert [buckets is other for _, buckets in index.waiting] == [True]

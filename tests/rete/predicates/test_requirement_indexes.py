"""Things that wait for values by what they require are found by all values that they may pass, and by few others."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from rete.predicates import Begins, Between, Contains, Ends, IntervalTree, OneOf, Requirement, TestIndex, ValueIndex
from rete.predicates.test_index import FEW, MAX_PLACES
from rete.predicates.value_index import MAX_VIEWS


def number(value: object) -> object:
    return value if isinstance(value, int) else None


def text(value: object) -> object:
    return value if isinstance(value, str) else None


@dataclass(frozen=True)
class Computed:
    """A view that computes something."""

    number: int
    is_computed = True

    def __call__(self, value: object) -> object:
        return value


def lets_through(requirement: Requirement, value: Any) -> bool:  # Any: numbers and texts
    for part in requirement:
        seen: Any = part.view(value)  # Any: as above
        if seen is None:
            continue
        match part:
            case OneOf(_, keys):
                return seen in keys
            case Between(_, low, high):
                return (low is None or low <= seen) and (high is None or seen <= high)
            case Begins(_, wanted):
                return bool(seen.startswith(wanted))
            case Ends(_, wanted):
                return bool(seen.endswith(wanted))
            case Contains(_, wanted):
                return wanted in seen
    return False


@pytest.mark.parametrize("seed", range(5))
def test_an_interval_tree_finds_the_intervals_around_a_value(seed: int) -> None:
    rng, tree = Random(seed), IntervalTree[int]()
    live: dict[int, tuple[int | None, int | None]] = {}
    for thing in range(500):
        low, high = sorted((rng.randrange(60), rng.randrange(60)))
        live[thing] = rng.choice([low, low, None]), rng.choice([high, high, None])
        tree.insert(*live[thing], thing)
        if rng.random() < 0.4:
            gone = rng.choice(list(live))
            tree.remove(*live.pop(gone), gone)
        if thing % 5 == 0:
            value = rng.randrange(-5, 65)
            found: list[int] = []
            tree.add_all_at(value, found)

            assert sorted(found) == [
                each for each, (low, high) in live.items() if (low is None or low <= value) and (high is None or value <= high)
            ]
    for thing, (low, high) in live.items():
        tree.remove(low, high, thing)

    assert not tree
    with pytest.raises(KeyError):
        tree.remove(1, 2, 3)


def test_a_value_outside_of_all_intervals_looks_at_few_of_them() -> None:
    looked = 0

    class Counting(int):
        def __gt__(self, other: object) -> bool:
            nonlocal looked
            looked += 1
            return int.__gt__(self, other)  # type: ignore[operator]  # numbers

        def __lt__(self, other: object) -> bool:
            nonlocal looked
            looked += 1
            return int.__lt__(self, other)  # type: ignore[operator]  # as above

    tree = IntervalTree[int]()
    for thing in range(10_000):
        tree.insert(Counting(2 * thing), Counting(2 * thing), thing)
    found: list[int] = []
    looked = 0

    tree.add_all_at(9_999, found)

    assert (found, looked < 200) == ([], True)


def random_requirement(rng: Random) -> Requirement:
    texts = "".join(rng.choices("ab", k=rng.randrange(1, 5)))
    low, high = sorted((rng.randrange(40), rng.randrange(40)))
    choices: list[Requirement] = [
        (OneOf(number, tuple({rng.randrange(40) for _ in range(rng.randrange(1, 4))})), OneOf(text, (texts,))),
        (Between(number, low, high),),
        (Between(number, low, None),),
        (Between(number, None, high), Contains(text, texts)),
        (Begins(text, texts),),
        (Ends(text, texts),),
        (Contains(text, texts),),
        (Between(text, "a", texts),),
    ]
    return rng.choice(choices)


@pytest.mark.parametrize("seed", range(5))
def test_a_value_finds_what_lets_it_through_and_each_once(seed: int) -> None:
    rng, index = Random(seed), ValueIndex[int]()
    live: dict[int, Requirement] = {}
    for thing in range(400):
        live[thing] = random_requirement(rng)
        index.insert(live[thing], thing)
        if rng.random() < 0.4:
            gone = rng.choice(list(live))
            index.remove(live.pop(gone), gone)
        value: Any = rng.choice([rng.randrange(-3, 43), "".join(rng.choices("ab", k=rng.randrange(8))), None])  # Any: as above

        found = index.candidates(value)

        assert sorted(found) == [each for each, requirement in live.items() if lets_through(requirement, value)]
    for thing, requirement in live.items():
        index.remove(requirement, thing)

    assert not index


def test_views_are_bounded() -> None:
    index = ValueIndex[int]()
    for thing in range(MAX_VIEWS):
        index.insert((OneOf(Computed(thing), (thing,)),), thing)

    assert not index.has_room((OneOf(Computed(-1), (1,)),))
    assert index.has_room((OneOf(Computed(1), (1,)),))
    assert index.has_room((OneOf(number, (1,)),)), "it computes nothing"


@pytest.mark.parametrize("seed", range(5))
def test_a_tuple_finds_all_things_whose_tests_it_may_pass(seed: int) -> None:
    rng = Random(seed)
    required: dict[int, list[tuple[int, Requirement]]] = {}
    index = TestIndex[int, int](lambda thing: required[thing])
    for thing in range(200):
        required[thing] = [(rng.randrange(2), random_requirement(rng)) for _ in range(rng.randrange(4))]
        index.insert(thing)
        if rng.random() < 0.3:
            gone = rng.choice(list(required))
            index.remove(gone)
            del required[gone]
        items = rng.randrange(40), "".join(rng.choices("ab", k=rng.randrange(6)))
        found = [*index.tried]
        for place, waiting in index.by_place.items():
            found += waiting.candidates(items[place])

        passed = [each for each, some in required.items() if all(lets_through(wanted, items[at]) for at, wanted in some)]

        assert set(passed) <= set(found)
        assert len(found) == len(set(found))
        assert len(index) == len(required)
    for thing in required:
        index.remove(thing)
    assert (index.tried, index.by_place) == ({}, {})


def test_few_things_are_tried_and_of_many_those_that_require_nothing() -> None:
    required: dict[int, list[tuple[int, Requirement]]] = {0: []}
    index = TestIndex[int, int](lambda thing: required[thing])
    for thing in range(FEW + 5):
        required.setdefault(thing, [(0, (OneOf(number, (thing,)),))])
        index.insert(thing)
        if thing < FEW:
            assert len(index.tried) == thing + 1

    assert list(index.tried) == [0]


def test_a_thing_waits_for_what_selects_most() -> None:
    wanted: list[tuple[int, Requirement]] = [
        (0, (Between(number, 1, None),)),
        (1, (Between(number, 1, 5),)),
        (2, (OneOf(number, (7,)),)),
    ]
    required = dict.fromkeys(range(40), wanted)
    index = TestIndex[int, int](lambda thing: required[thing])

    for thing in range(40):
        index.insert(thing)

    # When many wait for one key, the others wait for something else.
    assert {place: len(list(waiting.things())) for place, waiting in index.by_place.items()} == {2: 9, 1: 31}


def test_bounds_on_one_value_are_taken_together() -> None:
    index = TestIndex[int, int](
        lambda thing: [(0, (Between(number, 10 * thing, None),)), (0, (Between(number, None, 10 * thing),))]
    )
    for thing in range(FEW + 1):
        index.insert(thing)

    assert index.by_place[0].candidates(20) == [2]
    assert index.by_place[0].candidates(25) == []


def test_places_are_bounded() -> None:
    index = TestIndex[int, int](lambda thing: [(thing, (OneOf(number, (1,)),))])
    for thing in range(2 * MAX_PLACES):
        index.insert(thing)

    assert (len(index.by_place), len(index.tried)) == (MAX_PLACES, MAX_PLACES)


def test_what_has_no_room_is_tried_until_there_is() -> None:
    required = {thing: [(0, (OneOf(Computed(thing), (1,)),))] for thing in range(MAX_VIEWS + 20)}
    index = TestIndex[int, int](lambda thing: required[thing])  # type: ignore[arg-type]  # lists are invariant
    for thing in required:
        index.insert(thing)
    assert sorted(index.tried) == list(range(MAX_VIEWS, MAX_VIEWS + 20))

    for thing in range(30):
        index.remove(thing)

    assert index.tried == {}
    assert sorted(index.by_place[0].things()) == list(range(30, MAX_VIEWS + 20))

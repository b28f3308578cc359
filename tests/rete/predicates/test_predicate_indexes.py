"""Indexes of single tests answer what trying each test would."""

from __future__ import annotations

import operator
from random import Random

import pytest

from rete.errors import ReteError
from rete.predicates import Equalities, Intervals, Prefixes, Substrings
from rete.predicates.intervals import MAX_SEGMENTS

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@pytest.mark.parametrize("bounds", [20, 200], ids=["segments are remembered", "too many segments"])
@pytest.mark.parametrize("seed", range(5))
def test_intervals_pass_what_the_comparison_passes(seed: int, bounds: int) -> None:
    rng, index = Random(seed), Intervals()
    live: dict[int, tuple[str, int]] = {}
    for number in range(600):
        live[number] = test = rng.choice(list(COMPARE)), rng.randrange(bounds)
        index.insert(*test, 1 << number)
        if rng.random() < 0.3:
            gone = rng.choice(list(live))
            index.remove(*live.pop(gone), 1 << gone)
        if number % 20 == 0:
            for value in (rng.randrange(-2, bounds + 2), rng.random() * bounds, rng.randrange(bounds)):
                passed = index.passed(value)

                assert passed == sum(1 << each for each, (name, bound) in live.items() if COMPARE[name](value, bound))
    assert len(index) == len(set(live.values()))


def test_segments_that_are_remembered_are_bounded() -> None:
    index = Intervals()
    for bound in range(MAX_SEGMENTS):
        index.insert("<", bound, 1 << bound)
        for value in range(MAX_SEGMENTS):
            index.passed(value)
            assert len(index._segments) <= MAX_SEGMENTS

    assert index._segments == {}


def test_an_interval_by_another_operator_is_refused() -> None:
    with pytest.raises(ReteError, match="expected <, <=, > or >="):
        Intervals().insert("=", 1, 1)


@pytest.mark.parametrize("seed", range(5))
def test_prefixes_and_substrings_pass_what_the_texts_say(seed: int) -> None:
    rng, prefixes, substrings = Random(seed), Prefixes(), Substrings()
    live: dict[int, str] = {}
    for number in range(300):
        live[number] = part = "".join(rng.choices("abc", k=rng.randrange(6)))
        prefixes.insert(part, 1 << number)
        substrings.insert(part, 1 << number)
        if rng.random() < 0.3:
            gone = rng.choice(list(live))
            part = live.pop(gone)
            prefixes.remove(part, 1 << gone)
            substrings.remove(part, 1 << gone)
        text = "".join(rng.choices("abc", k=rng.choice([0, 3, 30])))

        found = prefixes.passed(text), substrings.passed(text)

        assert found[0] == sum(1 << each for each, part in live.items() if text.startswith(part))
        assert found[1] == sum(1 << each for each, part in live.items() if part in text)


def test_a_part_waits_under_what_few_parts_have() -> None:
    substrings = Substrings()
    for number, part in enumerate(["a.exe", "b.exe", "c.exe", "run.exe"]):
        substrings.insert(part, 1 << number)

    assert not substrings._under.keys() & {tuple("exe")}
    assert [*substrings._under.values()] == [{part: None} for part in ("a.exe", "b.exe", "c.exe", "run.exe")]
    for number, part in enumerate(["a.exe", "b.exe", "c.exe", "run.exe"]):
        substrings.remove(part, 1 << number)
    assert (substrings._under, substrings._parts_with) == ({}, {})


@pytest.mark.parametrize("length", [0, 2, 3, 50, 400])
def test_few_parts_and_long_texts_are_searched_alike(length: int) -> None:
    substrings, text = Substrings(), ("abcd" * 100)[:length]
    parts = ["", "a", "ab", "abc", "bcda", "cdab" * 3, "ac", "abcab"]
    for number, part in enumerate(parts):
        substrings.insert(part, 1 << number)

    assert sorted(substrings.texts_of(text)) == sorted(part for part in parts if part in text)


def test_equalities_forget_what_nobody_asks_for() -> None:
    index = Equalities()
    index.insert("a", 1)
    index.insert("a", 2)
    index.remove("a", 1)

    assert (index.passed("a"), index.passed("b"), len(index)) == (2, 0, 1)
    index.remove("a", 2)
    assert len(index) == 0

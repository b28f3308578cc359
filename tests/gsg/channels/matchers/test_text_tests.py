"""Things by tests on one text answer what trying each test would."""

from __future__ import annotations

from random import Random

import pytest

from gsg.channels.languages.relations import Relations
from gsg.channels.matchers.memory import MAX_CHARACTERS, Memory
from gsg.channels.matchers.text_tests import TEXT_TESTS, TextTests, is_rare, looked_up

RELATIONS = Relations()


@pytest.mark.parametrize("seed", range(5))
def test_things_are_found_by_the_texts_that_pass_their_tests(seed: int) -> None:
    rng, tests = Random(seed), TextTests[tuple[str, str]](Memory(10_000))
    live: set[tuple[str, str]] = set()
    for _ in range(400):
        test = rng.choice(sorted(TEXT_TESTS)), "".join(rng.choices("abcA", k=rng.randrange(6)))
        key = test[0], looked_up(*test)
        if key not in live and is_rare(*key):
            live.add(key)
            tests.insert(*key, key)
        if live and rng.random() < 0.3:
            gone = rng.choice(sorted(live))
            live.remove(gone)
            tests.remove(*gone)
        text = "".join(rng.choices("abcAB", k=rng.choice([0, 3, 30])))

        found = tests.passed(text)

        assert sorted(found) == sorted(each for each in live if RELATIONS.make(each[0], [each[1]])(text))
        assert all(tests.get(*each) == each for each in live)
    assert tests.get("prefix", "nowhere") is None


def test_what_is_remembered_is_bounded_over_all_tables_together() -> None:
    memory = Memory(10_000)
    tables = [TextTests[int](memory), TextTests[int](memory)]
    for tests in tables:
        tests.insert("contains", "999", 1)
    for number in range(1_000):
        for tests in tables:
            assert tests.passed(f"{number}") == [1] * ("999" in f"{number}")
            assert memory.size_bytes <= memory.limit_bytes
            assert sum(len(each._remembered) for each in tables) < 60


def test_long_texts_are_not_remembered() -> None:
    tests = TextTests[int](Memory(10_000))
    tests.insert("contains", "999", 1)

    assert tests.passed("9" * (MAX_CHARACTERS + 1)) == tests.passed("9" * MAX_CHARACTERS) == [1]

    assert set(tests._remembered) == {"9" * MAX_CHARACTERS}


def test_what_a_table_forgets_is_given_back() -> None:
    memory = Memory(10_000)
    tests = TextTests[int](memory)
    tests.insert("suffix", "x", 1)
    assert (tests.passed("ax"), memory.size_bytes > 0) == ([1], True)

    tests.insert("suffix", "y", 2)

    assert (memory.size_bytes, tests.passed("ay")) == (0, [2])


def test_what_has_no_test_is_false() -> None:
    tests = TextTests[int](Memory(10_000))
    tests.insert("suffix", "x", 1)
    assert tests

    tests.remove("suffix", "x")

    assert not tests
    assert tests.get("suffix", "x") is None

"""Conditions as sets of bits: what is remembered is bounded, and changes are made up for."""

from __future__ import annotations

from random import Random

import pytest
from random_conditions import condition, event

from gsg.channels.languages.predicate import parse
from gsg.channels.languages.relations import Relations
from gsg.channels.matchers import bitmap
from gsg.channels.matchers.bitmap import Bitmap, is_indexed
from gsg.channels.matchers.field_tests import MAX_CHANGES
from gsg.channels.matchers.memory import MAX_CHARACTERS


def test_long_texts_and_nan_are_not_remembered() -> None:
    matcher = Bitmap(Relations())
    matcher.insert(1, parse("(prefix a 'x)"))
    matcher.insert(2, parse("(> a 3)"))
    for value in ("x" * (MAX_CHARACTERS + 1), float("nan"), float("nan"), [1], {"b": 1}):
        matcher.match({"a": value}, {})
    assert matcher._fields["a"].remembered == {}

    matcher.match({"a": "x" * MAX_CHARACTERS}, {})

    assert len(matcher._fields["a"].remembered) == 1


def test_what_is_remembered_is_bounded_by_bytes_with_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bitmap, "REMEMBERED_BYTES", 20_000)
    matcher = Bitmap(Relations())
    matcher.insert(1, parse("(= a 1)"))
    matcher.insert(2, parse("(prefix b 'x)"))
    most = 0
    for number in range(2_000):
        assert matcher.match({"a": number, "b": "x" * (number % MAX_CHARACTERS)}, {}) == [1] * (number == 1) + [2] * (
            number % MAX_CHARACTERS > 0
        )
        most = max(most, sum(len(each.remembered) for each in matcher._fields.values()))
        assert matcher._memory.size_bytes <= 20_000

    assert 20 < most < 20_000 / 150


def test_what_is_remembered_of_a_field_that_nobody_tests_any_more_is_given_back() -> None:
    matcher = Bitmap(Relations())
    matcher.insert(1, parse("(= a 1)"))
    matcher.match({"a": 1}, {})
    assert matcher._memory.size_bytes > 0

    matcher.remove(1)

    assert (matcher._memory.size_bytes, matcher._fields) == (0, {})


def test_changes_are_made_up_for_in_what_is_remembered() -> None:
    matcher = Bitmap(Relations())
    matcher.insert(0, parse("(and (> a 3) (exists b))"))
    matcher.match({"a": 5, "b": 1}, {})
    remembered = matcher._fields["a"].remembered
    matcher.insert(1, parse("(= a 5)"))
    matcher.insert(2, parse("(< a 5)"))
    matcher.remove(0)
    matcher.insert(3, parse("(> b 0)"))

    assert sorted(matcher.match({"a": 5, "b": 1}, {})) == [1, 3]
    assert matcher._fields["a"].remembered is remembered
    assert list(remembered) == [5]


def test_more_changes_than_can_be_made_up_for_are_right_as_well() -> None:
    matcher = Bitmap(Relations())
    for number in range(3 * MAX_CHANGES):
        matcher.insert(number, parse(f"(and (= a {number % 3}) (exists b{number % 2}))"))
        if number % 5 == 0:
            matcher.match({"a": number % 3, "b1": 1}, {})

    assert sorted(matcher.match({"a": 1, "b1": 1}, {})) == [each for each in range(3 * MAX_CHANGES) if each % 3 == 1 and each % 2]


def test_the_bit_of_a_field_that_nobody_requires_any_more_stands_for_another() -> None:
    matcher = Bitmap(Relations())
    for number in range(1_000):
        matcher.insert(number, parse(f"(exists f{number})"))
        assert matcher.match({f"f{number}": 1, f"f{number - 1}": 1}, {}) == [number]
        matcher.remove(number)

    assert (len(matcher._lacking._names._bits), matcher._lacking._names.of_event({"f999": 1})) == (0, 0)
    assert matcher._numbers == [999]


@pytest.mark.parametrize("seed", range(10))
def test_it_equals_the_definition_where_few_conditions_change_between_events_that_come_again(seed: int) -> None:
    from gsg.channels.matchers.scan import Scan

    rng, relations = Random(seed), Relations()
    scan, matcher = Scan(relations), Bitmap(relations)
    events = [event(rng) for _ in range(40)]
    for number in range(600):
        made = condition(rng)
        for each in (scan, matcher):
            each.insert(number, made)
        if number > 60:
            gone = number - 60
            for each in (scan, matcher):
                each.remove(gone)
        for _ in range(3):
            fields, environment = rng.choice(events)
            assert sorted(matcher.match(fields, environment)) == sorted(scan.match(fields, environment))


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("(and (= a 1) (> b 2) (exists c))", True),
        ("(and (> a 1) (< a 2))", False),
        ("(or (= a 1) (= b 2))", False),
        ("(!= a 1)", False),
        ("(contains a 'x)", True),
    ],
)
def test_what_is_left_to_be_tried_is_known(text: str, is_so: bool) -> None:
    assert is_indexed(parse(text)) is is_so

"""Conditions as generated functions."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gsg.channels.languages.predicate import parse
from gsg.channels.languages.relations import Relations
from gsg.channels.matchers import leaf
from gsg.channels.matchers.access import ANY_VALUE, Access, accesses_of, is_implied
from gsg.channels.matchers.compile import LEAF, TESTS, Compile
from gsg.channels.matchers.generated import Program, generate, parts_of
from gsg.channels.matchers.leaf import COST_OF_DEFINITION, FEW, WORTH


def test_what_is_common_is_tested_once() -> None:
    asked = []
    relations = Relations()
    relations.register("near", lambda constants: lambda value: asked.append(value) or True)
    conditions = [parse(f"(and (near place 1) (= kind {number}))", relations) for number in range(5)]
    program = generate({number: parts_of(each) for number, each in enumerate(conditions)}, relations)
    found: list[int] = []

    program({"place": "here", "kind": 3}, {}, found.append)

    assert (found, asked) == ([3], ["here"])


def test_a_stronger_comparison_is_tried_behind_a_weaker_one() -> None:
    relations = Relations()
    conditions = [parse(f"(> size {bound})", relations) for bound in (3, 7, 9)]
    program = generate({number: parts_of(each) for number, each in enumerate(conditions)}, relations)
    found: list[int] = []

    program({"size": 8}, {}, found.append)

    assert found == [0, 1]


def test_one_function_at_most_is_made_for_one_event(monkeypatch: pytest.MonkeyPatch) -> None:
    generated: list[Program] = []

    def counted(*given) -> Program:
        generated.append(generate(*given))
        return generated[-1]

    monkeypatch.setattr(leaf, "generate", counted)
    matcher = Compile(Relations())
    for number in range(10):
        matcher.insert(number, parse(f"(and (exists f{number}) (!= g 2))"))
    event = {**{f"f{number}": 1 for number in range(10)}, "g": 1}
    made = [0]
    for _ in range(WORTH // COST_OF_DEFINITION + 16):
        assert len(matcher.match(event, {})) == 10
        made.append(len(generated))

    assert made[-1] == 10
    assert max(after - before for before, after in pairwise(made)) == 1


def test_a_condition_that_is_tried_often_goes_where_few_events_are() -> None:
    matcher = Compile(Relations())
    matcher.insert(0, parse('(and (= kind 1) (or (suffix-ci image "cmd.exe") (regex image "bash$" "[.]com")))'))
    matcher.insert(1, parse('(and (= kind 1) (not (= image "a.exe")))'))
    before = matcher.crowd([Access("kind", 1)])
    for number in range(WORTH // COST_OF_DEFINITION + 3):
        assert matcher.match({"kind": 1, "image": f"{number}.exe"}, {}) == [1]

    assert (before, matcher.crowd([Access("kind", 1)])) == (2, 1)
    assert sorted(matcher.match({"kind": 1, "image": "A.com/CMD.exe"}, {})) == [0, 1]
    matcher.remove(0)
    matcher.remove(1)
    assert matcher.match({"kind": 1, "image": "A.com/CMD.exe"}, {}) == []


def test_a_condition_without_a_test_on_a_value_stays() -> None:
    matcher = Compile(Relations())
    matcher.insert(0, parse("(and (> a 2) (> b 2))"))
    place = matcher.places_of(parse("(> a 2)"))
    for number in range(WORTH):
        assert matcher.match({"a": number % 2}, {}) == []

    assert matcher.crowd(place) == 1
    assert matcher.match({"a": 3, "b": 3}, {}) == [0]


def test_a_condition_that_was_removed_goes_nowhere() -> None:
    matcher = Compile(Relations())
    matcher.insert(0, parse('(and (= kind 1) (or (suffix-ci image "cmd.exe") (exists other)))'))
    while not matcher._reconsidered:
        assert matcher.match({"kind": 1, "image": "a.exe"}, {}) == []
    matcher.remove(0)

    assert matcher.match({"kind": 1, "image": "cmd.exe"}, {}) == []


def test_few_tests_are_made_for_one_event() -> None:
    matcher = Compile(Relations())
    for number in range(2 * TESTS):
        matcher.insert(number, parse(f"(and (exists f{number}) (!= g 2))"))
    event = {**{f"f{number}": 1 for number in range(2 * TESTS)}, "g": 1}
    left = []
    for _ in range(FEW + 3):
        assert len(matcher.match(event, {})) == 2 * TESTS
        left.append(matcher.tests_left)

    assert left == [*[TESTS] * FEW, 0, 0, TESTS]


def test_what_changes_beside_a_function_is_found() -> None:
    matcher = Compile(Relations())
    for number in range(3):
        matcher.insert(number, parse("(and (exists a) (!= g 2))"))
    for _ in range(WORTH):
        assert sorted(matcher.match({"a": 1, "g": 1}, {})) == [0, 1, 2]
    matcher.remove(1)
    matcher.insert(3, parse("(and (exists a) (!= g 3))"))

    assert sorted(matcher.match({"a": 1, "g": 1}, {})) == [0, 2, 3]
    matcher.remove(0)
    matcher.remove(2)
    assert matcher.match({"a": 1, "g": 1}, {}) == [3]


@pytest.mark.parametrize(
    ("value", "found"), [(1, [0]), (True, [1]), (0, [2]), (False, [3]), (1.0, [0]), ("1", []), ([1], []), ({"a": 1}, [])]
)
def test_numbers_and_truths_that_are_one_key_are_told_apart(value: object, found: list[int]) -> None:
    matcher = Compile(Relations())
    for number, constant in enumerate(["1", "true", "0", "false"]):
        matcher.insert(number, parse(f"(= a {constant})"))

    assert matcher.match({"a": value}, {}) == found
    matcher.remove(0)
    matcher.remove(2)
    assert matcher.match({"a": value}, {}) == [each for each in found if each in (1, 3)]


def test_conditions_without_a_second_test_are_in_leaves_however_many_there_are() -> None:
    matcher = Compile(Relations())
    conditions = [parse(f"(or (> a {number}) (and (= b {number}) (exists c)))") for number in range(10 * LEAF)]
    for number, condition in enumerate(conditions):
        matcher.insert(number, condition)

    assert len(matcher.match({"a": 1_000}, {})) == len(conditions)
    for number in range(0, len(conditions), 2):
        matcher.remove(number)
    assert sorted(matcher.match({"a": 1_000}, {})) == list(range(1, len(conditions), 2))


def test_conditions_wait_under_tests_on_texts() -> None:
    matcher = Compile(Relations())
    texts = [f'({test} image "{number}.EXE")' for number in range(300) for test in ("suffix-ci", "contains-ci", "=-ci", "prefix")]
    for number, text in enumerate(texts):
        matcher.insert(number, parse(f"(and {text} (= kind 1))"))

    assert sorted(matcher.match({"image": "17.exe", "kind": 1}, {})) == [
        *(4 * 7 + at for at in range(2)),
        *(4 * 17 + at for at in range(3)),
    ]
    assert matcher.match({"image": "17.EXE", "kind": 2}, {}) == []
    assert matcher.match({"image": 17, "kind": 1}, {}) == []
    for number in range(len(texts)):
        matcher.remove(number)
    assert matcher.match({"image": "17.EXE", "kind": 1}, {}) == []


def test_what_a_test_implies_is_not_tried_again() -> None:
    place = Access("image", "cmd.exe", "suffix-ci")

    assert is_implied(parse('(suffix-ci image "x" "CMD.exe")'), place)
    assert is_implied(parse('(or (= a 1) (and (exists image) (suffix-ci image "cmd.exe")))'), place)
    assert not is_implied(parse('(suffix image "cmd.exe")'), place)
    assert not is_implied(parse('(suffix-ci image "exe")'), place)
    assert not is_implied(parse('(wildcard-ci image "*cmd.exe")'), Access("image", "cmd.exe", "contains-ci"))


PLACES = {
    "each of some texts": ('(contains-ci a "ABC" "bcd")', [("a", "abc", "contains-ci"), ("a", "bcd", "contains-ci")]),
    "the longest piece of a wildcard": ('(wildcard a "x*abc?*abcd")', [("a", "abcd", "contains")]),
    "no text that most texts contain": ('(contains a "ab")', [("a", ANY_VALUE, "=")]),
    "no wildcard without a piece": ('(wildcard a "*")', [("a", ANY_VALUE, "=")]),
    "no empty suffix": ('(suffix a "")', [("a", ANY_VALUE, "=")]),
    "an empty text": ('(=-ci a "")', [("a", "", "=-ci")]),
    "the longest text that a regular expression requires": ('(regex a "x.*aBcd?")', [("a", "abc", "contains-ci")]),
    "each of some regular expressions": ('(regex-ci a "abc" "bcd")', [("a", "abc", "contains-ci"), ("a", "bcd", "contains-ci")]),
    "no regular expression that requires no text": ('(regex a "abc" "b|c")', [("a", ANY_VALUE, "=")]),
    "one of each part of an or": ('(or (suffix a "x") (exists b))', [("a", "x", "suffix"), ("b", ANY_VALUE, "=")]),
}


@pytest.mark.parametrize(("text", "places"), PLACES.values(), ids=PLACES)
def test_a_condition_waits_under(text: str, places: list[tuple[str, object, str]]) -> None:
    assert accesses_of(parse(text), lambda access: 0) == places


def test_many_conditions_under_one_test_wait_under_a_second_one() -> None:
    matcher = Compile(Relations())
    for number in range(1_000):
        matcher.insert(number, parse(f"(and (= kind 1) (= place {number}) (= colour {number}))"))

    assert matcher.match({"kind": 1, "place": 17, "colour": 17}, {}) == [17]
    assert matcher.match({"kind": 1, "place": 17, "colour": 18}, {}) == []

"""Conditions as generated functions."""

from __future__ import annotations

from gsg.channels.languages.predicate import parse
from gsg.channels.languages.relations import Relations
from gsg.channels.matchers.compile import TRIED, Compile
from gsg.channels.matchers.generated import generate, parts_of


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


def test_one_function_at_most_is_made_for_one_event() -> None:
    matcher = Compile(Relations())
    for number in range(10):
        matcher.insert(number, parse(f"(and (exists f{number}) (exists g))"))
    event = {f"f{number}": 1 for number in range(10)}
    made = []
    for _ in range(TRIED + 12):
        matcher.match(event, {})
        made.append(not matcher.may_generate)

    assert sum(made) == 10


def test_many_conditions_under_one_test_wait_under_a_second_one() -> None:
    matcher = Compile(Relations())
    for number in range(1_000):
        matcher.insert(number, parse(f"(and (= kind 1) (= place {number}) (= colour {number}))"))

    assert matcher.match({"kind": 1, "place": 17, "colour": 17}, {}) == [17]
    assert matcher.match({"kind": 1, "place": 17, "colour": 18}, {}) == []

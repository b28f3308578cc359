"""What the cost of a condition is made of: the tests that and, or and not join, and the operands of arithmetic."""

from __future__ import annotations

import pytest

from gsg.channels.agent.costs import size_of_condition
from gsg.channels.languages.costs import operands_of, parts_of
from gsg.channels.languages.expressions import Comparison, Not
from gsg.channels.languages.predicate import parse
from gsg.channels.languages.writing import written
from gsg.channels.overlay.portable import tests_in as number_of_tests
from gsg.channels.temporal.checks import weight_of

PARTS = {
    "one test": ("(= a 1)", ["(= a 1)"]),
    "none": ("true", []),
    "joined": ("(and (= a 1) (or (exists b) (> c 2)))", ["(= a 1)", "(exists b)", "(> c 2)"]),
    "a not, and what is under it": ("(not (and (> a 1) (exists b)))", ["(not (and (> a 1) (exists b)))", "(> a 1)", "(exists b)"]),
    "a test on elements is one": ("(any a (and (= it 1) (> b 2)))", ["(any a (and (= it 1) (> b 2)))"]),
    "a relation with its texts": ('(contains a "x" "y")', ['(contains a "x" "y")']),
}
COSTS = {
    "a comparison": ("(= a 1)", 1, 1, 1),
    "a not costs where events are looked at": ("(not (= a 1))", 1, 2, 1),
    "constants of a relation": ('(prefix a "x" "y" "z")', 4, 4, 4),
    "elements": ("(any a (and (= it 1) (> it 0)))", 3, 3, 1),
    "operands": ("(> (+ a b 1) 2)", 4, 3, 3),
    "operands of operands": ("(> (+ a (* b 3)) 2)", 5, 4, 3),
    "stars of a wildcard, to an agent": ('(wildcard a "*x*y*")', 5, 2, 2),
}


@pytest.mark.parametrize(("text", "parts"), PARTS.values(), ids=PARTS)
def test_a_condition_has_these_parts_from_left_to_right(text: str, parts: list[str]) -> None:
    assert [written(part) for part in parts_of(parse(text))] == parts


def test_all_operands_of_arithmetic_are_found_however_deep() -> None:
    compared = parse("(> (+ a (* b 3)) 2)")

    assert isinstance(compared, Comparison)
    assert [written(operand) for operand in operands_of(compared.left)] == ["a", "(* b 3)", "b", "3"]
    assert list(operands_of(compared.right)) == []


@pytest.mark.parametrize(("text", "for_agents", "for_temporal", "for_strangers"), COSTS.values(), ids=COSTS)
def test_each_who_asks_reckons_with_the_same_parts(text: str, for_agents: int, for_temporal: int, for_strangers: int) -> None:
    condition = parse(text)

    assert size_of_condition(condition) == for_agents
    assert weight_of(condition) == for_temporal
    assert number_of_tests(condition) == for_strangers


def test_a_not_within_a_not_is_a_part_of_its_own() -> None:
    inner = parse("(= a 1)")

    assert list(parts_of(Not(Not(inner)))) == [Not(Not(inner)), Not(inner), inner]

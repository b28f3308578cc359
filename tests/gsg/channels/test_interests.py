"""Closures and implication, against what random events say."""

from __future__ import annotations

from random import Random

import pytest
from random_conditions import condition, event

from gsg.channels.closure import MAX_PARTS, closure_of
from gsg.channels.languages.evaluation import holds
from gsg.channels.languages.expressions import TRUE
from gsg.channels.languages.implication import implies
from gsg.channels.languages.predicate import parse
from gsg.channels.languages.relations import Relations

RELATIONS = Relations()


@pytest.mark.parametrize("seed", range(10))
def test_a_closure_is_never_too_small_and_implication_never_wrong(seed: int) -> None:
    rng = Random(seed)
    for _ in range(40):
        interests = [condition(rng, 2) for _ in range(6)]
        closure = closure_of(interests, RELATIONS)
        implied = [(one, other) for one in interests for other in interests if one is not other and implies(one, other, RELATIONS)]
        for _ in range(20):
            fields, environment = event(rng)
            met = {id(each): holds(each, fields, environment, RELATIONS) for each in interests}

            assert holds(closure, fields, environment, RELATIONS) or not any(met.values())
            assert all(met[id(other)] or not met[id(one)] for one, other in implied)


@pytest.mark.parametrize(
    ("special", "general"),
    [
        ("(> x 7)", "(> x 3)"),
        ("(> x 7)", "(>= x 7)"),
        ("(= x 5)", "(and (> x 3) (< x 7))"),
        ("(= x 'abc)", '(prefix x "ab")'),
        ("(and (= a 1) (= b 2))", "(or (= b 2) (= c 3))"),
        ('(prefix x "abc")', '(prefix x "ab" "x")'),
        ('(suffix x "abc")', '(contains x "b")'),
        ("(or (= x 1) (= x 2))", "(in x 1 2 3)"),
        ("(> x 7)", "(exists x)"),
        ("(not (> x 3))", "(not (> x 7))"),
    ],
)
def test_the_special_implies_the_general_and_not_the_other_way_round(special: str, general: str) -> None:
    assert implies(parse(special), parse(general), RELATIONS)
    assert not implies(parse(general), parse(special), RELATIONS)


def test_texts_that_read_as_numbers_are_in_two_orders() -> None:
    assert not implies(parse('(> x "9")'), parse('(> x "10")'), RELATIONS)


@pytest.mark.parametrize("seed", range(5))
def test_what_very_many_give_way_to_holds_of_all_that_they_want(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    for limit in (0, 2):
        monkeypatch.setattr("gsg.channels.closure.MAX_PARTS", limit)
        for _ in range(40):
            interests = [condition(rng, 2) for _ in range(4)]
            closure = closure_of(interests, RELATIONS)
            for _ in range(20):
                fields, environment = event(rng)

                is_wanted = any(holds(each, fields, environment, RELATIONS) for each in interests)
                assert holds(closure, fields, environment, RELATIONS) or not is_wanted


def test_a_closure_of_very_many_gives_way_to_tests_and_fields() -> None:
    many = [parse(f"(and (= kind 'a) (= place {number}))") for number in range(3 * MAX_PARTS)]

    assert closure_of(many, RELATIONS) == parse("(= kind 'a)")
    assert closure_of([parse(f"(not (= place {number}))") for number in range(3 * MAX_PARTS)], RELATIONS) == TRUE


def test_a_relation_of_the_application_is_not_told_to_others() -> None:
    relations = Relations()
    relations.register("near", lambda constants: lambda value: True)

    assert closure_of([parse("(near place 3)", relations)], relations) == parse("(exists place)")

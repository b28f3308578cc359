"""The predicate language: what it means, and what it refuses."""

from __future__ import annotations

from random import Random

import pytest
from random_conditions import condition, event

from gsg.channels.languages.evaluation import holds
from gsg.channels.languages.predicate import parse
from gsg.channels.languages.relations import Relations
from gsg.channels.languages.signature import required_fields
from gsg.channels.languages.source import compiled
from gsg.channels.languages.why_not import why_not
from gsg.channels.languages.writing import written
from gsg.errors import BadText

RELATIONS = Relations()
SEEDS = "(and (or (= type 'error) (= type 'warning)) (= user 'Joe))"
"""The subscription of the paper."""


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        (SEEDS, {"type": "warning", "user": "Joe"}, True),
        (SEEDS, {"type": "warning", "user": "Fred"}, False),
        (SEEDS, {"user": "Joe"}, False),
        ("(= x 1)", {"x": 1.0}, True),
        ("(= x 1)", {"x": True}, False),
        ("(= x 1)", {"x": "1"}, False),
        ("(= x 0)", {"x": False}, False),
        ('(= x "")', {"x": ""}, True),
        ("(= x false)", {"x": False}, True),
        ("(= x null)", {"x": None}, True),
        ("(exists x)", {"x": None}, True),
        ("(= x null)", {}, False),
        ("(!= x 1)", {}, False),
        ("(not (= x 1))", {}, True),
        ("(!= x 1)", {"x": "1"}, True),
        ("(> size 7)", {"size": "12"}, True),
        ("(> size 7)", {"size": "big"}, False),
        ("(> size 7)", {"size": True}, False),
        ('(< time "13")', {"time": "12:40:18"}, True),
        ("(< 3 x 7)", {"x": 5}, True),
        ("(< 3 x 7)", {"x": 7}, False),
        ("(> x 0)", {"x": float("nan")}, False),
        ("(= x x)", {"x": float("nan")}, False),
        ("(> (+ a b) 10)", {"a": 5, "b": "6"}, True),
        ("(> (/ a b) 10)", {"a": 5, "b": 0}, False),
        ("(= (mod n 3) 1)", {"n": 7}, True),
        ("(= user.name 'Joe)", {"user": {"name": "Joe"}}, True),
        ("(= |user.name| 'Joe)", {"user": {"name": "Joe"}}, False),
        ("(= |user.name| 'Joe)", {"user.name": "Joe"}, True),
        ("(= (field user |first name|) 'Joe)", {"user": {"first name": "Joe"}}, True),
        ("(in type 'error 'warning)", {"type": "warning"}, True),
        ('(contains m "bc")', {"m": "abcd"}, True),
        ('(contains m "x" "bc")', {"m": "abcd"}, True),
        ('(contains-ci m "BC")', {"m": "aBcd"}, True),
        ('(=-ci m "STRASSE")', {"m": "straße"}, True),
        ('(prefix m "ab")', {"m": 12}, False),
        ('(suffix m "cd" "ef")', {"m": "abcd"}, True),
        ('(wildcard m "a*c?")', {"m": "abbcd"}, True),
        ('(wildcard m "a*c?")', {"m": "abbc"}, False),
        (r'(wildcard m "a\\*")', {"m": "a*"}, True),
        (r'(wildcard m "a\\*")', {"m": "ab"}, False),
        ('(wildcard m "*a*a*")', {"m": "a"}, False),
        (r'(regex m "b+c$")', {"m": "abbc"}, True),
        ('(regex-ci m "B+C$")', {"m": "abbc"}, True),
        ('(cidr ip "10.0.0.0/8")', {"ip": "10.1.2.3"}, True),
        ('(cidr ip "10.0.0.0/8")', {"ip": "11.1.2.3"}, False),
        ('(cidr ip "fd00::/8")', {"ip": "fd12::1"}, True),
        ('(cidr ip "10.0.0.0/8")', {"ip": "10.1"}, False),
        ("(any tags (= it 'new))", {"tags": ["old", "new"]}, True),
        ("(any tags (= it 'new))", {"tags": "new"}, False),
        ("(all tags (= it 'new))", {"tags": []}, True),
        ("(all tags (= it 'new))", {}, False),
        ("(exactly 2 parts (> it.price limit))", {"parts": [{"price": 3}, {"price": 9}, {"price": 8}], "limit": 5}, True),
        ("true", {}, True),
        ("(or)", {}, False),
    ],
)
def test_a_condition_holds_as_defined_however_it_is_evaluated(text: str, fields: dict[str, object], expected: bool) -> None:
    made = parse(text)

    assert holds(made, fields, {}, RELATIONS) is expected
    assert bool(compiled(made, RELATIONS)(fields, {})) is expected
    assert (why_not(made, fields, {}, RELATIONS) == []) is (expected or text == "(or)")


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("", 1, "empty subscription"),
        ("(= x 1) (= y 2)", 9, "a second expression; expected one"),
        ('(and (contian x "a"))', 6, "unknown operator 'contian'; did you mean contains?"),
        ('(= \'type "error")', 1, "compares two constants; expected a field"),
        ("(< x true)", 6, "true is in no order"),
        ("(contains x 5)", 13, 'expected one in quotes, such as "5"'),
        ("(contains x y)", 13, "is a name; expected a constant"),
        ("(> (+ a 'b) 1)", 9, "is no number"),
        ("(not)", 1, "with 0 operands; expected 1"),
        ("(exists 'x)", 9, "is no name of a field"),
        ("(= it 1)", 4, "is the element of a list"),
        ("(= ?x 1)", 4, "variables belong to the temporal language"),
        ('(regex x "(?=a)")', 10, "no look-around"),
        ('(cidr x "10.0.0.1/8")', 9, "bits after its first 8"),
        ("type", 1, "expected a list such as (exists type)"),
        ("(exactly x tags true)", 10, "expected (exactly NUMBER FIELD CONDITION)"),
        ('(= x "a)', 6, "never closed"),
        ("(= x a..b)", 6, "a part without a name"),
        ("(= x y", 1, 'a "(" that is never closed'),
        ("(any tags (any * (= it 1)))", 16, "a list of the event within any, all or exactly"),
    ],
)
def test_a_mistake_is_refused_with_its_place_and_what_to_write(text: str, column: int, said: str) -> None:
    with pytest.raises(BadText) as refused:
        parse(text)

    assert (refused.value.line, refused.value.column) == (1, column)
    assert said in str(refused.value)


def test_100_000_brackets_are_refused() -> None:
    with pytest.raises(BadText, match="nested more than 64 deep"):
        parse("(" * 100_000)


def test_a_thousand_wildcards_are_one_condition() -> None:
    parts = [f'(wildcard path "/a*/{number}?c")' for number in range(1_000)]
    made = parse(f"(or {' '.join(parts)})")

    assert holds(made, {"path": "/axx/999bc"}, {}, RELATIONS)


@pytest.mark.parametrize("seed", range(20))
def test_compiled_and_written_conditions_say_the_same(seed: int) -> None:
    rng = Random(seed)
    for _ in range(50):
        made = condition(rng)
        fields, environment = event(rng)
        expected = holds(made, fields, environment, RELATIONS)

        assert parse(written(made)) == made
        assert bool(compiled(made, RELATIONS)(fields, environment)) is expected
        if expected:
            assert required_fields(made) <= fields.keys()


def test_a_relation_of_the_application_is_one_of_the_language() -> None:
    relations = Relations()
    relations.register("longer", lambda constants: lambda value: isinstance(value, str) and len(value) > constants[0])

    assert holds(parse("(longer name 3)", relations), {"name": "Fred"}, {}, relations)
    for taken in ("contains", "and", "within"):
        with pytest.raises(ValueError, match="not taken yet"):
            relations.register(taken, lambda constants: lambda value: True)

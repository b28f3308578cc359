"""Relations with many texts."""

from __future__ import annotations

from random import Random

import pytest

from gsg.channels.languages.predicate import parse
from gsg.channels.languages.relations import MANY, BadConstant, Relations, literals_of
from gsg.channels.languages.source import compiled
from gsg.errors import BadText

RELATIONS = Relations()
SIGNS = "abAB.*\\|^$()[] \n\0\N{GRINNING FACE}\N{CYRILLIC SMALL LETTER A}\N{LATIN SMALL LETTER SHARP S}"


@pytest.mark.parametrize("name", ["contains", "contains-ci"])
def test_many_texts_are_found_as_each_of_them_is(name: str) -> None:
    rng = Random(1)
    texts = ["".join(rng.choices(SIGNS, k=rng.randint(2, 4))) for _ in range(2 * MANY)]
    together, single = RELATIONS.make(name, texts), [RELATIONS.make(name, [each]) for each in texts]
    passed = 0
    for _ in range(2_000):
        text = "".join(rng.choices(SIGNS, k=rng.randrange(30)))

        passed += together(text)

        assert together(text) == any(test(text) for test in single)
    assert 100 < passed < 1_900
    assert not together(7)


def test_very_many_texts_are_tried_one_by_one() -> None:
    test = RELATIONS.make("contains", [f"{number:0100}" for number in range(200)])

    assert test(f"a{17:0100}b")
    assert not test(f"a{17:099}b")


def test_half_of_a_surrogate_pair_is_refused_with_its_place() -> None:
    with pytest.raises(BadText, match=r"column 10: .*half a surrogate pair"):
        parse('(regex a "\\ud800")')


@pytest.mark.parametrize(("name", "text", "holds"), [("regex", "xB", False), ("regex-ci", "xB", True), ("regex", "a1", True)])
def test_several_regular_expressions_are_one(name: str, text: str, holds: bool) -> None:
    assert RELATIONS.make(name, ["^a", "b$"])(text) is holds
    assert RELATIONS.make(name, ["(?P<n>^a)", "(?P<n>b$)"])(text) is holds
    assert RELATIONS.make(name, [r"\Q(", "^a", "b$"])(text) is holds


def test_the_first_bad_one_of_several_regular_expressions_is_named() -> None:
    with pytest.raises(BadConstant) as refused:
        RELATIONS.make("regex", ["a", "(", "["])

    assert refused.value.number == 1


def test_pieces_of_a_wildcard_are_in_each_text_that_is_so() -> None:
    assert literals_of("a\\*b*cd?\\e\\") == ["a*b", "cd", "e\\"]


CASES = {
    "one relation of one value": ('(or (suffix a "x") (suffix a "y"))', {"a": "by"}, True),
    "relations of two values": ('(or (suffix a "x") (suffix b "y"))', {"a": "by", "b": "x"}, False),
    "two relations of one value": ('(or (suffix a "x") (prefix a "y"))', {"a": "yb"}, True),
    "folded twice": ('(and (suffix-ci a "X" "Y") (contains-ci a "B"))', {"a": "bx"}, True),
    "folded to another text": ('(=-ci a "STRASSE")', {"a": "stra\N{LATIN SMALL LETTER SHARP S}e"}, True),
    "text of several fields": ('(any * (contains it "ab"))', {"a": "a", "b": "b"}, False),
    "text that stands between fields": ('(any * (contains it "a\\u0000b"))', {"a": "a", "b": "b"}, False),
    "no text in no field": ('(any * (contains it ""))', {"a": 1}, False),
    "no text in a field": ('(any * (contains it ""))', {"a": ""}, True),
}


@pytest.mark.parametrize(("text", "fields", "holds"), CASES.values(), ids=CASES)
def test_texts_are_compared_alike_where_they_are_compiled(text: str, fields: dict[str, object], holds: bool) -> None:
    assert compiled(parse(text), RELATIONS)(fields, {}) is holds

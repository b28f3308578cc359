"""``*`` in the place of a list: the values of all fields at the top level of an event."""

from __future__ import annotations

from typing import Any

import pytest

from gsg.channels.languages.evaluation import holds
from gsg.channels.languages.expressions import EVERY_FIELD, Field, Quantified
from gsg.channels.languages.predicate import parse
from gsg.channels.languages.relations import Relations
from gsg.channels.languages.signature import required_fields
from gsg.channels.languages.source import compiled
from gsg.channels.languages.why_not import why_not
from gsg.channels.languages.writing import written
from gsg.channels.matchers.bitmap import Bitmap
from gsg.channels.matchers.compile import Compile
from gsg.channels.matchers.lattice import Lattice
from gsg.channels.matchers.memo import Memo
from gsg.channels.matchers.rete import Rete
from gsg.channels.matchers.scan import Scan
from gsg.channels.matchers.sig import Sig

RELATIONS = Relations()
CASES = {
    "a text in some field": ('(any * (contains it "x"))', {"a": 1, "b": "axb"}, True),
    "a text in no field": ('(any * (contains it "x"))', {"a": 1, "x": "b"}, False),
    "no field": ("(any * true)", {}, False),
    "all of no fields": ("(all * false)", {}, True),
    "all fields": ("(all * (> it 1))", {"a": 2, "b": 3}, True),
    "not all fields": ("(all * (> it 1))", {"a": 2, "b": 1}, False),
    "a number of fields": ("(exactly 2 * (= it 1))", {"a": 1, "b": 1, "c": 2}, True),
    "fields of an inner event do not count": ("(any * (= it 1))", {"a": {"b": 1}}, False),
    "a list is one value": ("(any * (= it 1))", {"a": [1]}, False),
    "a list within": ("(any * (any it (= it 1)))", {"a": [1]}, True),
    "a field of a value": ("(any * (= it.b 1))", {"a": {"b": 1}}, True),
    "beside a field": ("(any * (= it a))", {"a": 1}, True),
    "a field of this name": ("(any |*| (= it 1))", {"*": [1], "b": 2}, True),
    "not of a field of this name": ("(any |*| (= it 1))", {"b": 1}, False),
}


@pytest.mark.parametrize(("text", "fields", "is_met"), CASES.values(), ids=CASES)
def test_a_condition_on_all_fields_says(text: str, fields: dict[str, Any], is_met: bool) -> None:
    assert holds(parse(text), fields, {"b": 1}, RELATIONS) is is_met
    assert compiled(parse(text), RELATIONS)(fields, {"b": 1}) is is_met


@pytest.mark.parametrize("kind", [Scan, Sig, Memo, Lattice, Compile, Bitmap, Rete])
def test_every_matcher_knows_conditions_on_all_fields(kind: type[Any]) -> None:
    matcher = kind(RELATIONS)
    for number, (text, _, _) in enumerate(CASES.values()):
        matcher.insert(number, parse(text))

    for _, fields, _ in CASES.values():
        met = [number for number, (text, _, _) in enumerate(CASES.values()) if holds(parse(text), fields, {}, RELATIONS)]
        assert sorted(matcher.match(fields, {})) == met


def test_a_condition_on_all_fields_requires_none_but_those_beside_it() -> None:
    assert required_fields(parse("(any * (= it 1))")) == frozenset()
    assert required_fields(parse("(any * (= it a))")) == {"a"}


@pytest.mark.parametrize("text", [text for text, _, _ in CASES.values()])
def test_a_condition_on_all_fields_is_written_as_it_was_read(text: str) -> None:
    assert written(parse(text)) == text


def test_why_a_condition_on_all_fields_fails_is_said() -> None:
    assert why_not(parse("(any * (= it 1))"), {"a": 2}, {}, RELATIONS) == ["(any * (= it 1)) fails: * is {'a': 2}"]


def test_a_star_in_bars_is_a_name() -> None:
    star, name = parse("(any * true)"), parse("(any |*| true)")

    assert isinstance(star, Quantified)
    assert isinstance(name, Quantified)
    assert (star.over, name.over) == (EVERY_FIELD, Field(("*",)))

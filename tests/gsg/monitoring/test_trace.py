"""The columns of a trace, and terms as they stand in them."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

import rete
from gsg.monitoring import trace
from gsg.tuples.terms import IRI, XSD_DOUBLE, BlankNode, Compound, List, Literal, Symbol, Variable
from gsg.wire.messages import Test as ConditionTest

DOCS = Path(__file__).resolve().parents[3] / "docs" / "simulation.md"

EVERY_KIND = (
    "a \u2028 text",
    -(2**63),
    Symbol("year"),
    IRI("http://example.org/film"),
    BlankNode("b0"),
    Literal("2.5", XSD_DOUBLE),
    Literal("Film", "", "en"),
    Compound((Symbol("f"), List((1, Variable("X")), Variable("Rest")))),
)


def test_terms_come_back_as_they_were() -> None:
    assert trace.tuple_of(trace.text_of(EVERY_KIND)) == EVERY_KIND
    assert trace.text_of((IRI("a:film"), Symbol("year"), 2014, "x")) == '[[2,"a:film"],[1,"year"],2014,"x"]'


@pytest.mark.parametrize(
    ("template", "test", "condition"),
    [
        (rete.Template((None, Symbol("p"), None)), None, None),
        (rete.Template((None, 1, None), ((0, 2),)), None, "[[[0,2]],null]"),
        (rete.Template((None, 1)), ConditionTest("gsg", "?x < 3"), '[[],["gsg","?x < 3"]]'),
    ],
    ids=["constants alone", "repeated variable", "test"],
)
def test_templates_come_back_as_they_were(
    template: rete.Template[object], test: ConditionTest | None, condition: str | None
) -> None:
    assert trace.condition_text(template, test) == condition
    assert trace.template_of(trace.text_of(template.pattern), condition) == (template, test)


def test_a_pattern_is_no_tuple() -> None:
    with pytest.raises(msgspec.ValidationError, match="is the pattern of a template; expected a tuple"):
        trace.tuple_of("[null,1]")


def test_a_text_that_is_no_text_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        trace.text_of(("\ud800",))


def test_the_columns_are_those_of_arrow() -> None:
    assert trace.schema().names == list(trace.COLUMNS)


def test_the_columns_are_documented() -> None:
    table = re.findall(r"^\| `(\w+)` \|", DOCS.read_text("utf-8").partition("## Traces")[2].partition("\n## ")[0], re.MULTILINE)

    assert table == list(trace.COLUMNS)


def test_the_parts_of_a_run_are_in_order_of_their_names() -> None:
    names = [trace.part_name(bytes(20), 1_700_000_000_000_000, number) for number in (1, 2, 10)]

    assert names == sorted(names)
    assert all(name.endswith(trace.PART) for name in names)

"""Rows in the formats of SPARQL results, as another program reads them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg.languages.result_form import Solution
from gsg.languages.results.formats import BOOLEANS, JSON, SOLUTIONS, XML
from gsg.languages.results.rdf_terms import SYMBOL, TERM
from gsg.tuples.terms import IRI, XSD_INTEGER, BlankNode, Compound, Literal, Symbol, Term, literal

NAMES = ("a", "b")
READ = {
    JSON: pyoxigraph.QueryResultsFormat.JSON,
    XML: pyoxigraph.QueryResultsFormat.XML,
    "text/tab-separated-values": pyoxigraph.QueryResultsFormat.TSV,
}
# No format has half of a pair, and XML neither most control characters.
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\t\n\r"), max_size=8)
TERMS: st.SearchStrategy[Term] = st.one_of(
    TEXTS,
    st.integers(-(2**63), 2**63 - 1),
    st.builds(lambda name: IRI(f"http://x/{name}"), st.text("abc-/", max_size=5)),
    st.builds(BlankNode, st.text("abc", min_size=1, max_size=3)),
    st.builds(lambda text: literal(text, "", "de"), TEXTS),
    st.builds(lambda text: Literal(text, "http://x/d"), TEXTS),
)
ROWS = st.lists(st.tuples(TERMS | st.none(), TERMS | st.none()), max_size=6)


def written(media_type: str, parts: Iterable[list[Solution]]) -> bytes:
    form = SOLUTIONS[media_type](NAMES)
    return form.head + b"".join(form.rows(part) for part in parts) + form.tail


def term_of(value: object) -> Term | None:
    if value is None:
        return None
    if isinstance(value, pyoxigraph.NamedNode):
        return IRI(value.value)
    if isinstance(value, pyoxigraph.BlankNode):
        return BlankNode(value.value)
    assert isinstance(value, pyoxigraph.Literal)
    return literal(value.value, value.datatype.value, value.language or "")


@pytest.mark.parametrize("media_type", list(READ))
@given(rows=ROWS, cut=st.integers(0, 6))
def test_what_is_written_in_parts_is_what_another_program_reads(media_type: str, rows: list[Solution], cut: int) -> None:
    body = written(media_type, [rows[:cut], [], rows[cut:]])

    found = pyoxigraph.parse_query_results(body, READ[media_type])

    assert isinstance(found, pyoxigraph.QuerySolutions)
    assert tuple(variable.value for variable in found.variables) == NAMES
    assert [tuple(map(term_of, row)) for row in found] == rows


@given(rows=ROWS)
def test_csv_has_the_texts_alone(rows: list[Solution]) -> None:
    def text(term: Term | None) -> str:
        return "" if term is None else f"_:{term}" if isinstance(term, BlankNode) else str(term)

    found = list(csv.reader(io.StringIO(written("text/csv", [rows]).decode(), newline="")))

    assert found == [list(NAMES), *(list(map(text, row)) for row in rows)]


def test_what_rdf_has_no_term_for_is_a_literal_of_a_datatype_of_ours() -> None:
    found = json.loads(written(JSON, [[(Symbol("kitchen"), Compound((Symbol("f"), 1)))]]))

    (row,) = found["results"]["bindings"]
    assert row["a"] == {"type": "literal", "value": "kitchen", "datatype": SYMBOL}
    assert row["b"] == {"type": "literal", "value": "f(1)", "datatype": TERM}


def test_characters_that_no_xml_has_are_replaced() -> None:
    found = pyoxigraph.parse_query_results(written(XML, [[("a\x00b\x1bc", None)]]), READ[XML])

    assert isinstance(found, pyoxigraph.QuerySolutions)
    assert [row[0].value for row in found] == ["a\ufffdb\ufffdc"]  # type: ignore[union-attr]  # a literal


@pytest.mark.parametrize("media_type", [JSON, XML])
@pytest.mark.parametrize("answer", [True, False])
def test_the_answer_of_ask_is_true_or_false(media_type: str, answer: bool) -> None:
    found = pyoxigraph.parse_query_results(BOOLEANS[media_type](answer), READ[media_type])

    assert isinstance(found, pyoxigraph.QueryBoolean)
    assert bool(found) is answer


def test_large_integers_keep_their_digits() -> None:
    big = Literal("123456789012345678901234567890", XSD_INTEGER)

    assert b'"value":"123456789012345678901234567890"' in written(JSON, [[(big, None)]])

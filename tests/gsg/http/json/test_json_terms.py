"""Terms as JSON: every term comes back as it went, whatever reads JSON between."""

from __future__ import annotations

import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg.errors import BadTerm, LocalError
from gsg.http.json.terms import SaidInJson, TermForm, form_of, plain, said
from gsg.languages.results.json_format import json_term
from gsg.tuples.terms import (
    IRI,
    XSD_BOOLEAN,
    XSD_DOUBLE,
    XSD_INTEGER,
    BlankNode,
    Compound,
    List,
    Literal,
    Symbol,
    Term,
    Variable,
    term,
)

decode = msgspec.json.Decoder(SaidInJson).decode
encode = msgspec.json.Encoder().encode

_texts = st.text(max_size=8).filter(lambda text: text.isprintable())
_constants = (
    _texts
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.booleans()
    | _texts.map(Symbol)
    | _texts.map(IRI)
    | st.sampled_from(["b1", "a.b", "x-1"]).map(BlankNode)
    | st.sampled_from(["en", "pt-br"]).flatmap(lambda tag: _texts.map(lambda text: Literal(text, "", tag)))
    | st.sampled_from([XSD_DOUBLE, XSD_INTEGER, XSD_BOOLEAN, "d"]).flatmap(
        lambda kind: _texts.map(lambda text: Literal(text, kind))
    )
    | st.sampled_from(["1", "01", "1.0", "1e2", "true", "NaN"]).flatmap(
        lambda text: st.sampled_from([XSD_DOUBLE, XSD_INTEGER, XSD_BOOLEAN]).map(lambda kind: Literal(text, kind))
    )
)
terms = st.recursive(
    _constants,
    lambda inside: (
        st.lists(inside, min_size=1, max_size=3).map(lambda items: Compound(tuple(map(term, items))))
        | st.tuples(st.lists(inside, min_size=1, max_size=3), st.none() | _texts.map(Variable)).map(
            lambda made: List(tuple(map(term, made[0])), made[1])
        )
    ),
    max_leaves=6,
).map(term)


@given(terms)
def test_a_term_comes_back_as_it_went(value: Term) -> None:
    assert term(said(decode(encode(plain(value))))) == value


def as_javascript_writes(text: str) -> str:
    """JSON that was read and written by a program all of whose numbers are doubles, and which writes 1.0 as 1."""
    numbers = json.loads(text, parse_int=float)
    return json.dumps(_as_integers(numbers))


def _as_integers(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [*map(_as_integers, value)]
    return {name: _as_integers(each) for name, each in value.items()} if isinstance(value, dict) else value


@given(terms)
def test_a_term_survives_readers_who_have_doubles_alone(value: Term) -> None:
    text = as_javascript_writes(encode(plain(value)).decode())

    assert term(said(decode(text))) == value


@given(_constants.map(term))
def test_a_constant_of_rdf_comes_back_in_the_form_of_sparql(value: Term) -> None:
    assert term(said(decode(encode(json_term(value))))) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**53 - 1, 9007199254740991),
        (2**53, {"value": "9007199254740992", "datatype": XSD_INTEGER}),
        (-(2**53), {"value": "-9007199254740992", "datatype": XSD_INTEGER}),
        (21.5, 21.5),
        (21.0, {"value": "21.0", "datatype": XSD_DOUBLE}),
        (math.inf, {"value": "INF", "datatype": XSD_DOUBLE}),
        (True, True),
        (Literal("1", XSD_BOOLEAN), {"value": "1", "datatype": XSD_BOOLEAN}),
        (Symbol("on"), {"symbol": "on"}),
        (Literal("Haus", "", "DE"), {"value": "Haus", "lang": "de"}),
        (List((1, "a"), Variable("T")), {"list": [1, "a"], "tail": {"variable": "T"}}),
    ],
    ids=str,
)
def test_terms_look_as_the_page_says(value: object, expected: object) -> None:
    assert plain(term(value)) == expected


def test_what_rdf_does_not_have_is_a_literal_in_the_form_of_sparql() -> None:
    assert json_term(Symbol("on")) == {"type": "literal", "value": "on", "datatype": "urn:x-gsg:symbol"}
    assert json_term(Compound((Symbol("f"), 1))) == {"type": "literal", "value": "f(1)", "datatype": "urn:x-gsg:term"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "expected one of iri, symbol, blank, value, variable, compound and list"),
        ('{"iri": "a", "symbol": "b"}', "expected one of iri"),
        ('{"iri": "a", "lang": "de"}', "expected datatype and lang beside value alone"),
        ('{"symbol": "a", "tail": 1}', "expected tail beside list alone"),
        ('{"value": "a", "xml:lang": "de"}', "expected lang, and xml:lang beside type alone"),
        ('{"type": "uri", "value": "a", "datatype": "b"}', "expected type and value, and for a literal datatype or xml:lang"),
        ('{"type": "uri", "iri": "a"}', "expected type and value"),
        ('{"type": "triple", "value": "a"}', "expected the type uri, bnode or literal"),
        (
            '{"type": "literal", "value": "f(1)", "datatype": "urn:x-gsg:term"}',
            "expected a compound, list or variable in plain form",
        ),
    ],
)
def test_an_object_that_is_no_term_says_what_was_expected(text: str, problem: str) -> None:
    with pytest.raises(BadTerm, match=problem):
        said(decode(text))


def test_a_form_that_there_is_not_is_refused() -> None:
    assert form_of("sparql") is TermForm.SPARQL
    with pytest.raises(LocalError, match="terms='xml'; expected plain or sparql"):
        form_of("xml")

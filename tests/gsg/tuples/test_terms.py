"""Terms: one Python object for one term, in and out of Python values, and as text."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

from gsg.errors import BadTerm
from gsg.languages import Insert, parse_script
from gsg.tuples.terms import (
    IRI,
    MAX_ARITY,
    MAX_NESTING,
    XSD,
    XSD_BOOLEAN,
    XSD_DOUBLE,
    XSD_INTEGER,
    XSD_STRING,
    BlankNode,
    Compound,
    List,
    Literal,
    Symbol,
    Term,
    Variable,
    event,
    fact,
    is_ground,
    literal,
    n3,
    nesting,
    python_value,
    show,
    term,
)

names = st.sampled_from(["a", "b", "1", "1.0", "true", ""])
python_values = st.one_of(names, st.sampled_from([0, 1, 2**70]), st.sampled_from([0.0, -0.0, 1.0, math.inf]), st.booleans())
plain: st.SearchStrategy[object] = st.one_of(
    python_values,
    names.map(Symbol),
    names.map(IRI),
    names.map(lambda name: BlankNode(name or "b")),
    names.map(Variable),
    st.builds(Literal, names, st.sampled_from(["", XSD_STRING, XSD_INTEGER, XSD_DOUBLE, XSD_BOOLEAN, "x:t"])),
    st.builds(Literal, names, st.just(""), st.sampled_from(["en", "EN", "fr"])),
)
values = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2).map(lambda items: Compound(tuple(items))),
        st.lists(inner, min_size=1, max_size=2).map(lambda items: List(tuple(items))),
    ),
    max_leaves=4,
)
terms = values.map(term)


def identity(value: Term) -> object:
    """What a term is, by the book: its kind and its parts, in a form that Python cannot confuse."""
    match value:
        case str():
            return ("literal", value, XSD_STRING, "")
        case int():
            return ("literal", str(value), XSD_INTEGER, "")
        case Literal():
            return ("literal", value.lexical, value.datatype, value.language)
        case Compound():
            return ("compound", *map(identity, value.items))
        case List():
            return ("list", *map(identity, value.items), value.tail if value.tail is None else identity(value.tail))
        case _:
            return (type(value).__name__, str(value))


@given(terms, terms)
def test_equality_is_identity_of_terms(one: Term, other: Term) -> None:
    assert (one == other) == (identity(one) == identity(other))
    if one == other:
        assert hash(one) == hash(other)


@given(terms)
def test_a_term_is_its_own_term(value: Term) -> None:
    assert term(value) == value
    assert type(term(value)) is type(value)


@given(terms)
def test_terms_survive_the_wire(value: Term) -> None:
    arrived = msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=Term)

    assert arrived == value
    assert type(arrived) is type(value)


@given(st.one_of(st.text(), st.integers(), st.floats(), st.integers(10**4000, 10**4001)))
def test_a_python_value_comes_back(value: object) -> None:
    back = python_value(term(value))

    assert type(back) is type(value)
    assert back == value or (value != value and back != back)
    assert not isinstance(value, float) or math.copysign(1, value) == math.copysign(1, back) or math.isnan(value)  # type: ignore[arg-type]


@given(terms)
def test_a_term_comes_back_from_its_python_value(value: Term) -> None:
    assert term(python_value(value)) == value


DISTINCT = [
    1,
    "1",
    1.0,
    True,
    Symbol("1"),
    IRI("1"),
    BlankNode("1"),
    Variable("1"),
    Literal("1", XSD + "byte"),
    Literal("01", XSD_INTEGER),
]


def test_what_looks_alike_stays_apart() -> None:
    made = [term(value) for value in DISTINCT]

    assert len(set(made)) == len(DISTINCT)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, Literal("1.0", XSD_DOUBLE)),
        (-0.0, Literal("-0.0", XSD_DOUBLE)),
        (1e100, Literal("1e+100", XSD_DOUBLE)),
        (math.inf, Literal("INF", XSD_DOUBLE)),
        (-math.inf, Literal("-INF", XSD_DOUBLE)),
        (math.nan, Literal("NaN", XSD_DOUBLE)),
        (True, Literal("true", XSD_BOOLEAN)),
        (2**63 - 1, 2**63 - 1),
        (-(2**63), -(2**63)),
        (2**63, Literal(str(2**63), XSD_INTEGER)),
        (Literal("abc"), "abc"),
        (Literal("5", XSD_INTEGER), 5),
        (Literal("05", XSD_INTEGER), Literal("05", XSD_INTEGER)),
        (Literal("+5", XSD_INTEGER), Literal("+5", XSD_INTEGER)),
        (Literal("chat", "", "FR"), Literal("chat", "", "fr")),
        (rdflib.URIRef("http://example.org/"), IRI("http://example.org/")),
        (rdflib.BNode("b"), BlankNode("b")),
        (rdflib.Variable("x"), Variable("x")),
        (rdflib.Literal("abc"), "abc"),
        (rdflib.Literal(5), 5),
        (rdflib.Literal("005", datatype=XSD_INTEGER, normalize=False), Literal("005", XSD_INTEGER)),
        (rdflib.Literal("chat", lang="fr"), Literal("chat", "", "fr")),
        (Compound((Symbol("f"), 1.0)), Compound((Symbol("f"), Literal("1.0", XSD_DOUBLE)))),
        (List((True,), 2.0), List((Literal("true", XSD_BOOLEAN),), Literal("2.0", XSD_DOUBLE))),  # type: ignore[arg-type]  # as users do
    ],
    ids=repr,
)
def test_a_value_becomes_its_term(value: object, expected: Term) -> None:
    made = term(value)

    assert made == expected
    assert type(made) is type(expected)


@dataclass
class Stranger:
    pass


@pytest.mark.parametrize(
    "value", [None, bytearray(b"bytes"), ("a",), ["a"], Stranger(), 1j, rdflib.Graph()], ids=lambda value: type(value).__name__
)
def test_what_is_no_term_is_refused(value: object) -> None:
    with pytest.raises(BadTerm, match=f"of type {type(value).__name__} is no term; expected str, int, float, bool, Decimal"):
        term(value)


@pytest.mark.parametrize(
    ("lexical", "datatype", "language", "expected"),
    [
        ("a", "", "", "a"),
        ("a", XSD_STRING, "", "a"),
        ("1", XSD_INTEGER, "", 1),
        ("-0", XSD_INTEGER, "", Literal("-0", XSD_INTEGER)),
        ("٣", XSD_INTEGER, "", Literal("٣", XSD_INTEGER)),
        ("1\n", XSD_INTEGER, "", Literal("1\n", XSD_INTEGER)),
        ("9" * 20, XSD_INTEGER, "", Literal("9" * 20, XSD_INTEGER)),
        ("9" * 10_000, XSD_INTEGER, "", Literal("9" * 10_000, XSD_INTEGER)),
        ("1.0", XSD_DOUBLE, "", Literal("1.0", XSD_DOUBLE)),
        ("a", "", "en-GB", Literal("a", "", "en-gb")),
    ],
)
def test_a_literal_takes_its_one_form(lexical: str, datatype: str, language: str, expected: Term) -> None:
    assert literal(lexical, datatype, language) == expected


@pytest.mark.parametrize(
    "value",
    [
        Literal("1e2", XSD_DOUBLE),
        Literal("x", XSD_DOUBLE),
        Literal("007", XSD_INTEGER),
        Literal("9" * 5000, XSD_INTEGER),
        Literal("1", "x:t"),
    ],
    ids=lambda value: value.lexical[:10],
)
def test_a_literal_that_no_python_value_prints_as_stays_itself(value: Literal) -> None:
    assert python_value(value) is value


def test_huge_integers_become_numbers_up_to_the_limit_of_python() -> None:
    assert sys.int_info.default_max_str_digits == 4300
    assert python_value(Literal("1" * 4300, XSD_INTEGER)) == int("1" * 4300)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", '"a"'),
        ('a"\\\n\r\tb', r'"a\"\\\n\r\tb"'),
        (5, "5"),
        (term(1.5), "1.5"),
        (1.5, "1.5"),
        (term(2**64), "18446744073709551616"),
        (math.inf, f'"INF"^^<{XSD_DOUBLE}>'),
        (term(math.nan), f'"NaN"^^<{XSD_DOUBLE}>'),
        (term(True), f'"true"^^<{XSD_BOOLEAN}>'),
        (Literal("1e2", XSD_DOUBLE), f'"1e2"^^<{XSD_DOUBLE}>'),
        (Literal("chat", "", "fr"), '"chat"@fr'),
        (Symbol("left-of"), "left-of"),
        (Symbol("odd name"), "'odd name'"),
        (Symbol("it's"), r"'it\'s'"),
        (Symbol(""), "''"),
        (Symbol("5a"), "'5a'"),
        (Symbol("a-"), "'a-'"),
        (IRI("http://example.org/a b"), r"<http://example.org/a\u0020b>"),
        (BlankNode("b0"), "_:b0"),
        (Variable("x"), "?x"),
        (Compound((Symbol("f"), "x", 1)), 'f("x", 1)'),
        (List((1, Symbol("a"))), "[1, a]"),
        (List((1,), Variable("T")), "[1|?T]"),
    ],
    ids=repr,
)
def test_a_term_is_written_as_script_writes_it(value: Term | float, text: str) -> None:
    assert n3(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Symbol("odd name"), "odd name"),
        (IRI("http://example.org/"), "http://example.org/"),
        (BlankNode("b"), "b"),
        (Literal("5", "x:t"), "5"),
        (Variable("x"), "x"),
        (Compound((Symbol("f"), 1)), "f(1)"),
        (List((1,)), "[1]"),
    ],
)
def test_str_is_the_bare_value(value: Term, text: str) -> None:
    assert str(value) == text


def test_a_fact_is_a_tuple_of_terms() -> None:
    assert fact(["B1", 1.5, Symbol("on")]) == ("B1", Literal("1.5", XSD_DOUBLE), Symbol("on"))
    assert show(fact((Symbol("B1"), Symbol("on"), "B2"))) == '(B1, on, "B2")'
    assert len(fact(range(MAX_ARITY))) == MAX_ARITY


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ("abc", "'abc' is"),
        (b"abc", "b'abc' is not a tuple"),
        ((), "a tuple of 0 terms; expected 1 to 255"),
        (range(256), "a tuple of 256 terms; expected 1 to 255"),
        (("a", Variable("x")), '?x in ("a", ?x) is not a constant; a fact holds constants only'),
        ((Compound((Symbol("f"), List((1,), Variable("T")))),), "is not a constant"),
        (("a", None), "None of type NoneType is no term"),
    ],
)
def test_what_is_no_fact_is_refused(items: object, problem: str) -> None:
    with pytest.raises(BadTerm, match=re.escape(problem)):
        fact(items)  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("empty", [Compound(()), List(()), List((), Symbol("t"))], ids=repr)
@pytest.mark.parametrize("made_by", [lambda value: term(value), lambda value: event((value,)), lambda value: fact((value,))])
def test_a_nested_term_without_items_is_refused_at_any_depth(empty: Term, made_by: Callable[[Term], object]) -> None:
    for value in (empty, Compound((Symbol("f"), empty)), List((1,), empty), List((Compound((empty,)),))):
        with pytest.raises(BadTerm, match=f"a {type(empty).__name__} without items is no term; expected at least one"):
            made_by(value)


def test_an_event_may_hold_variables() -> None:
    assert event((Symbol("temp"), Variable("K"))) == (Symbol("temp"), Variable("K"))


def test_groundness_looks_at_any_depth() -> None:
    deep: Term = Variable("x")
    for _ in range(100_000):
        deep = Compound((Symbol("f"), deep))

    assert not is_ground(deep)
    assert is_ground(List((Compound((Symbol("f"), 1)),), Symbol("t")))
    assert not is_ground(List((1,), Variable("T")))


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        pytest.param((Symbol("k"), IRI(5)), "IRI(value=5) is no term; expected IRI of a str", id="wrong field"),  # type: ignore[arg-type]
        pytest.param((1, Symbol(["a"])), "is no term; expected Symbol of a str", id="wrong field beside a number"),  # type: ignore[arg-type]
        pytest.param((Literal("a", IRI("http://x")),), "is no literal; expected", id="datatype as IRI"),  # type: ignore[arg-type]
        pytest.param((Literal("a", "http://x", "en"),), "has a datatype and a language", id="datatype and language"),
        pytest.param((Literal("a", "", "e n"),), "'e n' is no language tag", id="language"),
        pytest.param((10**5000,), "bits is too large for a term", id="huge integer"),
        pytest.param({"a", "b"}, "is not a tuple", id="a set"),
        pytest.param({"a": 1}, "is not a tuple", id="a mapping"),
    ],
)
def test_what_cannot_travel_is_refused_where_it_is_given(items: object, problem: str) -> None:
    with pytest.raises(BadTerm, match=re.escape(problem)):
        fact(items)  # type: ignore[arg-type]  # that is the point


def test_a_bool_is_written_as_its_literal() -> None:
    assert n3(True) == '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'


def test_a_proper_list_of_constants_is_ground() -> None:
    assert is_ground(List((1, 2)))


@pytest.mark.parametrize("depth", [MAX_NESTING, 400, 5_000])
def test_terms_too_deep_in_each_other_are_refused_where_they_are_said(depth: int) -> None:
    deep: Term = "x"
    for number in range(depth - 1):
        deep = Compound((deep,)) if number % 2 else List(("x",), deep)
    assert nesting(deep) == depth
    if depth <= MAX_NESTING:
        assert fact(("a", deep)) == ("a", deep)

    with pytest.raises(BadTerm, match="terms more than 200 deep in each other; expected less"):
        fact(("a", Compound((deep,))))


SPEAKING = [chr(code) for code in (0, 7, 10, 11, 13, 27, 0x7F, 0x85, 0x9B, 0x61C, 0x2028, 0x2029, 0x202E, 0x2066, 0xFEFF)]
"""Characters that end a line, or that a terminal obeys."""


@pytest.mark.parametrize("character", SPEAKING, ids=lambda one: f"U+{ord(one):04X}")
def test_no_term_ends_its_line_or_speaks_to_a_terminal(character: str) -> None:
    text = f"a{character}+ ?x=forged"
    terms: list[Term] = [
        text,
        Symbol(text),
        IRI(text),
        BlankNode(text),
        Literal(text, "x:t"),
        Literal("a", text),
        Literal("a", "", text),
        Variable(text),
        Compound((Symbol(text), BlankNode(text))),
        List((text,), Variable(text)),
    ]

    written = [n3(one) for one in terms]

    assert [one for one in written if character in one or not one.isprintable()] == []


@pytest.mark.parametrize("character", [*SPEAKING, '"', "'", "\\", "\U0001f600", "\xe9"], ids=lambda one: f"U+{ord(one):04X}")
def test_what_is_escaped_reads_back(character: str) -> None:
    items = (f"a{character}b", Symbol(f"a{character}b"), IRI(f"http://e/{character.strip()}b"), Literal(f"a{character}b", "x:t"))

    (block,) = parse_script(f"INSERT {{ {show(items)} }}")

    assert isinstance(block, Insert)
    assert block.tuples == (items,)


@pytest.mark.parametrize("label", ["b1", "0", "a.b", "a-b", "a:b", "e\u0301", "\u00e9", "a\u00b7"])
def test_a_blank_node_has_a_label_of_n_triples(label: str) -> None:
    assert fact([BlankNode(label)]) == (BlankNode(label),)
    assert term(rdflib.BNode(label)) == BlankNode(label)


@pytest.mark.parametrize("label", ["", "a b", "a.", "-a", "b\n", "b\n+ ?who=admin", "<b>", "a\u202eb", "a\ufeff", "a\x1b[2J"])
def test_a_label_that_is_none_is_refused(label: str) -> None:
    for refused in ([BlankNode(label)], [Compound((Symbol("f"), BlankNode(label)))], [rdflib.BNode(label)]):
        with pytest.raises(BadTerm, match="is no label of a blank node; expected letters and digits"):
            fact(refused)

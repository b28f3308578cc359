"""Terms and tuples: one thing seen through two doors, and nothing lost between them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given
from pedro_terms import NASTY, SPACE_TUPLES, TEXTS, terms

from gsg.errors import BadTerm
from gsg.tuples.terms import IRI, XSD_DOUBLE, XSD_INTEGER, BlankNode, Compound, List, Literal, Symbol, Tuple, Variable, show
from pedro_compat import from_tuple, parse, to_tuple, write
from pedro_compat.terms.terms import Frozen, atom_of, text_of
from pedro_compat.terms.tuples import PEDRO_STRING, PEDRO_TERM, line_of_tuple
from pedro_compat.terms.writing import NumberedNames

A, B, F, X = Symbol("a"), Symbol("b"), Symbol("f"), Variable("X")

SEEN = [
    # a line, and the tuple that it is
    ("alarm", (Symbol("alarm"),)),
    ("f(a,b)", (F, A, B)),
    ("f(1,-2)", (F, 1, -2)),
    ("f(2.5)", (F, Literal("2.5", XSD_DOUBLE))),
    ("f(123456789012345678901)", (F, Literal("123456789012345678901", XSD_INTEGER))),
    ("f(1e999)", (F, Literal("INF", XSD_DOUBLE))),
    ('f("a b")', (F, "a b")),
    ('f("say \\"x\\"\\n")', (F, 'say "x"\n')),
    ('f("\\x41")', (F, Literal("\\x41", PEDRO_STRING))),
    ("f('B 1')", (F, Symbol("B 1"))),
    ("f('it\\'s')", (F, Symbol("it's"))),
    ("f('{}')", (F, Symbol("'{}'"))),
    ("f('\\x41')", (F, Symbol("'\\x41'"))),
    ("f(g(X),X)", (F, Compound((Symbol("g"), X)), X)),
    ("f([a,b])", (F, List((A, B)))),
    ("f([a|X])", (F, List((A,), X))),
    ("f([])", (F, Symbol("[]"))),
    ("[a,b]", (List((A, B)),)),
    ("+(1,2)", (Symbol("+"), 1, 2)),
    ("','(a,b)", (Symbol(","), A, B)),
    ("f('$none_')", (F, Symbol("$none_"))),
    ("f('$iri'(\"http://x\"))", (F, IRI("http://x"))),
    ("f('$blank'(\"b1\"))", (F, BlankNode("b1"))),
    ('f(\'$literal\'("5","http://t"))', (F, Literal("5", "http://t"))),
    ('f(\'$language\'("chat","fr"))', (F, Literal("chat", "", "fr"))),
    ('f(\'$literal\'("NaN","http://www.w3.org/2001/XMLSchema#double"))', (F, Literal("NaN", XSD_DOUBLE))),
    ("'$tuple'('$iri'(\"s\"),'$iri'(\"p\"),5)", (IRI("s"), IRI("p"), 5)),
    ("'$tuple'(5)", (5,)),
    ("'$iri'(\"s\")", (IRI("s"),)),
    ("'$tuple'(-,1)", (Symbol("-"), 1)),
    ("'$tuple'(.,a,b)", (Symbol("."), A, B)),
    ("'$tuple'(a,b)", (Symbol("$tuple"), A, B)),
    ("'$other'(\"a\")", (Symbol("$other"), "a")),
    ("'$iri'(a)", (Symbol("$iri"), A)),
    ("'$blank'(\"a b\")", (Symbol("$blank"), "a b")),
    ("'$blank'(\"b\\nforged(line)\")", (Symbol("$blank"), "b\nforged(line)")),
]


@pytest.mark.parametrize(("line", "items"), SEEN, ids=[case[0] for case in SEEN])
def test_line_and_tuple_are_the_same(line, items):
    assert to_tuple(parse(line)) == items
    assert write(from_tuple(items)) == line


@pytest.mark.parametrize("text", NASTY)
def test_symbol_has_one_atom(text):
    assert text_of(atom_of(text)) == text
    assert to_tuple(parse(write(from_tuple((F, Symbol(text)))))) == (F, Symbol(text))


@given(TEXTS)
def test_text_of_an_atom_is_a_bijection(text):
    assert text_of(atom_of(text)) == text


@given(terms().filter(lambda made: type(made) in (str, tuple)))
def test_notification_comes_back_from_the_space(made):
    written = write(made, NumberedNames())

    assert write(from_tuple(to_tuple(made)), NumberedNames()) == written


def renamed(items: Tuple) -> str:
    return write(from_tuple(items), NumberedNames())


@given(SPACE_TUPLES)
@example((Compound((Compound((A,)),)),))
@example((Compound((Symbol("$tuple"), Symbol("$tuple"), 5)), 5))
@example((Symbol("$literal"), "5", XSD_INTEGER))
@example((Symbol("$literal"), "a", PEDRO_TERM))
@example((Literal("f(a", PEDRO_TERM),))
def test_tuple_of_any_door_comes_back_from_its_line(items):
    line = write(from_tuple(items))

    assert renamed(to_tuple(parse(line))) == renamed(items)


@given(SPACE_TUPLES.filter(lambda items: "?" not in show(items)))
def test_tuple_without_variables_comes_back_equal(items):
    assert to_tuple(parse(write(from_tuple(items)))) == items


def test_literal_in_another_form_is_the_same_constant():
    assert from_tuple((F, Literal("abc"), Literal("5", XSD_INTEGER))) == ("f", b"abc", 5)


DEEP = {
    "compounds": "f(" * 10_000 + "X" + ")" * 10_000,
    "lists": "[" * 10_000 + "X" + "]" * 10_000,
    "functors": "'$tuple'(" * 10_000 + "X" + ")" * 10_000,
    "many functors": "'$tuple'(" + "'$tuple'," * 10_000 + "a)",
    "wide": "f(" + "a," * 10_000 + "X)",
    "long list": "f([" + "a," * 10_000 + "X])",
}


@pytest.mark.parametrize("line", DEEP.values(), ids=DEEP.keys())
def test_deep_and_wide_terms_fit_into_the_space(line):
    items = to_tuple(parse(line))

    decoded = msgspec.msgpack.decode(msgspec.msgpack.encode(items), type=Tuple)
    assert hash(decoded) == hash(items)
    assert write(from_tuple(decoded), NumberedNames()) == write(parse(line), NumberedNames())


def test_tuple_nested_too_deeply_by_another_door_is_refused():
    nested = A
    for _ in range(300):
        nested = List((nested,))

    with pytest.raises(BadTerm):
        from_tuple((F, nested))


@pytest.mark.parametrize(
    "items", [(), (Compound(()),), (F, Compound(())), (List((), Compound(())),)], ids=["tuple", "alone", "argument", "tail"]
)
def test_tuple_that_holds_nothing_somewhere_is_refused(items):
    with pytest.raises(BadTerm, match="a compound without items; expected at least one"):
        from_tuple(items)


def test_variables_of_a_tuple_are_one_by_name():
    _, first, second = from_tuple((F, X, Compound((Symbol("g"), X))), frozen=True)

    assert first is second[1]
    assert type(first) is Frozen


@pytest.mark.parametrize(
    "make",
    [str, Symbol, IRI, BlankNode, Variable, lambda text: Literal(text, "", text), lambda text: Literal(text, text)],
    ids=["string", "symbol", "IRI", "blank node", "variable", "language", "datatype"],
)
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"], ids=repr)
def test_no_term_ends_its_line(make, end):
    # As a peer that is not ours may say it: our doors refuse some.
    line = line_of_tuple((F, make(f"a{end}forged(line)"), Compound((F, make(f"a{end}")))))

    assert line is not None
    assert not set(line) & set(end)

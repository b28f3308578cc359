"""What a FILTER requires lets every value through that the FILTER passes, and few others."""

from __future__ import annotations

from itertools import product

import pytest

from gsg.languages.expressions.operators import Holds
from gsg.languages.expressions.tree import Call, Constant, Expression, Name
from gsg.tuples.terms import IRI, XSD, BlankNode, Literal, Symbol, Term, literal
from rete.predicates import ValueIndex


def typed(lexical: str, datatype: str) -> Term:
    return literal(lexical, XSD + datatype)


DATES = [
    typed(text, "dateTime")
    for text in (
        "2026-01-01T12:00:00Z",
        "2026-01-01T12:00:00",
        "2026-01-01T01:00:00",
        "2026-01-02T02:00:01",
        "2026-01-02T01:59:59+14:00",
        "2026-01-01T24:00:00",
    )
]
NUMBERS: list[Term] = [
    *(0, 1, -1, 20, 2**53, 2**53 + 1, 10**400, -(10**400)),
    *(typed(text, "double") for text in ("1.0E0", "NaN", "INF", "-INF", "9007199254740992", "-0.0", "2.05E1", " NaN")),
    *(typed(text, "decimal") for text in ("20.5", "9007199254740993.0", "1.0", "0.1")),
    *(typed(text, "float") for text in ("0.1", "16777217")),
    *(typed("7", "byte"), typed("700", "byte")),
]
TEXTS: list[Term] = ["", "a", "ab", "abc", "b", "9", literal("ab", "", "en"), literal("b", "", "de"), literal("ab", "", "en-GB")]
OTHERS: list[Term] = [
    IRI("http://x/ab"),
    Symbol("ab"),
    Symbol("a"),
    BlankNode("ab"),
    typed("true", "boolean"),
    typed("1", "boolean"),
    typed("2026-01-01", "date"),
    typed("P1D", "duration"),
    typed("x", "unknown"),
    Literal("ab", "http://x/kind"),
]
TERMS = [*NUMBERS, *TEXTS, *DATES, *OTHERS]
X = Name("x")


def through(test: Holds, value: Term) -> bool | None:
    """Whether what a test requires lets a value through; None where it requires nothing."""
    if not test.requires:
        return None
    found = []
    for at, requirement in test.requires:
        assert at == 0
        index = ValueIndex[int]()
        index.insert(requirement, 1)
        found.append(index.candidates(value) == [1])
    return all(found)


def check(expression: Expression) -> None:
    test = Holds(expression)
    for value in TERMS:
        if test((value,)):
            assert through(test, value) is not False, value


@pytest.mark.parametrize("function", ["=", "<", "<=", ">", ">=", "STRSTARTS", "STRENDS", "CONTAINS"])
def test_what_passes_a_comparison_is_let_through(function: str) -> None:
    for constant in TERMS:
        check(Call(function, (X, Constant(constant))))
        check(Call(function, (Constant(constant), X)))


@pytest.mark.parametrize("side", ["STR", "LANG", "DATATYPE", "STRLEN", "LCASE", "YEAR", "ABS"])
def test_what_is_looked_at_may_be_computed(side: str) -> None:
    of_x = Call(side, (X,))
    for function, constant in product(("=", ">", "<=", "CONTAINS"), [*TERMS, "http://x/ab", IRI(XSD + "integer"), 2026, "en"]):
        check(Call(function, (of_x, Constant(constant))))


def test_what_is_one_of_several_is_let_through() -> None:
    for first, second in product(TERMS, repeat=2):
        check(Call("IN", (X, Constant(first), Constant(second))))
        either = (Call("=", (X, Constant(first))), Call("=", (Constant(second), X)))
        check(Call("||", either))


@pytest.mark.parametrize(
    ("expression", "lets", "refuses"),
    [
        (Call(">", (X, Constant(20))), [21, typed("20.5", "decimal")], [19, "21", IRI("http://x"), typed("NaN", "double")]),
        (Call("<", (Constant(20), X)), [21], [19]),
        (Call("<=", (X, Constant("b"))), ["a", "b"], ["c", 1]),
        (Call("=", (X, Constant(1))), [1, typed("1.0", "decimal")], [2, "1"]),
        (Call("IN", (X, Constant(1), Constant("a"), Constant(IRI("u")))), [1, "a", IRI("u")], [2, "b", IRI("v")]),
        (Call(">", (X, Constant(DATES[0]))), [DATES[3]], [DATES[1], DATES[2], DATES[0].__class__("x", "y")]),
        (Call("STRSTARTS", (Call("STR", (X,)), Constant("http:"))), [IRI("http://x")], [IRI("urn:x"), "x"]),
        (Call("=", (Call("LANG", (X,)), Constant("en"))), [literal("a", "", "en")], [literal("a", "", "de"), "a", 1]),
        (Call("=", (Call("DATATYPE", (X,)), Constant(IRI(XSD + "integer")))), [1], ["a", typed("1", "double")]),
        (Call("CONTAINS", (X, Constant("b"))), ["abc", literal("ab", "", "en")], ["a", 1, Symbol("b")]),
    ],
)
def test_others_are_held_back(expression: Expression, lets: list[Term], refuses: list[Term]) -> None:
    test = Holds(expression)

    assert all(through(test, value) for value in lets)
    assert not any(through(test, value) for value in refuses)


@pytest.mark.parametrize(
    "expression",
    [
        Call("!=", (X, Constant(1))),
        Call("!", (Call(">", (X, Constant(1))),)),
        Call("||", (Call(">", (X, Constant(1))), Call("=", (X, Constant(0))))),
        Call("||", (Call("=", (X, Constant(1))), Call("=", (Name("y"), Constant(0))))),
        Call(">", (X, Name("y"))),
        Call(">", (X, Constant(typed("P1D", "duration")))),
        Call("=", (X, Constant(typed("x", "unknown")))),
        Call("BOUND", (X,)),
    ],
)
def test_some_are_not_looked_up(expression: Expression) -> None:
    assert Holds(expression).requires == ()

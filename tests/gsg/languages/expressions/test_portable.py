"""FILTERs of one tuple as texts: what travels, what it means at the other end, and what a stranger may send."""

from __future__ import annotations

import json
import pickle
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rete
from gsg import IRI, Literal, Symbol
from gsg.errors import Refused
from gsg.languages.expressions.operators import Holds
from gsg.languages.expressions.portable import MAX_DEPTH, MAX_SOURCE, MAX_STEPS, compile_tests, travels, written
from gsg.languages.expressions.tree import Call, Constant, Expression, Fresh, Name, conjuncts
from gsg.rendezvous import condition_tests
from gsg.tuples.terms import XSD_BOOLEAN, XSD_DOUBLE, BlankNode, Compound, Term, Variable
from gsg.wire.messages import Test as TupleTest  # pytest collects what is called Test

T, U = Name("t"), Name("u")
WARM = Call(">", (T, Constant(20)))
TRUE = Constant(Literal("true", XSD_BOOLEAN))


def sent(*expressions: Expression, places: dict[str, int]) -> Any:  # Any: a predicate over tuples
    """The predicate at the other end."""
    tests = [Holds(expression) for expression in expressions]
    source, count = written([(test.expression, test.names, tuple(places[name] for name in test.names)) for test in tests])
    assert count == len(tests)
    return compile_tests(source)


def test_a_filter_reads_the_positions_that_its_variables_have() -> None:
    holds = sent(WARM, places={"t": 2})

    assert [holds(("kitchen", Symbol("temp"), degrees), None) for degrees in (20, 21, Literal("20.5", XSD_DOUBLE))] == [
        False,
        True,
        True,
    ]


def test_filters_that_differ_in_names_alone_are_one_text() -> None:
    renamed = Call(">", (Name("degrees"), Constant(20)))

    assert written([(WARM, ("t",), (2,))]) == written([(renamed, ("degrees",), (2,))])


def test_several_filters_hold_together() -> None:
    holds = sent(WARM, Call("!=", (T, U)), places={"t": 0, "u": 1})

    assert [holds(items, None) for items in ((21, 22), (21, 21), (3, 4))] == [True, False, False]


def test_an_error_and_a_tuple_that_is_too_short_fail_a_filter() -> None:
    holds = sent(WARM, places={"t": 1})

    assert [holds(items, None) for items in (("a", Symbol("hot")), ("a",), ("a", Variable("v")), ("a", 30))] == [
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    "expression",
    [
        Call("REGEX", (T, Constant("a+"))),
        Call("REPLACE", (T, Constant("a"), Constant("b"))),
        Call("SHA256", (T,)),
        Call("CONCAT", (T, T)),
        Fresh("RAND", "seed", 0, ("t",)),
        Call("=", (T, Constant(Compound((Symbol("f"), 1))))),
        Call("=", (T, Constant("\ud800"))),
        Call("<", (T,)),
        Call("&&", (TRUE,) * MAX_STEPS),
        Call("=", (T, Constant("a" * MAX_SOURCE))),
    ],
    ids=["pattern", "replacement", "hash", "growth", "random", "compound", "surrogate", "arity", "steps", "length"],
)
def test_what_costs_much_or_cannot_be_written_stays(expression: Expression) -> None:
    assert not travels(expression)
    assert not Holds(expression).portable


def test_a_filter_travels_as_deep_as_it_is_read_and_no_deeper() -> None:
    deep: Expression = T
    for _ in range(MAX_DEPTH - 1):
        deep = Call("!", (deep,))
    source, _ = written([(deep, ("t",), (0,))])

    assert [travels(expression) for expression in (deep, Call("!", (deep,)))] == [True, False]
    assert compile_tests(source)((1,), None) is ((MAX_DEPTH - 1) % 2 == 0)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("", "no list of filters"),
        ("[" * MAX_SOURCE, "no list of filters"),
        ('[[[1,[1,"a",' + "[" * 9000, "no list of filters"),
        ("[[[0,1,2]]]", "no list of filters"),
        ("[[[3,1]]]", "no list of filters"),
        ("[[[1,1e400]]]", "no list of filters"),
        ("[[[1," + "9" * 9000 + "]]]", "no list of filters"),
        ("[]", "0 filters of 0 steps"),
        ("[[]]", "leaves 0 values"),
        (json.dumps([[[1, 1]] * (MAX_STEPS + 1)]), "expected 1 to 200 steps"),
        ("[[[1,1],[1,2]]]", "leaves 2 values"),
        ("[[[0,-1]]]", "position -1"),
        ("[[[0,255]]]", "position 255"),
        ('[[[1,1],[2,">",2]]]', "> of 2 arguments, where 1 values are there; expected 2"),
        ('[[[1,1],[2,"IN",0]]]', "IN of 0 arguments"),
        ('[[[1,1],[2,"!",-1]]]', "! of -1 arguments"),
        ('[[[1,1],[2,"BOUND",1]]]', "BOUND of what is no item"),
        ('[[[1,"a"],[1,"a"],[2,"REGEX",2]]]', "function 'REGEX' does not travel; expected one of =, !="),
        (json.dumps([[[0, 0], *([[2, "!", 1]] * MAX_DEPTH)]]), "more than 32 calls deep"),
        (" " * (MAX_SOURCE + 1), "16385 characters; expected at most 16384"),
    ],
)
def test_what_a_stranger_may_send_is_refused_by_name(source: str, problem: str) -> None:
    with pytest.raises(Refused, match=re.escape(problem)):
        compile_tests(source)


steps = st.one_of(
    st.tuples(st.just(0), st.integers(-1, 4)),
    st.tuples(st.just(1), st.one_of(st.integers(), st.text(max_size=3), st.just([1, "a"]), st.just([4, "1", "x"]))),
    st.tuples(
        st.just(2), st.sampled_from(["=", "<", "+", "*", "/", "!", "&&", "IN", "STR", "YEAR", "IF", "LCASE"]), st.integers(0, 3)
    ),
)
terms: st.SearchStrategy[Term] = st.sampled_from(
    ["", "a", 0, 7, Symbol("a"), IRI("i:a"), BlankNode("b"), Literal("1.5", XSD_DOUBLE), Literal("a", "", "en"), Variable("v")]
)


@given(st.lists(st.lists(steps, max_size=6), max_size=2), st.lists(terms, max_size=4).map(tuple))
def test_any_text_is_refused_or_a_filter_that_never_raises(tests: list[Any], items: tuple[Term, ...]) -> None:
    try:
        holds = compile_tests(json.dumps(tests))
    except Refused:
        return

    assert holds(items, None) in (True, False)


expressions: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(st.sampled_from([T, U]), terms.filter(lambda term: type(term) is not Variable).map(Constant)),
    lambda inner: st.one_of(
        st.builds(Call, st.sampled_from(["=", "<", "+", "*", "&&", "||", "IN", "SAMETERM", "CONTAINS"]), st.tuples(inner, inner)),
        st.builds(Call, st.sampled_from(["!", "STR", "ISIRI", "STRLEN", "ABS", "DATATYPE", "MINUS"]), st.tuples(inner)),
    ),
    max_leaves=8,
)


@given(expressions, terms, terms)
def test_a_filter_means_the_same_at_both_ends(expression: Expression, one: Term, other: Term) -> None:
    test = Holds(expression)
    values = {"t": one, "u": other}

    holds = sent(expression, places={"t": 2, "u": 0})

    assert holds((other, "between", one), None) is test(tuple(values[name] for name in test.names))


def test_the_tests_of_a_memory_travel_as_far_as_they_fit() -> None:
    many = [(Holds(Call("IN", (T, *map(Constant, range(number, number + 90))))), (1,)) for number in range(3)]
    template: rete.AnyTemplate = rete.Template((None, None))

    nothing = condition_tests.test_of(rete.AlphaSpec(template))
    whole, all_travel = condition_tests.test_of(rete.AlphaSpec(template, tuple(many[:2])))
    part, rest_stays = condition_tests.test_of(rete.AlphaSpec(template, tuple(many)))

    assert nothing == (None, True)
    assert (all_travel, rest_stays) == (True, False)
    assert whole == part


def test_a_peer_compiles_filters_by_their_name() -> None:
    test, _ = condition_tests.test_of(rete.AlphaSpec(rete.Template((None, None)), ((Holds(WARM), (1,)),)))
    assert test is not None

    assert condition_tests.compile_test(test)(("a", 21), None)
    with pytest.raises(Refused, match=r"test 'filter' does not accept '\[\]': 0 filters"):
        condition_tests.compile_test(TupleTest("filter", "[]"))


def test_a_conjunction_is_split_unless_it_is_very_long() -> None:
    both = Call("&&", (WARM, Call("&&", (T, U))))

    assert conjuncts(both) == (WARM, T, U)
    assert conjuncts(WARM) == (WARM,)
    assert len(conjuncts(Call("&&", (T,) * 17))) == 1


def test_a_filter_that_was_evaluated_can_be_sent_to_another_process() -> None:
    test = Holds(Call(">", (Name("x"), Constant(5))))
    assert test((6,))

    assert pickle.loads(pickle.dumps(test)) == test

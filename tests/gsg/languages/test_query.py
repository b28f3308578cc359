"""Standing queries, and their text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from query_text import write_query

import rete
from gsg.errors import BadQuery
from gsg.languages import parse_query
from gsg.languages.query import Query, alphas, refusing_bad_queries
from gsg.tuples.terms import IRI, BlankNode, Literal, Symbol, Term, literal, term

constants: st.SearchStrategy[Term] = st.one_of(
    st.sampled_from(["", "a", 'say "hi"\n', "\u00e9", 0, -7, 2**63 - 1]),
    st.sampled_from([0.5, -1e300, float("inf"), 2**70, True]).map(term),
    st.sampled_from(["a", "left-of", "two words", "NOT", "it's", "\u00e9"]).map(Symbol),
    st.sampled_from(["x:a", "http://example.org/a?b=c"]).map(IRI),
    st.just(BlankNode("b1")),
    st.just(literal("chat", language="fr")),
    st.just(Literal("5.0", "x:decimal")),
)
items = st.one_of(constants, st.sampled_from(["x", "y", "long_name1"]).map(rete.Variable), st.just(rete.WILDCARD))
conditions = st.lists(items, min_size=1, max_size=4).map(lambda pattern: rete.Condition(tuple(pattern)))
some = st.lists(conditions, min_size=1, max_size=3).map(tuple)
inner = st.builds(rete.Group, some, st.lists(st.builds(rete.Group, some), max_size=1).map(tuple))
queries = st.builds(rete.Group, some, st.lists(inner, max_size=2).map(tuple)).map(Query.selecting_all)


@given(queries)
def test_the_text_of_a_query_reads_as_the_query(query: Query) -> None:
    assert parse_query(write_query(query)).bound() == query


def test_a_query_is_written_as_script() -> None:
    text = 'SUBSCRIBE { (?x, on, *), (?x, 1, "a"), NOT { (?x, <x:a>), NOT { (?x, ?y) } } }'

    assert write_query(parse_query(text).bound()) == text


def test_a_row_binds_every_variable_outside_not() -> None:
    assert parse_query("(?y, on, ?x), NOT { (?x, ?z) }").select == ("y", "x")


def test_a_query_that_the_matcher_refuses_is_a_mistake_of_ours() -> None:
    with pytest.raises(BadQuery) as caught:
        Query.selecting_all(rete.Group(()))

    assert str(caught.value) == "a query needs at least one condition outside NOT: there is nothing to bind its variables"
    assert caught.value.__cause__ is None


def test_errors_of_others_pass() -> None:
    with pytest.raises(ZeroDivisionError), refusing_bad_queries():
        _ = 1 / 0


def test_equal_templates_of_a_query_are_one() -> None:
    query = parse_query("(?x, on, ?y), (?y, on, ?z), (?x, on, ?x), NOT { (?q, on, *), (?q, red) }")

    assert [alpha.template for alpha in alphas(query)] == [
        rete.Template((None, Symbol("on"), None)),
        rete.Template((None, Symbol("on"), None), ((0, 2),)),
        rete.Template((None, Symbol("red"))),
    ]


HUTS = rete.Group((rete.Condition((rete.Variable("x"), "in", rete.Parameter(0))),))


def in_place(place: str) -> Query:
    return Query(HUTS, ("x",), (place,))


def test_a_query_with_its_constants_put_back_has_no_arguments() -> None:
    assert in_place("Alps").bound() == Query(rete.Group((rete.Condition((rete.Variable("x"), "in", "Alps")),)), ("x",))

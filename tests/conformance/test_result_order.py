"""Queries that are asked once: the order of their rows, beside another program's."""

from __future__ import annotations

import pyoxigraph
import pytest
from naive_algebra import rows
from w3c import term_of

from gsg.languages import parse_query
from gsg.languages.result_form import Solution

TURTLE = """
PREFIX : <http://x/>
:a :age 3 ; :name "anna", "Anna"@de ; :of :x .
:b :age 10.5 ; :name "bert" ; :of :y .
:c :age 7 ; :of :x .
:d :age "seven" ; :name "carl"@en ; :of :y .
:e :of :x .
"""
QUERIES = [
    "SELECT ?s ?a { ?s :of ?g OPTIONAL { ?s :age ?a } } ORDER BY ?a ?s",
    "SELECT ?s { ?s :of ?g OPTIONAL { ?s :age ?a } } ORDER BY DESC(?a) ?s",
    "SELECT ?s { ?s :of ?g OPTIONAL { ?s :age ?a } } ORDER BY ?g DESC(?a) ?s OFFSET 1 LIMIT 3",
    "SELECT ?g (COUNT(*) AS ?n) { ?s :of ?g } GROUP BY ?g ORDER BY DESC(?n)",
    "SELECT ?g { ?s :of ?g } GROUP BY ?g ORDER BY COUNT(*)",
    "SELECT DISTINCT ?g { ?s :of ?g } ORDER BY DESC(?g)",
    "SELECT ?s { ?s :name ?n } ORDER BY STRLEN(?n) DESC(STR(?n)) ?s",
]


def solutions(text: str, facts: pyoxigraph.Store) -> list[Solution]:
    query = parse_query(text, "sparql", once=True)
    assert query.result is not None
    triples = [(term_of(quad.subject), term_of(quad.predicate), term_of(quad.object)) for quad in facts]
    return query.result.ordered(rows(query.body, query.select, triples).elements())


def stored() -> pyoxigraph.Store:
    store = pyoxigraph.Store()
    store.load(TURTLE.encode(), pyoxigraph.RdfFormat.TURTLE)
    return store


@pytest.mark.parametrize("text", QUERIES)
def test_rows_come_in_the_order_that_is_asked_for(text: str) -> None:
    text = f"PREFIX : <http://x/> {text}"

    found = solutions(text, stored())

    expected = stored().query(text)
    assert isinstance(expected, pyoxigraph.QuerySolutions)
    assert found == [tuple(None if value is None else term_of(value) for value in row) for row in expected]


def test_a_distinct_row_stands_where_the_first_of_its_solutions_does() -> None:
    text = "PREFIX : <http://x/> SELECT DISTINCT ?g { ?s :of ?g ; :age ?a FILTER(isNumeric(?a)) } ORDER BY DESC(?a) LIMIT 1"

    assert [str(row[0]) for row in solutions(text, stored())] == ["http://x/y"]


def test_texts_that_differ_in_a_limit_alone_are_different_queries() -> None:
    texts = [f"SELECT DISTINCT ?x {{ ?x <http://x/p> ?y }} ORDER BY ?y LIMIT {number}" for number in range(1, 5)]

    found = [parse_query(text, "sparql", once=True) for text in texts]

    assert [query.result.limit for query in found if query.result is not None] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("text", "kind"), [("ASK {}", "ASK"), ("SELECT * {?s ?p ?o}", "SELECT"), ("CONSTRUCT WHERE {?s ?p ?o}", "CONSTRUCT")]
)
def test_what_kind_of_result_it_is_is_known(text: str, kind: str) -> None:
    result = parse_query(text, "sparql", once=True).result

    assert result is not None
    assert result.kind == kind

"""EXISTS wherever an expression stands, and DISTINCT rows in the order of what they do not show, as pyoxigraph answers."""

from __future__ import annotations

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gsg
from gsg.errors import BadQuery
from gsg.languages.sparql import parse_query

E = "http://example.org/"
PREFIX = f"PREFIX : <{E}> "
XSD_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"

EXISTS_SOMEWHERE = [
    "SELECT (SUM(IF(EXISTS { ?x :q ?k }, ?n, 0)) AS ?s) { ?x :p ?n }",
    "SELECT ?x (COUNT(DISTINCT EXISTS { ?x :q ?n }) AS ?c) (MAX(IF(NOT EXISTS { ?n :q ?x }, ?n, 9)) AS ?m) { ?x :p ?n }"
    " GROUP BY ?x",
    "SELECT ?x { ?x :p ?n } GROUP BY ?x HAVING (SUM(IF(EXISTS { ?x :q ?n }, 1, 2)) > 2)",
    "SELECT ?x { ?x :p ?n } GROUP BY ?x HAVING (COUNT(*) > 1 || EXISTS { ?x :q ?k })",
    "SELECT ?e (COUNT(*) AS ?c) { ?x :p ?n } GROUP BY (EXISTS { ?x :q ?k } AS ?e)",
    "SELECT (COUNT(*) AS ?c) { ?x :p ?n } GROUP BY (IF(EXISTS { ?x :q ?k }, ?x, :none))",
    "SELECT ?x (EXISTS { ?x :q ?n FILTER(?n > 1) } AS ?e) { ?x :p ?n }",
    "SELECT * { ?x :p ?n BIND(IF(EXISTS { ?x :q ?k FILTER NOT EXISTS { ?k :p ?n } }, 1, 2) AS ?e) }",
    "SELECT * { ?x :p ?n FILTER(?n = 2 || EXISTS { ?x :q ?n } || NOT EXISTS { ?x :q ?k }) }",
    "SELECT * { ?x :p ?n OPTIONAL { ?x :q ?k FILTER(?k = 1 || EXISTS { ?k :p ?n }) } }",
    "SELECT (SUM(?e) AS ?s) { { SELECT (COUNT(IF(EXISTS { ?x :q 1 }, 1, ?unbound)) AS ?e) { ?x :p ?n } GROUP BY ?n } }",
]
"""Queries whose answer does not depend on an order."""

ORDERED = [
    "SELECT DISTINCT ?x { ?x :p ?n } ORDER BY ?n LIMIT 2",
    "SELECT DISTINCT ?x { ?x :p ?n } ORDER BY DESC(?n) ?x LIMIT 2 OFFSET 1",
    "SELECT DISTINCT ?x ?k { ?x :p ?n OPTIONAL { ?x :q ?k } } ORDER BY (?n * -1) ?x ?k LIMIT 3",
    "SELECT DISTINCT ?k { ?x :p ?n . ?x :q ?k } ORDER BY DESC(?n + ?k) ?x LIMIT 2",
    "SELECT DISTINCT ?k { ?x :p ?n . ?x :q ?k } GROUP BY ?x ?k ORDER BY DESC(SUM(?n)) ?k LIMIT 2",
    "SELECT DISTINCT ?x { ?x :p ?n } ORDER BY EXISTS { ?x :q ?n } ?x LIMIT 1",
]

SUBJECTS = st.sampled_from(["a", "b", "c"])
FACTS = st.tuples(SUBJECTS, st.sampled_from(["p", "q"]), st.integers(1, 3))


def answer_of_the_oracle(facts: set[tuple[str, str, int]], query: str) -> set[tuple[str | None, ...]]:
    store = pyoxigraph.Store()
    for subject, predicate, number in facts:
        literal = pyoxigraph.Literal(str(number), datatype=pyoxigraph.NamedNode(XSD_INTEGER))
        store.add(pyoxigraph.Quad(pyoxigraph.NamedNode(E + subject), pyoxigraph.NamedNode(E + predicate), literal))
    found = store.query(PREFIX + query)
    names = sorted(variable.value for variable in found.variables)
    return {tuple(None if row[name] is None else row[name].value for name in names) for row in found}


def fact(said: tuple[str, str, int]) -> tuple[object, ...]:
    return gsg.IRI(E + said[0]), gsg.IRI(E + said[1]), said[2]


def answer(subscription: gsg.Subscription) -> set[tuple[str | None, ...]]:
    names = sorted(subscription.variables)
    rows = [dict(row) for row in subscription.rows()]
    return {tuple(str(row[name]).strip("<>") if name in row else None for name in names) for row in rows}


@settings(max_examples=25)
@given(st.sampled_from(EXISTS_SOMEWHERE), st.lists(FACTS, max_size=8), st.lists(FACTS, max_size=5))
def test_exists_is_decided_wherever_it_stands(query: str, inserted: list[tuple[str, str, int]], retracted: list) -> None:
    space = gsg.Space()
    space.insert(map(fact, inserted))
    subscription = space.subscribe(PREFIX + query, "sparql")

    space.retract(map(fact, retracted))

    assert answer(subscription) == answer_of_the_oracle(set(inserted) - set(retracted), query)


@settings(max_examples=25)
@given(st.sampled_from(ORDERED), st.permutations([1, 2, 3, 4, 5, 6]), st.data())
def test_distinct_rows_stand_where_their_first_solution_does(query: str, numbers: list[int], data: st.DataObject) -> None:
    # Each number once, so that no two solutions tie.
    facts = [("abc"[at % 3], "p", number) for at, number in enumerate(numbers)]
    facts += data.draw(st.lists(st.tuples(SUBJECTS, st.just("q"), st.integers(1, 6)), max_size=4, unique_by=lambda one: one[2]))
    gone = data.draw(st.lists(st.sampled_from(facts), max_size=3))
    space = gsg.Space()
    subscription = space.subscribe(PREFIX + query, "sparql")
    space.insert(map(fact, facts))

    space.retract(map(fact, gone))

    assert answer(subscription) == answer_of_the_oracle(set(facts) - set(gone), query)


def test_a_row_of_the_slice_says_why_it_holds() -> None:
    space = gsg.Space()
    rows = space.subscribe(PREFIX + "SELECT DISTINCT ?x { ?x :p ?n } ORDER BY DESC(?n) LIMIT 1", "sparql")
    space.insert([fact(("a", "p", 1)), fact(("b", "p", 2)), fact(("b", "p", 3))])

    assert "holds" in str(rows.why({"x": gsg.IRI(E + "b")}))


def test_a_script_asks_for_both_too() -> None:
    space = gsg.Space()
    space.insert([("a", "on", 1), ("a", "on", 4), ("b", "on", 2), ("b", "big", True)])
    first = space.subscribe('SUBSCRIBE DISTINCT ?x { (?x, "on", ?n) } ORDER BY DESC(?n) LIMIT 1')
    summed = space.subscribe('SUBSCRIBE SUM(IF(EXISTS { (?x, "big", *) }, ?n, 0)) AS ?s { (?x, "on", ?n) }')

    assert [dict(row) for row in first.rows()] == [{"x": "a"}]
    assert [dict(row) for row in summed.rows()] == [{"s": 2}]


def test_too_many_exists_inside_expressions_are_refused() -> None:
    with pytest.raises(BadQuery, match="more than 10 EXISTS inside expressions"):
        parse_query("SELECT * { ?s ?p ?o FILTER(" + " || ".join(["EXISTS { ?s ?p 1 }"] * 11) + ") }")

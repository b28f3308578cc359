"""GRAPH, FROM and FROM NAMED: what each form answers, as a standing query while quads come and go, and how it is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from naive_algebra import evaluate

import gsg
from gsg.errors import BadQuery, Unsupported
from gsg.languages import parse_query
from gsg.languages.query import Query
from gsg.subscriptions.backlog import LIMIT
from gsg.tuples.terms import IRI, Term, Tuple

PROLOGUE = "PREFIX : <http://e/>\n"
QUADS = """
    a p b . b p c . a q 1
    a p b g . b p a g . a q 2 g . g p g g
    a p b h . c p c h
"""
"""The default graph, and two others; :none has nothing."""


def term(word: str) -> Term:
    return int(word) if word.isdigit() else IRI(f"http://e/{word}")


def facts(text: str) -> list[Tuple]:
    return [tuple(map(term, line.split())) for part in text.strip().splitlines() for line in part.split(" . ")]


def query(text: str, **graphs: list[str]) -> Query:
    return parse_query(PROLOGUE + text, "sparql", **graphs)  # type: ignore[arg-type]  # graphs, as the tests give them


Answer = Counter[frozenset[tuple[str, Term]]]


def answer(rows: Counter[gsg.Row]) -> Answer:
    made: Answer = Counter()
    for row, count in rows.items():
        made[frozenset(zip(row, row.terms, strict=True))] += count
    return made


def expected(rows: Iterable[str]) -> Answer:
    """Rows such as ``s=a o=1``."""
    pairs = ([pair.split("=") for pair in row.split()] for row in rows)
    return Counter(frozenset((name, term(word)) for name, word in row) for row in pairs)


CASES = [
    pytest.param("SELECT * { ?s :p ?o }", ["s=a o=b", "s=b o=c"], id="the default graph is the triples"),
    pytest.param("SELECT * { GRAPH :h { ?s :p ?o } }", ["s=a o=b", "s=c o=c"], id="one graph"),
    pytest.param("SELECT * { GRAPH ?g { ?s :q ?o } }", ["g=g s=a o=2"], id="each graph"),
    pytest.param("SELECT ?g { GRAPH ?g { :a :p :b } }", ["g=g", "g=h"], id="a triple of two graphs"),
    pytest.param("SELECT * { GRAPH ?g {} }", ["g=g", "g=h"], id="which graphs there are"),
    pytest.param("SELECT * { GRAPH :none {} }", [], id="no such graph"),
    pytest.param("SELECT * { GRAPH :g {} }", [""], id="such a graph"),
    pytest.param("ASK { GRAPH :none { OPTIONAL { ?s ?p ?o } } }", [], id="nothing is asked of a graph that is not there"),
    pytest.param("SELECT * { VALUES ?g { :g :none } GRAPH ?g { BIND(1 AS ?x) } }", ["g=g x=1"], id="BIND in each"),
    pytest.param("SELECT * { ?s :q ?n GRAPH ?g { ?s :q ?m } }", ["s=a n=1 g=g m=2"], id="joined with the default graph"),
    pytest.param("SELECT * { GRAPH ?g { ?s :q ?n } GRAPH ?h { ?s :p ?o } }", ["g=g h=g s=a n=2 o=b", "g=g h=h s=a n=2 o=b"]),
    pytest.param("SELECT ?g ?h { GRAPH ?g { :c :p :c GRAPH ?h { :g :p :g } } }", ["g=h h=g"], id="within each other"),
    pytest.param("SELECT ?s { GRAPH ?g { ?s :p ?g } }", ["s=g"], id="a graph that is said of itself"),
    pytest.param("SELECT * { GRAPH ?g { GRAPH ?g { :a :q ?n } } }", ["g=g n=2"], id="one variable twice"),
    pytest.param("SELECT ?s { GRAPH ?g { ?s :q 2 FILTER(?g = :g) } }", [], id="the variable has no value inside"),
    pytest.param("SELECT ?s { GRAPH ?g { ?s :q 2 } FILTER(?g = :g) }", ["s=a"], id="and has one outside"),
    pytest.param("SELECT ?g ?o { GRAPH ?g { :a :p :b OPTIONAL { :a :q ?o } } }", ["g=g o=2", "g=h"], id="OPTIONAL within each"),
    pytest.param("SELECT * { GRAPH ?g { OPTIONAL { :a :q ?o } } }", ["g=g o=2", "g=h"], id="OPTIONAL at the beginning"),
    pytest.param("SELECT * { ?s :q ?n OPTIONAL { GRAPH :h { ?s :q ?m } } }", ["s=a n=1"], id="GRAPH within OPTIONAL"),
    pytest.param("SELECT ?g ?s { GRAPH ?g { ?s :p ?o MINUS { ?s :q ?n } } }", ["g=g s=b", "g=g s=g", "g=h s=a", "g=h s=c"]),
    pytest.param("SELECT ?g { GRAPH ?g { :a :p :b MINUS { ?x :q ?y } } }", ["g=g", "g=h"], id="MINUS that shares no name"),
    pytest.param(
        "SELECT ?g ?s { GRAPH ?g { ?s :p ?o OPTIONAL { ?s :q ?n } MINUS { ?x :p :b OPTIONAL { ?x :q ?n } } } }",
        ["g=g s=b", "g=g s=g", "g=h s=a", "g=h s=c"],
        id="MINUS that may share a name",
    ),
    pytest.param(
        "SELECT * { { :a :q ?n } UNION { GRAPH ?g { :a :q ?n } } }", ["n=1", "n=2 g=g"], id="UNION with the default graph"
    ),
    pytest.param("SELECT * { GRAPH ?g { { :a :q ?n } UNION { VALUES ?n { 7 } } } }", ["g=g n=2", "g=g n=7", "g=h n=7"], id="UNION"),
    pytest.param("SELECT ?g ?s { GRAPH ?g { ?s :p ?o FILTER NOT EXISTS { ?o :p ?x } } }", ["g=h s=a"], id="EXISTS within each"),
    pytest.param("SELECT ?s { ?s :p ?o FILTER EXISTS { GRAPH ?o { ?x ?y ?z } } }", [], id="EXISTS with a graph from outside"),
    pytest.param("SELECT ?s { ?s ?p 1 FILTER EXISTS { GRAPH ?g { ?s ?p ?n } } }", ["s=a"], id="GRAPH within EXISTS"),
    pytest.param("SELECT * { GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s :q ?o } } }", ["g=g n=1", "g=h n=0"], id="a count for each"),
    pytest.param("SELECT * { GRAPH :none { SELECT (COUNT(*) AS ?n) { ?s :q ?o } } }", [], id="no count of no graph"),
    pytest.param("SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g", ["g=g n=4", "g=h n=2"], id="a count by graph"),
    pytest.param(
        "SELECT * { GRAPH ?g { SELECT ?s (COUNT(*) AS ?n) { ?s :p ?o } GROUP BY ?s HAVING(COUNT(*) > 1) } }", [], id="HAVING"
    ),
    pytest.param(
        "SELECT ?g ?s { GRAPH ?g { SELECT ?s { ?s :p ?o } ORDER BY DESC(?s) LIMIT 1 } }", ["g=g s=g", "g=h s=c"], id="LIMIT"
    ),
    pytest.param("SELECT * { GRAPH ?g { SELECT DISTINCT ?p { ?s ?p ?o } } }", ["g=g p=p", "g=g p=q", "g=h p=p"], id="DISTINCT"),
    pytest.param("SELECT ?g ?x { GRAPH ?g { :b :p+ ?x } }", ["g=g x=a", "g=g x=b"], id="a walk stays within a graph"),
    pytest.param("SELECT ?g ?x { GRAPH ?g { :z :p* ?x } }", ["g=g x=z", "g=h x=z"], id="a walk of no steps is in each graph"),
    pytest.param("SELECT ?x { GRAPH :none { :z :p* ?x } }", [], id="and not in one that is not there"),
    pytest.param(
        "SELECT * { GRAPH ?g { ?x :p? ?x } }", ["g=g x=a", "g=g x=b", "g=g x=g", "g=g x=2", "g=h x=a", "g=h x=b", "g=h x=c"]
    ),
    pytest.param(
        "SELECT ?x { ?s :q 1 FILTER EXISTS { GRAPH ?g { ?s :p* :a } } BIND(3 AS ?x) }", ["x=3"], id="a walk within EXISTS"
    ),
    pytest.param("SELECT * { GRAPH ?g { :a !:p ?x } }", ["g=g x=2"], id="a negated step"),
    pytest.param("SELECT * { GRAPH :g { ?x ^:p/:q ?n } }", ["x=b n=2"], id="a sequence"),
    pytest.param("SELECT * FROM :g { ?s :q ?n }", ["s=a n=2"], id="FROM"),
    pytest.param(
        "SELECT ?s ?o FROM :g FROM :h { ?s :p ?o }", ["s=a o=b", "s=b o=a", "s=g o=g", "s=c o=c"], id="FROM merges as sets"
    ),
    pytest.param("SELECT (COUNT(*) AS ?n) FROM :g FROM :h FROM :g { ?s :p ?o }", ["n=4"], id="and counts a triple once"),
    pytest.param("SELECT ?n FROM :g FROM :none { :b :p/:q ?n }", ["n=2"], id="FROM what is not there"),
    pytest.param("SELECT ?x FROM :g FROM :h { :b :p+ ?x }", ["x=a", "x=b"], id="a walk over merged graphs"),
    pytest.param("SELECT ?x FROM :g FROM :h { ?x !:q :c }", ["x=c"], id="a negated step over merged graphs"),
    pytest.param("SELECT * FROM :g { GRAPH ?g { ?s ?p ?o } }", [], id="FROM alone has no named graphs"),
    pytest.param("SELECT * FROM NAMED :g { ?s ?p ?o }", [], id="FROM NAMED alone has an empty default graph"),
    pytest.param("SELECT ?x FROM NAMED :g { :a :p* ?x }", ["x=a"], id="in which a term is still connected with itself"),
    pytest.param("SELECT ?g FROM NAMED :h FROM NAMED :c { GRAPH ?g { :a :p :b } }", ["g=h"], id="FROM NAMED"),
    pytest.param("SELECT * FROM NAMED :none FROM NAMED :g { GRAPH ?x {} }", ["x=none", "x=g"], id="FROM NAMED lists what is there"),
    pytest.param("SELECT ?x FROM NAMED :none { GRAPH ?g { :z :p* ?x } }", ["x=z"], id="a walk of no steps in an empty graph"),
    pytest.param(
        "SELECT ?n FROM NAMED :none { GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } } }", ["n=0"], id="nothing is counted"
    ),
    pytest.param("SELECT ?s FROM :g FROM NAMED :h { GRAPH :g { ?s ?p ?o } }", [], id="a graph that FROM NAMED does not list"),
    pytest.param("SELECT ?s FROM :g FROM NAMED :h { ?s :q ?n GRAPH :h { ?s :p ?o } }", ["s=a"], id="both"),
    pytest.param("ASK FROM :h { :c :p :c }", [""], id="ASK"),
    pytest.param("CONSTRUCT FROM :h WHERE { ?s :p ?o }", ["subject=a predicate=p object=b", "subject=c predicate=p object=c"]),
    pytest.param("CONSTRUCT { ?g :q ?s } { GRAPH ?g { ?s :q 2 } }", ["subject=g predicate=q object=a"], id="CONSTRUCT"),
]
each_case = pytest.mark.parametrize(("text", "rows"), CASES)


@each_case
def test_a_query_over_graphs_has_its_rows(text: str, rows: list[str]) -> None:
    with gsg.Space() as space:
        space.insert(facts(QUADS))

        found = answer(space._subscribe(query(text), None, LIMIT).rows())

    assert found == expected(rows)


@each_case
def test_its_rows_come_and_go_with_quads(text: str, rows: list[str]) -> None:
    made, there = query(text), []
    with gsg.Space() as space:
        subscription = space._subscribe(made, None, LIMIT)
        for fact in [*facts(QUADS), *reversed(facts(QUADS))]:
            if fact in there:
                there.remove(fact)
                space.retract([fact])
            else:
                there.append(fact)
                space.insert([fact])

            assert answer(subscription.rows()) == evaluate(made.bound().body, there)  # type: ignore[arg-type]  # a tree


@pytest.mark.parametrize(
    ("graphs", "rows"),
    [
        ({"default_graphs": ["http://e/g"]}, ["n=2"]),
        ({"default_graphs": ["http://e/h"], "named_graphs": ["http://e/g"]}, []),
        ({"named_graphs": ["http://e/g"]}, []),
        ({}, ["n=1"]),
    ],
)
def test_the_request_says_the_dataset_rather_than_the_text(graphs: dict[str, list[str]], rows: list[str]) -> None:
    text = "SELECT ?n { :a :q ?n }" if not graphs else "SELECT ?n FROM :none FROM NAMED :none { :a :q ?n }"
    with gsg.Space() as space:
        space.insert(facts(QUADS))

        found = [answer(space._subscribe(query(text, **graphs), None, LIMIT).rows()) for _ in range(3)]

    assert found == [expected(rows)] * 3


def test_a_language_without_graphs_is_given_none() -> None:
    with pytest.raises(
        Unsupported, match="a query in 'gsg' has no graphs; expected one in SPARQL, or the graph as the fourth term"
    ):
        parse_query("(?s, ^p, ?o)", default_graphs=["http://e/g"])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?s {{ GRAPH <http://e/{0}> {{ ?s <http://e/p> <http://e/{1}> }} }}",
        "SELECT ?s FROM <http://e/{0}> {{ ?s <http://e/p> <http://e/{1}> }}",
        "SELECT ?s FROM <http://e/{0}> FROM <http://e/{1}> {{ ?s <http://e/p> ?o }}",
        "SELECT ?g ?s FROM NAMED <http://e/{0}> FROM NAMED <http://e/{1}> {{ GRAPH ?g {{ ?s <http://e/p> ?o }} }}",
        "SELECT ?s FROM NAMED <http://e/{0}> {{ GRAPH <http://e/{1}> {{ ?s <http://e/p> ?o }} }}",
        "SELECT ?s {{ GRAPH <http://e/{0}> {{ ?s <http://e/p>* <http://e/{1}> }} }}",
    ],
)
def test_texts_that_differ_in_graphs_alone_are_each_read_right(text: str) -> None:
    from gsg.languages.sparql import parse_query as read

    for one in ("g", "h", "b", "c", "none", "x1", "x2", "x3", "x4", "x5"):
        for other in ("b", one, "g", "h"):
            written = text.format(one, other)
            found, meant = parse_query(written, "sparql").bound().body, read(written).body
            assert evaluate(found, facts(QUADS)) == evaluate(meant, facts(QUADS))  # type: ignore[arg-type]  # trees


def test_graphs_are_shown_in_an_explanation() -> None:
    pattern = "?s :p+ ?o GRAPH ?g { ?s :p* ?x MINUS { ?s :q ?n } { SELECT ?s { ?s :p ?o } LIMIT 2 } }"
    text = f"SELECT * FROM :g FROM :h FROM NAMED :h {{ {pattern} }}"
    with gsg.Space() as space:
        shown = str(space.explain(PROLOGUE + text, "sparql"))

    assert "path (?s, (<http://e/p>)+, ?o) in <http://e/g> and <http://e/h>" in shown
    assert "path (?s, (<http://e/p>)*, ?x) in <http://e/h>" in shown
    assert "MINUS within each ?g" in shown
    assert "LIMIT 2 within each ?g" in shown


def test_a_row_over_graphs_is_explained_by_its_quads() -> None:
    with gsg.Space() as space:
        space.insert(facts(QUADS))
        subscription = space.subscribe(PROLOGUE + "SELECT ?g ?x { GRAPH ?g { :b :p+ ?x } }", "sparql")

        why = str(subscription.why({"g": term("g"), "x": term("b")}))
        why_not = str(subscription.why_not({"g": term("h"), "x": term("b")}))

    assert "(<http://e/b>, <http://e/p>, <http://e/a>, <http://e/g>)" in why
    assert "in ?g" in why_not


def test_too_many_graphs_are_not_merged_for_a_request() -> None:
    with pytest.raises(BadQuery, match="FROM merges 65 graphs; expected at most 64"):
        query("SELECT * { ?s ?p ?o }", default_graphs=[f"http://e/{number}" for number in range(65)])


def test_more_named_graphs_than_a_path_may_be_asked_of_are_refused() -> None:
    many = [f"urn:g:{number}" for number in range(257)]

    with pytest.raises(BadQuery, match=r"FROM NAMED lists 257 graphs; expected at most 256, or GRAPH [?]g of all that there are"):
        parse_query("ASK { GRAPH ?g { ?s <urn:p>* ?o } }", "sparql", named_graphs=many)

"""What a query of SPARQL becomes."""

from __future__ import annotations

import pytest
import rdflib

import rete
from gsg.errors import BadQuery
from gsg.languages.expressions.aggregates import Aggregated
from gsg.languages.expressions.iris import resolve
from gsg.languages.expressions.tree import Name
from gsg.languages.sparql import parse_query
from gsg.tuples.terms import IRI, XSD, XSD_INTEGER, BlankNode, Literal, n3
from rete import algebra

PROLOGUE = "PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
X, Y, Z = (rete.Variable(name) for name in "xyz")
P, Q = IRI("http://e/p"), IRI("http://e/q")


def pattern(text: str) -> algebra.Algebra:
    tree = parse_query(PROLOGUE + "SELECT * {" + text + "}").body
    assert isinstance(tree, algebra.Project)
    return tree.child


def edges(*triples: tuple[object, object, object]) -> algebra.Basic:
    return algebra.Basic(tuple(map(rete.Condition, triples)))


def test_literals_keep_their_lexical_form() -> None:
    tree = pattern(':s :p 01, +1, -01, 1.50, -1.50, 1e3, .5, "01"^^xsd:integer, "a"@EN, true, "\\u00e9", 1')

    assert isinstance(tree, algebra.Basic)
    decimal = XSD + "decimal"
    assert [condition.pattern[2] for condition in tree.conditions] == [
        Literal("01", XSD_INTEGER),
        Literal("+1", XSD_INTEGER),
        Literal("-01", XSD_INTEGER),
        Literal("1.50", decimal),
        Literal("-1.50", decimal),
        Literal("1e3", XSD + "double"),
        Literal(".5", decimal),
        Literal("01", XSD_INTEGER),
        Literal("a", "", "en"),
        Literal("true", XSD + "boolean"),
        "é",
        1,
    ]


@pytest.mark.parametrize(
    ("written", "text"),
    [(r'"it\'s"', "it's"), (r"'a\"b'", 'a"b'), (r'"""a"b\'c\n"""', "a\"b'c\n"), (r'"\\u0041"', r"\u0041"), (r'"\u0041"', "A")],
)
def test_strings_are_unescaped_once(written: str, text: str) -> None:
    tree = pattern(f":s :p {written}")

    assert tree == edges((IRI("http://e/s"), P, text))


def test_rdflib_is_left_as_it_was() -> None:
    before = rdflib.NORMALIZE_LITERALS

    parse_query("ASK { ?s ?p 01 }")

    assert before == rdflib.NORMALIZE_LITERALS


def test_blank_nodes_are_variables_that_are_not_selected() -> None:
    query = parse_query("SELECT * { [] ?x _:b . _:b ?y ?z }")

    assert query.select == ("x", "y", "z")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (":p", edges((X, P, Y))),
        ("^:p", edges((Y, P, X))),
        (":p/^:q", edges((X, P, rete.Variable(".path1")), (Y, Q, rete.Variable(".path1")))),
        (":p|:q", algebra.Union(edges((X, P, Y)), edges((X, Q, Y)))),
        (":p*", algebra.Path(X, algebra.Closure(algebra.Link(P), reflexive=True, transitive=True), Y)),
        (
            "^(:p/:q)+",
            algebra.Path(X, algebra.Closure(algebra.Steps(algebra.Link(Q, True), algebra.Link(P, True)), False, True), Y),
        ),
        (":p?", algebra.Path(X, algebra.Closure(algebra.Link(P), reflexive=True, transitive=False), Y)),
        ("!:p", algebra.Path(X, algebra.NegatedSet((P,), None), Y)),
        ("!^:p", algebra.Path(X, algebra.NegatedSet(None, (P,)), Y)),
        ("!(:p|^:q|a)", algebra.Path(X, algebra.NegatedSet((P, IRI(str(rdflib.RDF.type))), (Q,)), Y)),
        ("^!(:p|^:q)", algebra.Path(X, algebra.NegatedSet((Q,), (P,)), Y)),
        ("!()", algebra.Path(X, algebra.NegatedSet((), None), Y)),
    ],
)
def test_paths(path: str, expected: algebra.Algebra) -> None:
    assert pattern(f"?x {path} ?y") == expected


def test_equal_queries_are_equal_data() -> None:
    text = (
        PROLOGUE
        + "SELECT ?x (SUM(?y * 2) AS ?s) { ?x :p/:q* ?y FILTER(?y > 5 || EXISTS { ?y :p ?x }) } GROUP BY ?x ORDER BY ?x LIMIT 3"
    )

    assert parse_query(text) == parse_query(text)
    assert hash(parse_query(text).body) == hash(parse_query(text).body)


def test_exists_that_is_a_condition_is_an_operator() -> None:
    tree = pattern("?x :p ?y FILTER(?y > 1 && !EXISTS { ?y :q ?z })")

    assert isinstance(tree, algebra.Filter)
    assert tree.child == algebra.Exists(edges((X, P, Y)), edges((Y, Q, Z)), negated=True)


def test_filters_hold_of_their_whole_group() -> None:
    assert pattern("FILTER(?y > 1) ?x :p ?y") == pattern("?x :p ?y FILTER(?y > 1)")


def test_a_filter_does_not_part_a_basic_graph_pattern() -> None:
    tree = pattern("?x :p _:b FILTER(?x != 1) _:b :q ?y")

    assert isinstance(tree, algebra.Filter)
    assert tree.child == edges((X, P, rete.Variable(".blank1")), (rete.Variable(".blank1"), Q, Y))


def test_many_triples_are_one_basic_graph_pattern() -> None:
    tree = pattern("?x :p ?y . " * 100)

    assert tree == edges(*[(X, P, Y)] * 100)


def test_hundreds_of_triples_are_read_and_refused_for_their_number() -> None:
    with pytest.raises(BadQuery, match="301 conditions and operators"):
        pattern("?x :p ?y . " * 300)


def test_slices_sort_by_names_that_are_not_selected() -> None:
    query = parse_query(PROLOGUE + "SELECT ?x { ?x :p ?y } ORDER BY DESC(?y) LIMIT 2 OFFSET 1")

    assert isinstance(query.body, algebra.Project)
    assert isinstance(query.body.child, algebra.Slice)
    assert (query.body.child.offset, query.body.child.limit) == (1, 2)


def test_order_puts_unbound_before_blank_before_iri_before_literal() -> None:
    order = parse_query("SELECT ?x { ?x ?y ?z } ORDER BY ?x LIMIT 9").body.order
    terms = ["b", 10, Literal("9.5", XSD + "decimal"), IRI("http://e/"), None, BlankNode("b"), Literal("a", "http://e/t"), "a"]

    ordered = sorted(terms, key=lambda term: order((term,)))

    assert ordered == [
        None,
        BlankNode("b"),
        IRI("http://e/"),
        Literal("9.5", XSD + "decimal"),
        10,
        "a",
        "b",
        Literal("a", "http://e/t"),
    ]


def test_order_descends_key_by_key() -> None:
    order = parse_query("SELECT * { ?x ?y ?z } ORDER BY DESC(?x) ?y LIMIT 9").body.order
    assert order.names == ("x", "y")

    assert sorted([(1, 1), (2, 2), (2, 1)], key=order) == [(2, 1), (2, 2), (1, 1)]


def test_the_rows_of_construct_are_triples_each_once() -> None:
    query = parse_query(PROLOGUE + "CONSTRUCT { ?x :q ?y } { ?x :p ?y } ORDER BY ?x")

    assert query.select == ("subject", "predicate", "object")
    assert isinstance(query.body, algebra.Distinct)


@pytest.mark.parametrize(
    ("function", "steps", "expected"),
    [
        ("COUNT", [(1, 2), ("a", 1), (None, 1)], "3"),
        ("SUM", [], "0"),
        ("SUM", [(1, 1), (2, 2)], "5"),
        ("SUM", [(1, 1), (Literal("0.5", XSD + "decimal"), 2)], '"2"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
        ("SUM", [(1, 1), ("a", 1)], None),
        ("SUM", [(1, 1), ("a", 1), ("a", -1)], "1"),
        ("SUM", [(1, 1), (None, 1)], None),
        ("AVG", [], "0"),
        ("AVG", [(1, 1), (2, 1)], '"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
        ("MIN", [], None),
        ("MIN", [(3, 1), (2, 1), (1, 1), (1, -1)], "2"),
        ("MAX", [(3, 1), ("a", 1)], '"a"'),
        ("SAMPLE", [(None, 1), (3, 1), (2, 1)], "2"),
        ("GROUP_CONCAT", [("b", 1), ("a", 2)], '"a a b"'),
        ("GROUP_CONCAT", [], '""'),
        ("GROUP_CONCAT", [(BlankNode("b"), 1)], None),
    ],
)
def test_aggregates(function: str, steps: list[tuple[object, int]], expected: str | None) -> None:
    kept = Aggregated(function, Name("x")).start()

    for item, weight in steps:
        kept.change((item,), weight)

    result = kept.result()
    assert (None if result is None else n3(result)) == expected


def test_a_sum_of_doubles_does_not_remember_what_went() -> None:
    kept = Aggregated("SUM", Name("x")).start()
    huge, small = Literal("1e300", XSD + "double"), Literal("0.1", XSD + "double")

    for item, weight in ((small, 1), (huge, 1), (huge, -1)):
        kept.change((item,), weight)

    assert kept.result() == small


def test_distinct_counts_each_value_once() -> None:
    kept = Aggregated("COUNT", Name("x"), distinct=True).start()

    for weight in (1, 2, -1):
        kept.change((5,), weight)

    assert kept.result() == 1


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("#s", "http://a/b/c/d;p?q#s"),
        ("", "http://a/b/c/d;p?q"),
        ("..", "http://a/b/"),
        ("../../../g", "http://a/g"),
        ("g:h/./i", "g:h/./i"),
    ],
)
def test_references_are_resolved(reference: str, expected: str) -> None:
    assert resolve("http://a/b/c/d;p?q", reference) == expected

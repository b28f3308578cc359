"""Whatever the update and whatever is there: what it leaves is what pyoxigraph has after it, up to the labels of blank nodes.

WHERE asks conditions and not more, as what queries mean is the matter of the other tests here. Where pyoxigraph says that a graph
does not exist, SILENT stands: here none can fail that way. GRAPH has some triple in its braces, as it leaves an empty one out.
"""

from __future__ import annotations

import pyoxigraph
import pytest
from fact_histories import GRAPH as TRIPLES
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from queries import PROLOGUE, Fact, among, iris, literals
from test_oracle_equivalence import Change
from w3c import term_of

import gsg
from gsg.languages.sparql.updates import parse_update
from gsg.subscriptions.backlog import LIMIT
from gsg.tuples.terms import BlankNode, Tuple, n3

EXAMPLES = 400

_names = ("?a", "?b", "?c", "?g")
_variables = among(_names)
_graphs = among((":a", ":b"))
_predicates = among((":p", ":q"))
_nodes = st.one_of(iris, iris, among(("_:n",)))
_data = st.builds("{} {} {} .".format, _nodes, _predicates, st.one_of(_nodes, literals))
_ground = st.builds("{} {} {} .".format, iris, _predicates, st.one_of(iris, literals))
_asked = st.builds(
    "{} {} {} .".format, st.one_of(_variables, _variables, iris), st.one_of(_predicates, _variables), st.one_of(_variables, iris)
)
_made = st.builds(
    "{} {} {} .".format,
    st.one_of(_variables, _variables, iris, among(("_:x", "_:y", "[]"))),
    st.one_of(_predicates, _predicates, _variables),
    st.one_of(_variables, _variables, literals, among(("_:x", "_:y"))),
)


def _quads(triples: st.SearchStrategy[str], graphs: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """What stands between braces: triples, some of them in graphs."""
    some = st.lists(triples, min_size=1, max_size=2).map(" ".join)
    return st.lists(st.one_of(some, among(("",)), st.builds("GRAPH {} {{ {} }}".format, graphs, some)), min_size=1, max_size=2).map(
        " ".join
    )


_any_graph = st.one_of(_graphs, among(("?g",)))
_with = st.one_of(among(("",)), _graphs.map("WITH {} ".format))
_clauses = st.lists(st.one_of(_graphs.map("USING {}".format), _graphs.map("USING NAMED {}".format)), max_size=1)
_using = st.one_of(among(("",)), _clauses.map(" ".join))
_deleted, _inserted = _quads(_asked, _any_graph), _quads(_made, _any_graph)
_where = _quads(_asked, _any_graph)
_templates = st.one_of(
    st.builds("DELETE {{ {} }} INSERT {{ {} }}".format, _deleted, _inserted),
    _deleted.map("DELETE {{ {} }}".format),
    _inserted.map("INSERT {{ {} }}".format),
)
_target = st.one_of(_graphs.map("GRAPH {}".format), among(("DEFAULT", "NAMED", "ALL")))
_end = st.one_of(_graphs.map("GRAPH {}".format), _graphs, among(("DEFAULT",)))
_operations = st.one_of(
    _quads(_data, _graphs).map("INSERT DATA {{ {} }}".format),
    _quads(_ground, _graphs).map("DELETE DATA {{ {} }}".format),
    _deleted.map("DELETE WHERE {{ {} }}".format),
    *[st.builds("{}{} {} WHERE {{ {} }}".format, _with, _templates, _using, _where)] * 4,
    st.builds("{} SILENT {}".format, among(("CLEAR", "DROP")), _target),
    st.builds("{} SILENT {} TO {}".format, among(("ADD", "COPY", "MOVE")), _end, _end),
    _graphs.map("CREATE SILENT GRAPH {}".format),
)
_triples = st.tuples(iris, _predicates, st.one_of(iris, literals))
_facts: st.SearchStrategy[Fact] = st.builds(
    lambda triple, graph: (*triple, *graph), st.one_of(_triples, st.sampled_from(TRIPLES)), st.sampled_from(((), (":a",), (":b",)))
)


def _labelled(operations: list[str]) -> str:
    """One text; a label of data stands in one operation."""
    return " ;\n".join(operation.replace("_:n", f"_:n{number}") for number, operation in enumerate(operations))


def _applied(text: str, there: set[Tuple]) -> set[Tuple]:
    space = gsg.Space()
    space.insert(there)
    for operation in parse_update(text):
        asked = None if operation.query is None else space._subscribe(operation.query, None, LIMIT)
        changes = operation.changes(() if asked is None else asked.rows().elements())
        assert set(changes.retracted).isdisjoint(changes.inserted)
        there = (there - set(changes.retracted)) | set(changes.inserted)
        space.retract(changes.retracted)
        space.insert(changes.inserted)
    return there


def _canonical(facts: set[Tuple]) -> set[str]:
    """The facts with blank nodes named by what is said of them."""
    dataset = pyoxigraph.Dataset()
    for fact in facts:
        terms = [
            pyoxigraph.BlankNode("n" + item.label.replace(".", "x")) if type(item) is BlankNode else pyoxigraph.Literal(n3(item))
            for item in fact
        ]
        row = pyoxigraph.BlankNode("row" + str(len(dataset)))
        for place, item in enumerate(terms):
            dataset.add(pyoxigraph.Quad(row, pyoxigraph.NamedNode(f"urn:{place}"), item))
    dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    return set(map(str, dataset))


@pytest.mark.long
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(st.lists(_operations, min_size=1, max_size=3).map(_labelled), st.lists(_facts, max_size=14, unique=True))
def test_an_update_leaves_what_the_oracle_has(text: str, facts: list[Fact]) -> None:
    changes = [Change.of(fact, 1) for fact in facts]
    store = pyoxigraph.Store()
    for change in changes:
        store.add(change.quad)
    note(text)

    store.update(PROLOGUE + text)
    left = _applied(PROLOGUE + text, {change.fact for change in changes})

    expected = {
        tuple(map(term_of, (*quad.triple, *(() if isinstance(quad.graph_name, pyoxigraph.DefaultGraph) else (quad.graph_name,)))))
        for quad in store
    }
    assert _canonical(left) == _canonical(expected)

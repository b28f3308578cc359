"""Replay in memory beside a live space: the same rows, come and gone at the same times."""

from __future__ import annotations

from collections import Counter

import pytest
from histories import histories, live, queries
from hypothesis import given, settings

from gsg.languages import parse_query
from gsg.tuples.terms import IRI, Symbol
from simulations.errors import BadParameter
from simulations.replay.history import Change
from simulations.replay.in_memory import replay
from simulations.replay.relations import check


@settings(max_examples=150)
@given(text=queries(), changes=histories())
def test_replay_answers_as_a_live_space_does(text: str, changes: list[Change]) -> None:
    assert Counter(replay(parse_query(text), changes)) == live(text, changes)


SPARQL = [
    "ASK { FILTER NOT EXISTS { ?x :p ?y } }",
    "ASK { ?x :p ?y . ?y :p ?x }",
    "SELECT ?x ?unbound { ?x :p/:q ?y }",
    "SELECT ?y { ?x :p ?y FILTER EXISTS { ?y :q ?z FILTER (?z != ?x) } }",
    "SELECT * { { ?x :p ?y FILTER NOT EXISTS { ?x :q ?y } } { ?x :p ?z FILTER NOT EXISTS { ?x :p ?x } } }",
    "SELECT ?x { ?x :p ?y { SELECT DISTINCT ?y { ?y :q ?z } } }",
    "SELECT ?x { ?x :p ?y FILTER NOT EXISTS { ?x :p ?y } }",
]


@pytest.mark.parametrize("text", SPARQL)
@given(changes=histories(most=20))
@settings(max_examples=20)
def test_sparql_is_replayed_too(text: str, changes: list[Change]) -> None:
    names = {Symbol(name): IRI(f"http://example.org/{name}") for name in "abpq"}
    changes = [change._replace(fact=tuple(names.get(item, item) for item in change.fact)) for change in changes]
    text = "PREFIX : <http://example.org/> " + text

    assert Counter(replay(parse_query(text, "sparql"), changes)) == live(text, changes, "sparql")


REFUSED = {
    "OPTIONAL": "SELECT * { ?x ?p ?y OPTIONAL { ?y ?p ?z } }",
    "UNION": "SELECT * { { ?x ?p ?y } UNION { ?y ?p ?x } }",
    "MINUS": "SELECT * { ?x ?p ?y MINUS { ?y ?p ?x } }",
    "BIND ?x + 1 AS ?y": "SELECT * { ?x ?p 1 BIND (?x + 1 AS ?y) }",
    "VALUES of ?x: 1 row": "SELECT * { ?x ?p ?y VALUES ?x { 1 } }",
    "LIMIT 5": "SELECT * { ?x ?p ?y } LIMIT 5",
    "EXISTS inside an expression": "SELECT * { ?x ?p ?y FILTER (?x = 1 || EXISTS { ?y ?p ?x }) }",
    "path (?x, (<x:p>)+, ?y)": "SELECT * { ?x <x:p>+ ?y }",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_replay_does_not_answer_is_refused_by_name(name: str) -> None:
    with pytest.raises(BadParameter) as refused:
        check(parse_query(REFUSED[name], "sparql"))

    assert str(refused.value) == (
        f"replay does not answer {name}; it answers conditions that are joined, FILTER, NOT, EXISTS, selections of variables and "
        "DISTINCT"
    )


def test_windows_of_events_are_refused_by_name() -> None:
    with pytest.raises(BadParameter, match=r"does not answer windows of events, as in \(\?x, on, \?y\) WINDOW 10 s; it answers"):
        check(parse_query("(?x, on, ?y) WINDOW 10 s"))

"""Random SPARQL over quads, and histories of them, as hypothesis strategies that shrink: what queries.py makes, within GRAPH.

The oracle is asked about each graph by itself, as the recommendation defines GRAPH ?g (section 18.5): pyoxigraph has all graphs in
one bag where it groups or slices, and gives the variable a value inside. Which graphs there may be is known, :a and :b; whether one
is there is part of the question.

Paths have steps (queries.py says why), and there are no slots within GRAPH: the text for the oracle repeats what stands there.
"""

from __future__ import annotations

from dataclasses import dataclass

from fact_histories import GRAPH as TRIPLES
from fact_histories import History
from hypothesis import strategies as st
from queries import (
    END,
    OURS,
    PREDICATES,
    PROLOGUE,
    SLOTTED,
    THEIRS,
    Asked,
    Fact,
    Piece,
    among,
    groups,
    iris,
    literals,
    names,
    once,
    selects,
    up_to,
    variable,
)

GRAPHS = (":a", ":b")

Clauses = tuple[tuple[str, ...], tuple[str, ...]]
"""The graphs of FROM, and those of FROM NAMED."""


@dataclass(frozen=True)
class AskedOfGraphs:
    """A query, and the dataset that it says, if any."""

    asked: Asked
    clauses: Clauses | None

    def dataset(self) -> Clauses | None:
        if self.clauses is None:
            return None
        default, named = (tuple(graph.replace(":", "http://e/") for graph in graphs) for graphs in self.clauses)
        return default, named


def _in_one(graph: str, inner: str, listed: tuple[str, ...] | None) -> str:
    """GRAPH with a constant, for the oracle."""
    if listed is None:
        return f"{{ GRAPH {graph} {{ {inner} }} FILTER EXISTS {{ GRAPH {graph} {{ ?e1 ?e2 ?e3 }} }} }}"
    return f"{{ GRAPH {graph} {{ {inner} }} }}" if graph in listed else f"{{ {{ GRAPH {graph} {{ {inner} }} }} FILTER(false) }}"


def _within(graph: str, piece: Piece, listed: tuple[str, ...] | None) -> Piece:
    """A pattern in one graph, or in each."""
    inner = piece.text.replace(SLOTTED, ":c")
    ours = f"GRAPH {graph} {{ {inner} }}"
    if graph.startswith(":"):
        return Piece(f"{OURS}{ours}{THEIRS}{_in_one(graph, inner, listed)}{END}", piece.names)
    graphs = GRAPHS if listed is None else listed
    sides = [f"{{ {_in_one(each, inner, listed)} VALUES {graph} {{ {each} }} }}" for each in graphs] or ["{ FILTER(false) }"]
    return Piece(f"{OURS}{ours}{THEIRS}{{ {' UNION '.join(sides)} }}{END}", (*piece.names, graph[1:]))


_graphs = st.one_of(names.map(variable), st.just("?g"), st.just("?g"), st.sampled_from(GRAPHS))


@once
@st.composite
def in_graphs(draw: st.DrawFn, depth: int, listed: tuple[str, ...] | None, *, within_exists: bool = False) -> Piece:
    """GRAPH around something."""
    kind = draw(among(("group", "group", "group", "minus", "nested", "select", "exists", "optional", "empty")))
    inner = draw(groups(depth, within_exists=True, hides=within_exists))
    if kind == "minus" and not within_exists:
        inner = inner + Piece(f"MINUS {{ {draw(groups(0, within_exists=True)).text} }}")
    elif kind == "nested" and depth:
        inner = inner + draw(in_graphs(depth - 1, listed, within_exists=within_exists))
    elif kind == "select":
        shown = draw(selects(depth, within_exists=True))
        inner = Piece(f"{{ {shown.text} }}", shown.names)
    elif kind == "exists":
        sign = draw(among(("EXISTS", "NOT EXISTS")))
        inner = inner + Piece(f"FILTER {sign} {{ {draw(groups(0, within_exists=True, hides=within_exists)).text} }}")
    elif kind == "optional":
        inner = Piece(f"OPTIONAL {{ {inner.text} }}", inner.names)
    elif kind == "empty":
        inner = Piece("")
    return _within(draw(_graphs), inner, listed)


@once
@st.composite
def mixed(draw: st.DrawFn, depth: int, listed: tuple[str, ...] | None) -> Piece:
    """Patterns of the default graph and of others, beside and inside each other."""
    piece = draw(in_graphs(depth, listed))
    if draw(up_to(2)) == 0:
        piece = draw(groups(0, within_exists=True)) + piece
    for _ in range(draw(up_to(2))):
        kind = draw(among(("join", "optional", "minus", "union", "exists", "group")))
        inner = draw(in_graphs(depth, listed, within_exists=kind == "exists"))
        if kind == "join":
            piece = piece + inner
        elif kind == "optional":
            piece = piece + Piece(f"OPTIONAL {{ {inner.text} }}", inner.names)
        elif kind == "minus":
            piece = piece + Piece(f"MINUS {{ {inner.text} }}")
        elif kind == "union":
            piece = Piece(f"{{ {piece.text} }} UNION {{ {inner.text} }}", (piece + inner).names)
        elif kind == "exists":
            piece = piece + Piece(f"FILTER {draw(among(('EXISTS', 'NOT EXISTS')))} {{ {inner.text} }}")
        else:
            other = draw(groups(0, within_exists=True))
            piece = Piece(f"{{ {piece.text} }} {{ {other.text} }}", (piece + other).names)
    return piece


_lists = st.lists(st.sampled_from((*GRAPHS, ":c")), max_size=2, unique=True).map(tuple)
_clauses = st.one_of(st.none(), st.none(), st.tuples(_lists, _lists).filter(any))


@st.composite
def quad_queries(draw: st.DrawFn) -> AskedOfGraphs:
    """Queries of all forms over the graphs :a and :b."""
    clauses: Clauses | None = draw(_clauses)
    piece = draw(mixed(1, None if clauses is None else clauses[1]))
    text = piece.text.replace(SLOTTED, ":c")
    said = "" if clauses is None else " ".join([*map("FROM {}".format, clauses[0]), *map("FROM NAMED {}".format, clauses[1])])
    where = f"{OURS}{said} {THEIRS}{END}WHERE {{ {text} }}"
    form = draw(among(("SELECT", "SELECT", "SELECT", "COUNT", "ASK", "CONSTRUCT")))
    if form == "COUNT":
        form, text = "SELECT", f"SELECT ?g (COUNT(*) AS ?counted) {where} GROUP BY ?g"
    elif form == "SELECT":
        text = f"SELECT {draw(among(('', 'DISTINCT ')))}* {where}"
    elif form == "ASK":
        text = f"ASK {where}"
    else:
        # Names may be unbound or literals: then there is no triple.
        text = f"CONSTRUCT {{ ?a :p ?b . ?g :q ?c }} {where}"
    return AskedOfGraphs(Asked(form, PROLOGUE + text), clauses)


_places = st.sampled_from(((), (":a",), (":a",), (":b",), (":b",)))
_nodes = st.tuples(iris, among(PREDICATES), st.one_of(iris, iris, literals))
_facts = st.builds(lambda triple, graph: (*triple, *graph), st.one_of(_nodes, st.sampled_from(TRIPLES)), _places)


@st.composite
def quad_histories(draw: st.DrawFn) -> History:
    """Facts of the default graph and of two others, which come and go."""
    first: dict[Fact, None] = dict.fromkeys(draw(st.lists(_facts, max_size=16)))
    then = draw(st.lists(st.one_of(_facts, _facts, up_to(19)), min_size=3, max_size=10))
    return History(tuple(first), tuple(then))

"""Random histories of the small world that random queries (queries.py) are asked of, as hypothesis strategies that shrink."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from queries import BLANKS, PREDICATES, Fact, among, iris, literals, once, up_to

KEPT: tuple[Fact, ...] = ((":a", ":k", ":b"), (":c", ":k", ":b"))
"""What stays until the end, where a path may have no steps."""


GRAPH: tuple[Fact, ...] = (
    (":a", ":p", ":b"),
    (":b", ":p", ":c"),
    (":c", ":p", ":a"),
    (":b", ":p", ":b"),
    (":a", ":q", ":c"),
    (":c", ":q", ":c"),
    (":a", ":q", "1"),
    (":b", ":q", "2"),
    (":b", ":q", '"1"^^xsd:decimal'),
    (":c", ":q", '"s"'),
    (":a", ":p", '"s"@en'),
    (":c", ":p", '"2.5"^^xsd:double'),
    (":a", ":a", ":a"),
    (":b", ":a", ":b"),
)
"""A graph in which much is found."""


@dataclass(frozen=True)
class History:
    """The facts of the beginning, which come at once, and what follows: a fact comes, or a number says which goes."""

    first: tuple[Fact, ...]
    then: tuple[Fact | int, ...]


@once
def _facts(blank: bool) -> st.SearchStrategy[Fact]:
    nodes = st.one_of(iris, iris, among(BLANKS)) if blank else iris
    objects = st.one_of(nodes, nodes, literals)
    return st.one_of(st.tuples(nodes, among(PREDICATES), objects), st.sampled_from(GRAPH))


_there = st.tuples(*[st.sampled_from((True, True, False))] * len(GRAPH))


@once
def _changes(blank: bool) -> st.SearchStrategy[list[Fact | int]]:
    facts = _facts(blank)
    return st.lists(st.one_of(facts, facts, up_to(19)), min_size=3, max_size=12)


@once
@st.composite
def histories(draw: st.DrawFn, *, blank: bool) -> History:
    chosen = draw(_there)
    then = draw(_changes(blank))
    return History(tuple(fact for fact, is_there in zip(GRAPH, chosen, strict=True) if is_there), tuple(then))

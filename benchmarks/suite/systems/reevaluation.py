"""Evaluating again: one store, in which each query is evaluated after each batch of changes, and compared with what it said before.

The store is pyoxigraph's, and so is the evaluation: nothing of ours decides what is right here, so that this is the oracle too. Two
things are done for it: equal texts are evaluated once, and a query only if it names a predicate of which something has changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Self

import pyoxigraph

from ..files import Change
from ..queries import patterns_of
from ..users import Line
from .system import Measures, Row, Tell

_Rows = Counter[tuple[str | None, ...]]


@lru_cache(maxsize=1 << 18)  # beyond, terms are only made again
def _node(text: str) -> pyoxigraph.NamedNode | pyoxigraph.Literal:
    if text[0] == "<":
        return pyoxigraph.NamedNode(text[1:-1])
    value, _, datatype = text[1:].partition('"^^')
    return pyoxigraph.Literal(value, datatype=pyoxigraph.NamedNode(datatype[1:-1]))


def _quad(triple: tuple[str, str, str]) -> pyoxigraph.Quad:
    subject, predicate, object = map(_node, triple)
    assert isinstance(subject, pyoxigraph.NamedNode)
    assert isinstance(predicate, pyoxigraph.NamedNode)
    return pyoxigraph.Quad(subject, predicate, object)


class _Query:
    """One text, whoever asked for it."""

    def __init__(self, line: Line) -> None:
        self.text = line.sparql
        self.events = line.query.events
        predicates = {predicate for _, predicate, _ in patterns_of(line.query)}
        self.predicates = None if any(one[0] == "?" for one in predicates) else predicates
        """Which it names; None for any."""
        self.event = line.query.where[0]
        self.rows: _Rows = Counter()
        self.askers: set[int] = set()


class Reevaluation:
    """The system."""

    name = "reevaluation"

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._store = pyoxigraph.Store()
        self._queries: dict[str, _Query] = {}
        self._query_of: dict[int, _Query] = {}
        self._by_predicate: dict[str | None, dict[str, _Query]] = defaultdict(dict)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._queries.clear()

    async def subscribe(self, subscription: Line) -> None:
        query = self._queries.get(subscription.sparql)
        if query is None:
            query = self._queries[subscription.sparql] = _Query(subscription)
            for predicate in query.predicates or (None,):
                self._by_predicate[predicate][query.text] = query
            if not query.events:
                query.rows = self._evaluated(query)
        query.askers.add(subscription.subscription)
        self._query_of[subscription.subscription] = query
        for row in query.rows.elements():
            self._tell(subscription.subscription, 1, row)

    async def unsubscribe(self, subscription: int) -> None:
        query = self._query_of.pop(subscription)
        query.askers.discard(subscription)
        if not query.askers:
            del self._queries[query.text]
            for predicate in query.predicates or (None,):
                del self._by_predicate[predicate][query.text]

    async def change(self, changes: Sequence[Change]) -> None:
        changed: set[str | None] = set()
        for sign, triple in changes:
            if sign:
                (self._store.add if sign > 0 else self._store.remove)(_quad(triple))
                changed |= {triple[1], None}
        asked = {text: query for predicate in changed for text, query in self._by_predicate[predicate].items() if not query.events}
        for query in asked.values():
            now = self._evaluated(query)
            if now != query.rows:
                self._told(query, -1, query.rows - now)
                self._told(query, 1, now - query.rows)
                query.rows = now
        for sign, triple in changes:
            if not sign:
                self._notify(triple)

    def _notify(self, triple: tuple[str, str, str]) -> None:
        # There for as long as it is asked about. Queries for events of another kind would have no rows.
        quad = _quad(triple)
        self._store.add(quad)
        for query in list(self._by_predicate[triple[1]].values()):
            if all(mine[0] == "?" or mine == its for mine, its in zip(query.event, triple, strict=True)):
                self._told(query, 0, self._evaluated(query))
        self._store.remove(quad)

    def _evaluated(self, query: _Query) -> _Rows:
        solutions = self._store.query(query.text)
        assert isinstance(solutions, pyoxigraph.QuerySolutions)
        return Counter(tuple(None if term is None else str(term) for term in solution) for solution in solutions)

    def _told(self, query: _Query, sign: int, rows: _Rows) -> None:
        for row in rows.elements():
            for asker in sorted(query.askers):
                self._tell(asker, sign, row)

    async def settle(self) -> None:
        """Everything is told before a call returns."""

    async def answers(self, subscription: int) -> list[Row] | None:
        return list(self._query_of[subscription].rows.elements())

    async def measures(self) -> Measures:
        return Measures()

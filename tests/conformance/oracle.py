"""pyoxigraph as a judge: a store that evaluates a query again, and answers in a form that can be compared.

The oracle keeps the value of a number, not its lexical form; facts for it have numbers in the one form that it writes. That ours
keep their forms is tested by the W3C suite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import pyoxigraph
from w3c import Rows, term_of

from gsg.tuples.terms import Term

GLUED = "glued"
"""The name of a GROUP_CONCAT with "|" between its parts, which come in any order (SPARQL 1.1, section 18.5.1.7)."""


class Oracle:
    """Triples, of pyoxigraph's terms."""

    def __init__(self) -> None:
        self._store = pyoxigraph.Store()
        self._terms: dict[object, Term] = {}

    def insert(self, quad: pyoxigraph.Quad) -> None:
        self._store.add(quad)

    def retract(self, quad: pyoxigraph.Quad) -> None:
        self._store.remove(quad)

    def answer(self, text: str) -> Rows:
        """The rows of a query; the truth of ASK is an empty row, a triple of CONSTRUCT a row."""
        found = self._store.query(text)
        if isinstance(found, pyoxigraph.QueryBoolean):
            return Counter([frozenset()]) if found else Counter()
        if isinstance(found, pyoxigraph.QueryTriples):
            names = ["subject", "predicate", "object"]
            return Counter(self._row(names, triple) for triple in {(t.subject, t.predicate, t.object) for t in found})
        names = [variable.value for variable in found.variables]
        return Counter(self._row(names, row) for row in found)

    def _row(self, names: Iterable[str], values: Iterable[object]) -> frozenset[tuple[str, Term]]:
        return comparable({name: self._term(value) for name, value in zip(names, values, strict=True) if value is not None})

    def _term(self, value: object) -> Term:
        known = self._terms.get(value)
        if known is None:
            known = self._terms[value] = term_of(value)
        return known


def comparable(row: Mapping[str, Term]) -> frozenset[tuple[str, Term]]:
    """A row, as the oracle's and ours are compared."""
    glued = row.get(GLUED)
    return frozenset((row if glued is None else {**row, GLUED: "|".join(sorted(str(glued).split("|")))}).items())

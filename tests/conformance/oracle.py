"""pyoxigraph as a judge: a store that evaluates a query again, and answers in a form that can be compared.

The oracle keeps the value of a number, not its lexical form; facts for it have numbers in the one form that it writes. That ours
keep their forms is tested by the W3C suite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pyoxigraph
from w3c import Rows, term_of

from gsg.tuples.terms import Term

GLUED = "glued"
"""The name of a GROUP_CONCAT with "|" between its parts, which come in any order (SPARQL 1.1, section 18.5.1.7)."""


class Oracle:
    """Triples and quads, of pyoxigraph's terms."""

    def __init__(self, dataset: tuple[Sequence[str], Sequence[str]] | None = None) -> None:
        """``dataset`` lists the graphs that are merged into the default graph, and the named ones: pyoxigraph's own merge counts a
        triple of two graphs twice, so its default graph is filled here."""
        self._store = pyoxigraph.Store()
        self._quads: dict[pyoxigraph.Quad, None] = {}
        self._dataset = dataset
        self._list_graphs()
        self._terms: dict[object, Term] = {}

    def insert(self, quad: pyoxigraph.Quad) -> None:
        self._quads[quad] = None
        self._fill(quad)

    def retract(self, quad: pyoxigraph.Quad) -> None:
        del self._quads[quad]
        self._fill(quad)

    def _fill(self, changed: pyoxigraph.Quad) -> None:
        if self._dataset is None:
            (self._store.add if changed in self._quads else self._store.remove)(changed)
            return
        default, named = (set(map(pyoxigraph.NamedNode, graphs)) for graphs in self._dataset)
        self._store.clear()
        self._list_graphs()
        for quad in self._quads:
            if quad.graph_name in named:
                self._store.add(quad)
            if quad.graph_name in default:
                self._store.add(pyoxigraph.Quad(*quad.triple))

    def _list_graphs(self) -> None:
        """The named graphs of a dataset are there even where they have no triples."""
        for graph in () if self._dataset is None else self._dataset[1]:
            self._store.add_graph(pyoxigraph.NamedNode(graph))

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

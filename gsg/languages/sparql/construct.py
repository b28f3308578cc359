"""CONSTRUCT as a standing query: a graph whose triples are rows (SPARQL 1.1, section 16.2).

For each triple of the template there is a branch: the solutions with the triple's three terms as names of their own, those that
make no triple left out. The graph is the union of the branches with each triple once: it is there while any solution makes it.

Blank nodes of the template are new in every solution. They are computed from all that the solution binds, and from the number of
its copy where solutions are equal, so that a solution takes away the nodes that it brought; and from the text, so that equal
queries have equal graphs.
"""

from __future__ import annotations

import hashlib
from functools import reduce
from typing import Any

import rete
from rete import algebra
from rete.compile.scope import in_scope

from ...tuples.terms import IRI, BlankNode, Term
from ..expressions.operators import Computed, Holds
from ..expressions.tree import Call, Constant, Expression, Fresh, Name
from ..groups import balanced
from .terms import Reader, kind_of

TRIPLE = ("subject", "predicate", "object")
"""The names of a row."""

_MADE = tuple("." + name for name in TRIPLE)
"""The same while the query's own names are there too: no text can name them."""
_EMPTY = algebra.Values(_MADE, ())


class ConstructTemplate:
    """The template of one CONSTRUCT over the solutions of a tree."""

    def __init__(self, reader: Reader, query: Any, solutions: algebra.Algebra) -> None:  # Any: rdflib's parse tree is untyped
        self._template = _template(reader, query)
        items = [item for triple in self._template for item in triple]
        self._fresh = any(isinstance(item, BlankNode) for item in items)
        self._copy = reader.hidden_name("copy")
        text = " ".join(token.text for token in reader.source.tokens)
        self._seed = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        used = (item.name for item in items if isinstance(item, rete.Variable))
        # With blank nodes all of a solution tells it from others.
        self.reads = tuple(dict.fromkeys((*used, *in_scope(solutions)) if self._fresh else used))
        """The names of a solution that the template needs."""

    def graph_of(self, tree: algebra.Algebra) -> algebra.Algebra:
        """The graph, from the solutions with just the names of ``reads``."""
        if self._fresh:
            tree = algebra.Numbered(tree, self._copy)
        template = filter(_may_be, self._template)
        branches: list[algebra.Algebra] = [algebra.Project(self._branch(triple, tree), _MADE) for triple in template]
        made = balanced(algebra.Union, branches) if branches else _EMPTY
        for name, hidden in zip(TRIPLE, _MADE, strict=True):
            made = algebra.Extend(made, name, Computed(Name(hidden)))
        return algebra.Distinct(algebra.Project(made, TRIPLE))

    def _branch(self, triple: _Triple, tree: algebra.Algebra) -> algebra.Algebra:
        tests: list[Expression] = []
        for item, name in zip(triple, _MADE, strict=True):
            tree = algebra.Extend(tree, name, Computed(self._value(item)))
            if isinstance(item, rete.Variable):
                tests.append(_fits(name))
        return reduce(algebra.Filter, map(Holds, tests), tree)

    def _value(self, item: Term | rete.Variable) -> Expression:
        if isinstance(item, rete.Variable):
            return Name(item.name)
        if isinstance(item, BlankNode):
            return Fresh("BNODE", self._seed, int(item.label), (*self.reads, self._copy))
        return Constant(item)


_Triple = tuple["Term | rete.Variable", "Term | rete.Variable", "Term | rete.Variable"]


def _fits(name: str) -> Expression:
    """Whether the term may stand there: no literal as subject, an IRI as predicate, something as object."""
    value = Name(name)
    if name == _MADE[0]:
        return Call("||", (Call("ISIRI", (value,)), Call("ISBLANK", (value,))))
    return Call("ISIRI", (value,)) if name == _MADE[1] else Call("BOUND", (value,))


def _may_be(triple: _Triple) -> bool:
    """Whether the constants of the triple are where they may be."""
    return type(triple[0]) in (IRI, BlankNode, rete.Variable) and type(triple[1]) in (IRI, rete.Variable)


def _template(reader: Reader, query: Any) -> list[_Triple]:  # Any: as above
    """The triples of CONSTRUCT, with variables and blank nodes; those of the pattern in the short form CONSTRUCT WHERE."""
    if query.template is None and query.where is not None and kind_of(query.where) == "FakeGroupGraphPatten":
        blocks = [block for part in query.where.part for block in part.triples]
    else:
        blocks = list(query.template or ())
    labels: dict[str, BlankNode] = {}

    def term(part: Any) -> Term | rete.Variable:
        if kind_of(part) == "BNode":
            return labels.setdefault(str(part), BlankNode(str(len(labels))))
        return reader.term(part, 0)

    triples: dict[_Triple, None] = {}
    for block in blocks:
        terms = [term(part) for part in block]
        triples.update(dict.fromkeys((terms[at], terms[at + 1], terms[at + 2]) for at in range(0, len(terms) - len(terms) % 3, 3)))
    return list(triples)

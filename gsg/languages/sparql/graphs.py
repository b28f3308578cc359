"""Which graph a pattern is asked of: GRAPH, FROM and FROM NAMED (SPARQL 1.1, sections 13 and 18.5).

A quad is a tuple of four terms, the last of which is its graph; the default graph is the tuples of three. Nothing is fetched: a
graph is what is there under its name, and one of which nothing is there is none, unless FROM NAMED lists it.

GRAPH ?g asks its pattern of each graph by itself. So all that is asked of a graph binds a name to that graph, which is a column of
solutions like others: joins, OPTIONAL and EXISTS compare it, and groups, slices and MINUS are made within each of its values. The
rule: a tree that depends on the graph has its name in scope and surely binds it; what does not depend on it need not, until it
stands beside something that does (:meth:`ActiveGraph.beside`).

Not here: how a path walks within a graph, which is rete's (:class:`rete.algebra.Path`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import rete
from rete import algebra
from rete.compile.paths import facts_in, nullable
from rete.compile.scope import certain, in_scope

from ...errors import BadQuery
from ...tuples.terms import IRI
from ..expressions.operators import Computed, Holds
from ..expressions.tree import Call, Name
from ..groups import balanced, joined
from .terms import Reader

MAX_MERGED = 64
"""Graphs that FROM merges into the default graph: each pattern is asked of each of them; a query with more is refused."""

MAX_NAMED = 256
"""Graphs that FROM NAMED lists: a path that may have no steps is asked of each of them by itself; a query with more is refused."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """What a query is asked of: the graphs that make the default graph, and the named ones. None where nobody says: then they are
    the tuples of three terms, and all graphs that there are."""

    default: tuple[IRI, ...] | None = None
    named: tuple[IRI, ...] | None = None

    @classmethod
    def listing(cls, default: Iterable[IRI], named: Iterable[IRI]) -> Dataset:
        """These graphs and no others; where none is listed, whatever is there (SPARQL 1.1, section 13.2). Raises BadQuery."""
        graphs, others = tuple(dict.fromkeys(default)), tuple(dict.fromkeys(named))
        if len(graphs) > MAX_MERGED:
            raise BadQuery(f"FROM merges {len(graphs)} graphs; expected at most {MAX_MERGED}, or FROM NAMED with GRAPH ?g")
        if len(others) > MAX_NAMED:
            raise BadQuery(
                f"FROM NAMED lists {len(others)} graphs; expected at most {MAX_NAMED}, or GRAPH ?g of all that there are"
            )
        return cls(graphs, others) if graphs or others else cls()

    def __bool__(self) -> bool:
        """Whether somebody says."""
        return self.default is not None

    @property
    def default_graph(self) -> Any:  # Any: a graph as in algebra.Path
        if self.default is None:
            return None
        return self.default[0] if len(self.default) == 1 else algebra.Merged(self.default)


def said_dataset(reader: Reader, clauses: Any) -> Dataset:  # Any: rdflib's parse tree is untyped
    """The dataset that FROM and FROM NAMED say, or USING and USING NAMED."""
    default = [reader.iri(clause.default) for clause in clauses or () if clause.default is not None]
    named = [reader.iri(clause.named) for clause in clauses or () if clause.named is not None]
    return Dataset.listing(default, named)


class ActiveGraph:
    """The graph that the patterns of a group are asked of: ``term`` as in :class:`rete.algebra.Path`, of a dataset."""

    def __init__(self, dataset: Dataset, term: Any, hidden: Callable[[str], str]) -> None:  # Any: as above
        self.dataset = dataset
        self.term = term
        self.name = term.name if isinstance(term, rete.Variable) else ""
        """The name that solutions bind to the graph; empty where it is always the same one."""
        self._hidden = hidden

    def matching(self, pattern: tuple[Any, Any, Any]) -> algebra.Algebra:  # Any: constants and variables
        """The facts of the graph that a pattern of three terms matches."""
        return facts_in(self.term, pattern)

    def walks(self, subject: Any, path: algebra.PathStep, object_: Any) -> algebra.Algebra:  # Any: as above
        """The pairs that a path connects within the graph."""
        if not self.name:
            return algebra.Path(subject, path, object_, self.term)
        if not nullable(path):
            return algebra.Path(subject, path, object_, self.term)
        # A path of no steps is there in a graph that has no facts, too, if the dataset lists it.
        if self.dataset.named is None:
            return joined(algebra.Path(subject, path, object_, self.term), self.each())
        ways = (
            joined(algebra.Values((self.name,), ((graph,),)), algebra.Path(subject, path, object_, graph))
            for graph in self.dataset.named
        )
        nothing = algebra.Values(in_scope(algebra.Path(subject, path, object_, self.term)), ())
        return balanced(algebra.Union, list(ways) or [nothing])

    def each(self) -> algebra.Algebra:
        """The named graphs, each once."""
        if self.dataset.named is not None:
            return algebra.Values((self.name,), tuple((graph,) for graph in self.dataset.named))
        return algebra.Distinct(algebra.Project(self._anything(), (self.name,)))

    def _anything(self) -> algebra.Algebra:
        subject, predicate, object_ = (rete.Variable(self._hidden("any")) for _ in range(3))
        return self.matching((subject, predicate, object_))

    def depends(self, tree: algebra.Algebra) -> bool:
        """Whether a tree is another one in another graph, and so binds the graph's name."""
        return bool(self.name) and self.name in in_scope(tree)

    def bound(self, tree: algebra.Algebra) -> algebra.Algebra:
        """The tree with the graph's name bound, for each graph where it is the same in all."""
        return tree if not self.name or self.depends(tree) else joined(self.each(), tree)

    def beside(self, tree: algebra.Algebra, others: Iterable[algebra.Algebra]) -> algebra.Algebra:
        """The tree, with the graph's name bound if any of the others depends on the graph."""
        return self.bound(tree) if any(map(self.depends, others)) else tree

    def within(self, tree: algebra.Algebra) -> tuple[str, ...]:
        """The name of the graph, by which parts of a tree are told apart that depends on it; nothing for one that does not."""
        return (self.name,) if self.depends(tree) else ()

    def groups(self, grouped: algebra.Grouped, keys: Sequence[str]) -> algebra.Algebra:
        """Groups by ``keys`` and the graph: without keys one in each graph, be it of nothing."""
        if keys or not self.depends(grouped.child):
            return grouped
        without = algebra.Exists(self.each(), algebra.Project(grouped.child, (self.name,)), negated=True)
        of_nothing = algebra.Grouped(algebra.Values(in_scope(grouped.child), ()), (), grouped.aggregates)
        return algebra.Union(grouped, algebra.Join(without, of_nothing))

    # The clause itself, from what stands in its braces.

    def of_constant(self, tree: algebra.Algebra) -> algebra.Algebra:
        """GRAPH with an IRI: no solutions where there is no such graph."""
        named = self.dataset.named
        if named is not None:
            return tree if self.term in named else algebra.Values(in_scope(tree), ())
        return tree if self._takes_facts(tree) else algebra.Exists(tree, self._anything())

    def _takes_facts(self, tree: algebra.Algebra) -> bool:
        """Whether every solution has some fact of the graph in it."""
        match tree:
            case algebra.Basic(conditions):
                return any(len(condition.pattern) == 4 and condition.pattern[3] == self.term for condition in conditions)
            case algebra.Path(_, path, _, graph):
                return bool(graph == self.term) and not nullable(path)
            case algebra.Join(left, right):
                return self._takes_facts(left) or self._takes_facts(right)
            case algebra.Union(left, right):
                return self._takes_facts(left) and self._takes_facts(right)
            case algebra.LeftJoin(child) | algebra.Minus(child) | algebra.Filter(child) | algebra.Exists(child):
                return self._takes_facts(child)
            case algebra.Extend(child) | algebra.Project(child) | algebra.Distinct(child) | algebra.Slice(child):
                return self._takes_facts(child)
            case algebra.Grouped(child, keys):
                return bool(keys) and self._takes_facts(child)
            case _:
                return False

    def of_variable(self, tree: algebra.Algebra, name: str) -> algebra.Algebra:
        """GRAPH with a variable: joined with that, which is ``name`` outside; inside the graph has another name where that one is
        used otherwise."""
        if self.depends(tree) and self.dataset.named is not None:
            tree = joined(tree, self.each())
        tree = self.bound(tree)
        if name == self.name:
            return tree
        if name not in in_scope(tree):
            return algebra.Extend(tree, name, Computed(Name(self.name)))
        if name in certain(tree):
            return algebra.Filter(tree, Holds(Call("SAMETERM", (Name(name), Name(self.name)))))
        return algebra.Join(tree, algebra.Extend(self.each(), name, Computed(Name(self.name))))

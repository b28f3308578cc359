"""Graph patterns: from the parse tree to rete.algebra (SPARQL 1.1, section 18.2.2).

The parse tree is translated here rather than by rdflib, whose algebra reorders triples, samples variables and puts trailing
VALUES and aggregates elsewhere than the recommendation does. What becomes of groups and their conditions is in ../groups.py; of
which graph a pattern is asked, in graphs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

import rete
from rete import algebra

from ...errors import BadQuery, Unsupported
from ..expressions.operators import Computed
from ..expressions.tree import Call, Expression, Name
from ..groups import EMPTY, Conditions, Decided, balanced, decided, joined, optional, too_many_decided
from ..scope import GRAPH, visible
from .graphs import ActiveGraph, Dataset
from .paths import between, path_of
from .terms import ExpressionScope, Reader, kind_of, parts_of, unwrapped


class PatternScope(ExpressionScope):
    """Expressions over the solutions of a pattern."""

    def __init__(self, patterns: Patterns, tree: algebra.Algebra) -> None:
        super().__init__(tree)
        self._patterns = patterns

    def exists(self, part: Any, *, negated: bool) -> Expression:
        name = self._patterns.reader.hidden_name("exists")
        problem = too_many_decided(self._patterns.reader.counts["exists"])
        if problem:
            raise BadQuery(problem)
        self.inner.append((name, self._patterns.group(part)))
        return Call("!", (Name(name),)) if negated else Name(name)


class Patterns:
    """Translates the graph patterns of one query, asked of a dataset; ``subselect`` translates a SELECT inside."""

    def __init__(self, reader: Reader, subselect: Callable[[Patterns, Any], algebra.Algebra], dataset: Dataset) -> None:
        self.reader = reader
        self._subselect = subselect
        self._scopes = 0
        self.graph = ActiveGraph(dataset, dataset.default_graph, reader.hidden_name)
        """The graph that patterns are asked of where the translation is."""

    @contextmanager
    def _asking(self, graph: ActiveGraph) -> Iterator[ActiveGraph]:
        outer, self.graph = self.graph, graph
        try:
            yield graph
        finally:
            self.graph = outer

    def group(self, part: Any) -> algebra.Algebra:  # Any: rdflib's parse tree is untyped, here and in all that follows
        """A group graph pattern."""
        tree, conditions = self._group(part)
        return self.restricted(tree, conditions)

    def restricted(self, tree: algebra.Algebra, conditions: Conditions) -> algebra.Algebra:
        """The solutions of a tree that meet all conditions."""
        return conditions.restrict(self.graph.beside(tree, conditions.patterns()))

    def decided(self, tree: algebra.Algebra, inner: Decided) -> algebra.Algebra:
        """The tree with a name for each EXISTS, which tells whether it holds."""
        return decided(self.graph.beside(tree, [pattern for _, pattern in inner]), inner)

    def _group(self, part: Any) -> tuple[algebra.Algebra, Conditions]:
        """The group without its FILTERs, and these, which hold of the whole group wherever they stand in it."""
        if part is None:
            return EMPTY, Conditions()
        if kind_of(part) == "SubSelect":
            return self._subselect(self, part), Conditions()
        parts = list(part.part or ())
        tree: algebra.Algebra = EMPTY
        block: list[Any] = []
        for inner in parts:
            kind = kind_of(inner)
            if kind == "TriplesBlock":
                block.extend(inner.triples)
            elif kind != "Filter":
                tree = joined(tree, self._triples(block))
                block = []
                tree = self._part(kind, inner, tree)
        tree = joined(tree, self._triples(block))
        conditions = Conditions()
        for inner in parts:
            if kind_of(inner) == "Filter":
                self.condition(inner.expr, PatternScope(self, tree), conditions)
        return tree, conditions

    def _part(self, kind: str, part: Any, tree: algebra.Algebra) -> algebra.Algebra:
        if kind == "OptionalGraphPattern":
            right, conditions = self._group(part.graph)
            right = self.graph.beside(right, conditions.patterns())
            return optional(self.graph.beside(tree, [right]), right, conditions)
        if kind == "MinusGraphPattern":
            right = self.group(part.graph)
            return algebra.Minus(self.graph.beside(tree, [right]), right, self.graph.within(right))
        if kind == "GroupOrUnionGraphPattern":
            sides = [self.group(graph) for graph in part.graph]
            return joined(tree, balanced(algebra.Union, [self.graph.beside(side, sides) for side in sides]))
        if kind == "GraphGraphPattern":
            return joined(tree, self._in_graph(part.term, part.graph, self.group))
        if kind == "Bind":
            return self.extended(tree, str(part.var), part.expr, "BIND")
        if kind == "InlineData":
            return joined(tree, self.values(part))
        raise Unsupported(f"{kind} is not supported in a graph pattern")

    def quads(self, part: Any) -> algebra.Algebra:
        """The triples of a quad pattern, some of them in graphs: what DELETE WHERE asks."""
        tree = self._triples(list(part.triples or ()))
        for inner in part.quadsNotTriples or ():
            tree = joined(tree, self._in_graph(inner.term, list(inner.triples or ()), self._triples))
        return tree

    def _in_graph(self, term: Any, part: Any, read: Callable[[Any], algebra.Algebra]) -> algebra.Algebra:
        """GRAPH, with the name of a graph or a variable for each of them, around a part that is read so."""
        dataset, hidden = self.graph.dataset, self.reader.hidden_name
        if kind_of(term) != "Variable":
            with self._asking(ActiveGraph(dataset, self.reader.iri(term), hidden)) as graph:
                return graph.of_constant(read(part))
        name = str(term)
        # The variable has no value inside (section 18.5, Graph): where it is used there, the graph is called otherwise.
        inside = hidden(GRAPH[1:]) if _mentions(part, name) else name
        with self._asking(ActiveGraph(dataset, rete.Variable(inside), hidden)) as graph:
            return graph.of_variable(read(part), name)

    def extended(self, tree: algebra.Algebra, name: str, part: Any, clause: str) -> algebra.Algebra:
        """A name more, computed by an expression."""
        if name in visible(tree):
            raise BadQuery(f"{clause} gives ?{name} a value, and ?{name} has one already; expected a variable that is not in use")
        scope = PatternScope(self, tree)
        expression = self.reader.expression(part, scope)
        return algebra.Extend(self.decided(tree, scope.inner), name, Computed(expression))

    def condition(self, part: Any, scope: PatternScope, conditions: Conditions) -> None:
        """Adds the conditions of one FILTER; those that are joined by ``&&`` one by one."""
        part, negated = _bare(part)
        kind = kind_of(part)
        if kind == "ConditionalAndExpression" and not negated:
            for inner in (part.expr, *part.other):
                self.condition(inner, scope, conditions)
        elif kind in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
            conditions.existences.append((self.group(part.graph), (kind == "Builtin_NOTEXISTS") != negated))
        else:
            conditions.add_expression(self.reader.expression(part, scope), negated, scope.inner)

    def values(self, part: Any) -> algebra.Algebra:
        """Inline data."""
        names = tuple(str(variable) for variable in part.var or ())
        if len(set(names)) != len(names):
            raise BadQuery("VALUES lists a variable twice; expected each once")
        rows = []
        for row in part.value or ():
            cells = (
                [] if kind_of(row) == "URIRef" and not names else list(row) if kind_of(row) in ("ParseResults", "list") else [row]
            )
            if not names and len(cells) == 1:
                cells = []  # an empty row is read as rdf:nil
            if len(cells) != len(names):
                raise BadQuery(f"a row of VALUES has {len(cells)} terms for {len(names)} variables; expected as many, or UNDEF")
            rows.append(tuple(None if type(cell) is str else self.reader.constant(cell) for cell in cells))
        return algebra.Values(names, tuple(rows))

    def _triples(self, blocks: list[Any]) -> algebra.Algebra:
        """A basic graph pattern: triples in the order of the text, then what is left of their paths."""
        edges: tuple[rete.Condition, ...] = ()
        others: list[algebra.Algebra] = []
        self._scopes += 1
        for block in blocks:
            terms = list(block)
            for at in range(0, len(terms) - len(terms) % 3, 3):
                subject = self.reader.term(terms[at], self._scopes)
                object_ = self.reader.term(terms[at + 2], self._scopes)
                verb = terms[at + 1]
                if kind_of(verb) == "Variable":
                    parts = [self.graph.matching((subject, rete.Variable(str(verb)), object_))]
                else:
                    parts = between(subject, path_of(self.reader, verb), object_, self.graph, self.reader.hidden_name)
                for part in parts:
                    if isinstance(part, algebra.Basic):
                        edges += part.conditions
                    else:
                        others.append(part)
        tree: algebra.Algebra = algebra.Basic(edges)
        return reduce(joined, others, tree)


def _mentions(part: Any, name: str) -> bool:
    """Whether a variable stands somewhere in a part of the parse tree."""
    pending = [part]
    while pending:
        inner = pending.pop()
        if kind_of(inner) == "Variable" and str(inner) == name:
            return True
        pending.extend(parts_of(inner))
    return False


def _bare(part: Any) -> tuple[Any, bool]:
    """The part without the layers of the grammar that say nothing, and whether an odd number of ``!`` stood around it."""
    negated = False
    while kind_of(part := unwrapped(part)) == "UnaryNot":
        negated = not negated
        part = part.expr
    return part, negated

"""From the syntax tree of a SUBSCRIBE block to a query (docs/script.md; SPARQL 1.1, section 18.2, for what its operators mean).

A body of tuples and NOT alone is a :class:`rete.Group`. Anything else is a tree of ``rete.algebra``: in each group of braces the
elements are joined in their order, then FILTER and NOT hold of the whole group, wherever they stand in it.
"""

from __future__ import annotations

from collections.abc import Iterator

import rete
from rete import algebra

from ..bad_text import Mistake
from ..expressions.operators import Computed, Ordered
from ..expressions.tree import Expression
from ..groups import EMPTY, Conditions, Decided, balanced, decided, joined, optional, projected, sliced
from ..query import Query
from ..scope import MAX_DEPTH, depth, visible
from .scoping import BlockScope, GroupScope, Scope, expected_one_of, has_aggregate, says_something
from .syntax import (
    Body,
    CallNode,
    Element,
    ExistsNode,
    ExpressionNode,
    Filter,
    Item,
    Let,
    NotGroup,
    OptionalGroup,
    Subscription,
    UnionGroup,
    VariableNode,
)

MAX_CLAUSES = 256
"""Clauses of one query, at any depth, and columns that it selects or groups by: each is a part of what has to be kept right."""


def translate(block: Subscription) -> Query:
    """The query of a block; raises Mistake, and BadQuery where the matcher refuses."""
    _check(block)
    if not (block.distinct or block.selection or block.grouping or block.having or block.ordering or block.limits):
        group = _plain(block.body)
        if group is not None:
            return Query.selecting_all(group)
    try:
        tree, select = _Translation(block).tree()
        too_deep = depth(tree) > MAX_DEPTH
    except RecursionError:
        too_deep = True
    if too_deep:
        raise Mistake(block.position, f"a subscription of more than {MAX_DEPTH} operators inside each other; split it into several")
    return Query.of_tree(tree, select)


def _check(block: Subscription) -> None:
    if not any(isinstance(element, rete.Condition) for element in _elements(block.body, hidden=False)):
        raise Mistake(
            block.position,
            "a subscription needs at least one tuple outside NOT, such as (?x, ^on, ?y): nothing else binds its variables",
        )
    elements = list(_elements(block.body, hidden=True))
    tuples = sum(isinstance(element, rete.Condition) for element in elements)
    columns = len(block.selection) + (len(block.grouping.items) if block.grouping else 0)
    for count, what, most in (
        (tuples, "tuples", rete.MAX_CONDITIONS),
        (len(elements) - tuples, "clauses", MAX_CLAUSES),
        (columns, "columns", MAX_CLAUSES),
    ):
        if count > most:
            raise Mistake(block.position, f"a subscription of {count} {what}; expected at most {most}: split it into several")


def _elements(body: Body, *, hidden: bool) -> Iterator[Element | Body]:
    """What stands in a body, at any depth, with the groups of a UNION; ``hidden`` says whether NOT and EXISTS count."""
    for element in body.elements:
        yield element
        match element:
            case OptionalGroup():
                yield from _elements(element.body, hidden=hidden)
            case UnionGroup():
                for inner in element.bodies:
                    yield inner
                    yield from _elements(inner, hidden=hidden)
            case NotGroup() if hidden:
                yield from _elements(element.body, hidden=True)
            case Filter() | Let() if hidden:
                yield from _inside_exists(element.expression)


def _inside_exists(node: ExpressionNode) -> Iterator[Element | Body]:
    if isinstance(node, CallNode):
        for argument in node.arguments:
            yield from _inside_exists(argument)
    elif isinstance(node, ExistsNode):
        yield from _elements(node.body, hidden=True)


def _plain(body: Body) -> rete.Group | None:
    """The body as a group, if it is of tuples and NOT alone."""
    conditions = []
    negated = []
    for element in body.elements:
        if isinstance(element, rete.Condition):
            conditions.append(element)
            continue
        inner = _plain(element.body) if isinstance(element, NotGroup) else None
        if inner is None:
            return None
        negated.append(inner)
    return rete.Group(tuple(conditions), tuple(negated))


class _Translation:
    """Makes the tree of one block."""

    def __init__(self, block: Subscription) -> None:
        self._block = block
        conditions = (element for element in _elements(block.body, hidden=True) if isinstance(element, rete.Condition))
        self._shared = BlockScope(self._group, frozenset(name for condition in conditions for name, _ in condition.variables))

    def tree(self) -> tuple[algebra.Algebra, tuple[str, ...]]:
        """The tree, and the names that make a row."""
        block = self._block
        tree = self._group(block.body, frozenset())
        expressions = [item.expression for item in block.selection]
        expressions += [sort.expression for sort in block.ordering.sorts] if block.ordering else []
        if block.grouping or any(map(has_aggregate, expressions)) or (block.having and has_aggregate(block.having.expression)):
            tree, order = self._grouped(tree)
        elif block.having:
            raise Mistake(
                block.having.position,
                "HAVING without groups; expected GROUP BY or an aggregate such as COUNT(?x) AS ?n, or a FILTER inside the braces",
            )
        else:
            tree, order = self._selected(tree)
        select = tuple(dict.fromkeys(item.name for item in block.selection)) or visible(tree)
        return self._sliced(tree, select, order), select

    def _sliced(self, tree: algebra.Algebra, select: tuple[str, ...], order: Ordered | None) -> algebra.Algebra:
        limits, ordering, distinct = self._block.limits, self._block.ordering, self._block.distinct
        if limits is None:
            if ordering is not None:
                raise Mistake(
                    ordering.position,
                    "ORDER BY without LIMIT or OFFSET: rows are told as they come and go; expected LIMIT and a number after it",
                )
            return projected(tree, select, distinct=distinct)
        return sliced(tree, select, order, distinct=distinct, offset=limits.offset, limit=limits.limit)

    # Groups of braces

    def _group(self, body: Body, outer: frozenset[str]) -> algebra.Algebra:
        """A group of braces; ``outer`` are the names that have a value where its EXISTS or NOT stands."""
        tree, conditions = self._parts(body, outer)
        return conditions.restrict(tree)

    def _parts(self, body: Body, outer: frozenset[str], left: tuple[str, ...] = ()) -> tuple[algebra.Algebra, Conditions]:
        """The group without its conditions, and these; ``left`` are the names that stand before an OPTIONAL."""
        tree: algebra.Algebra = EMPTY
        block: list[rete.Condition] = []
        for element in body.elements:
            if isinstance(element, rete.Condition):
                block.append(element)
            elif not isinstance(element, Filter | NotGroup):
                tree = joined(tree, algebra.Basic(tuple(block)))
                block.clear()
                tree = self._part(element, tree, outer)
        tree = joined(tree, algebra.Basic(tuple(block)))
        known = outer.union(left, visible(tree))
        conditions = Conditions()
        for element in body.elements:
            if isinstance(element, NotGroup):
                conditions.existences.append((self._group(element.body, known), True))
            elif isinstance(element, Filter):
                if not says_something(element.expression):
                    raise Mistake(
                        element.position,
                        "this FILTER says the same of every row; expected a variable in it, such as FILTER ?x > 10",
                    )
                Scope(self._shared, "this FILTER", known, tree).condition(element.expression, conditions)
        return tree, conditions

    def _part(self, element: OptionalGroup | UnionGroup | Let, tree: algebra.Algebra, outer: frozenset[str]) -> algebra.Algebra:
        match element:
            case OptionalGroup():
                return optional(tree, *self._parts(element.body, outer, visible(tree)))
            case UnionGroup():
                branches = [self._group(body, outer) for body in element.bodies]
                return joined(tree, balanced(algebra.Union, branches))
        scope = Scope(self._shared, "this LET, which sees what stands before it in its braces", outer.union(visible(tree)), tree)
        if element.name in scope.known:
            raise _name_taken(element.position, "LET", element.name)
        value = scope.expression(element.expression)
        return algebra.Extend(decided(tree, scope.inner), element.name, Computed(value))

    # What stands around the braces

    def _selected(self, tree: algebra.Algebra) -> tuple[algebra.Algebra, Ordered | None]:
        """Rows as they are, with what the selection computes."""
        solutions = tree
        for item in self._block.selection:
            known = visible(tree)
            if item.expression is not None:
                tree = self._named(tree, item, item.expression, "the selection")
            elif item.name not in known:
                raise Mistake(item.position, f"nothing binds ?{item.name}; {expected_one_of(item.name, known)}")
        scope = Scope(self._shared, "ORDER BY", visible(tree), solutions)
        order = self._order(scope)
        return decided(tree, scope.inner), order

    def _grouped(self, tree: algebra.Algebra) -> tuple[algebra.Algebra, Ordered | None]:
        """One row a group: its keys, and what the selection computes of it."""
        tree, keys = self._keyed(tree)
        scope = GroupScope(self._shared, keys, tree)
        computed: list[tuple[str, Expression, Decided]] = []
        for item in self._block.selection:
            if item.expression is None:
                scope.variable(VariableNode(item.position, item.name))
                continue
            if item.name in scope.known.union(visible(tree)):
                raise _name_taken(item.position, "the selection", item.name)
            computed.append((item.name, scope.expression(item.expression), scope.inner.copy()))
            scope.inner.clear()
            scope.add_name(item.name)
        having = Conditions()
        if self._block.having:
            scope.clause = "HAVING"
            scope.condition(self._block.having.expression, having)
        order = self._order(scope)
        tree = scope.aggregates.group(tree, keys)
        for name, expression, inner in computed:
            tree = algebra.Extend(decided(tree, inner), name, Computed(expression))
        return decided(having.restrict(tree), scope.inner), order

    def _keyed(self, tree: algebra.Algebra) -> tuple[algebra.Algebra, tuple[str, ...]]:
        """The solutions with the keys of their groups: those of GROUP BY, else the variables that are selected."""
        block = self._block
        if not block.selection:
            raise Mistake(
                block.grouping.position if block.grouping else block.position,
                "groups without a selection; expected what their rows show, as in SUBSCRIBE ?y, COUNT(?x) AS ?n { ... }",
            )
        items = block.grouping.items if block.grouping else tuple(item for item in block.selection if item.expression is None)
        for item in items:
            known = visible(tree)
            if item.expression is not None:
                tree = self._named(tree, item, item.expression, "GROUP BY")
            elif item.name not in known:
                raise Mistake(item.position, f"nothing binds ?{item.name}; {expected_one_of(item.name, known)}")
        return tree, tuple(dict.fromkeys(item.name for item in items))

    def _named(self, tree: algebra.Algebra, item: Item, expression: ExpressionNode, clause: str) -> algebra.Algebra:
        """The tree with an expression AS a variable."""
        scope = Scope(self._shared, clause, visible(tree), tree)
        if item.name in scope.known:
            raise _name_taken(item.position, clause, item.name)
        value = scope.expression(expression)
        return algebra.Extend(decided(tree, scope.inner), item.name, Computed(value))

    def _order(self, scope: Scope) -> Ordered | None:
        if self._block.ordering is None:
            return None
        scope.clause = "ORDER BY"
        return Ordered(tuple((scope.expression(sort.expression), sort.descends) for sort in self._block.ordering.sorts))


def _name_taken(position: int, clause: str, name: str) -> Mistake:
    return Mistake(position, f"{clause} gives ?{name} a value, and ?{name} has one already; expected a variable that is not in use")

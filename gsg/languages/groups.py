"""What both languages make of a group of braces, its conditions and what stands around it (SPARQL 1.1, sections 18.2.2 to 18.2.5).

EXISTS that is a whole condition is an operator of its own. Deeper inside an expression it is a name that is true in one branch of a
union and false in the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias, TypeVar

from rete import algebra
from rete.compile.scope import certain

from .expressions.aggregates import Aggregated
from .expressions.comparing import boolean
from .expressions.firsts import FIRST, ByFirst, First
from .expressions.operators import Computed, Holds, Ordered
from .expressions.tree import Call, Constant, Expression, Name, conjuncts, names_in
from .scope import QueryScope

EMPTY = algebra.Basic()


def joined(left: algebra.Algebra, right: algebra.Algebra) -> algebra.Algebra:
    """A join; one with the empty pattern is the other side, and conditions beside conditions are one basic graph pattern."""
    if left == algebra.Basic():
        return right
    if right == algebra.Basic():
        return left
    if isinstance(left, algebra.Basic) and isinstance(right, algebra.Basic):
        return algebra.Basic(left.conditions + right.conditions)
    return algebra.Join(left, right)


_Item = TypeVar("_Item")


def balanced(combine: Callable[[_Item, _Item], _Item], items: Sequence[_Item]) -> _Item:
    """All of them combined two by two, no deeper than need be; at least one."""
    if len(items) == 1:
        return items[0]
    middle = (len(items) + 1) // 2
    return combine(balanced(combine, items[:middle]), balanced(combine, items[middle:]))


MAX_FILTERS = 48
"""Conditions of a group that are operators of their own, one after another; those beyond are one together."""


def filtered(tree: algebra.Algebra, parts: Sequence[Expression]) -> algebra.Algebra:
    """The solutions of a tree for which all of the conditions hold."""
    kept = list(parts[:MAX_FILTERS])
    if len(parts) > MAX_FILTERS:
        kept[-1] = Call("&&", tuple(parts[MAX_FILTERS - 1 :]))
    return reduce(algebra.Filter, map(Holds, kept), tree)


Decided: TypeAlias = list[tuple[str, algebra.Algebra]]
"""Each EXISTS inside an expression: the name that says whether it holds, and its pattern."""


@dataclass(slots=True)
class Conditions:
    """The FILTERs of a group: EXISTS by themselves, and other expressions with the EXISTS that stand inside them."""

    existences: list[tuple[algebra.Algebra, bool]] = field(default_factory=list)
    """The pattern of each EXISTS, and whether it is negated."""
    expressions: list[Expression] = field(default_factory=list)
    inner: Decided = field(default_factory=list)

    def patterns(self) -> list[algebra.Algebra]:
        """The pattern of each EXISTS."""
        return [pattern for pattern, _ in self.existences] + [pattern for _, pattern in self.inner]

    def add_expression(self, expression: Expression, negated: bool, inner: Decided) -> None:
        """One more condition; the EXISTS that stand inside it are taken out of ``inner``."""
        self.expressions.append(Call("!", (expression,)) if negated else expression)
        self.inner.extend(inner)
        inner.clear()

    def split_optional(self, right: algebra.Algebra) -> tuple[algebra.Algebra, Holds | None]:
        """The right side of an OPTIONAL with those expressions that it decides by itself, and the others as one test."""
        sure = certain(right)
        parts = [part for expression in self.expressions for part in conjuncts(expression)]
        others = [part for part in parts if not sure.issuperset(names_in(part))]
        right = filtered(right, [part for part in parts if sure.issuperset(names_in(part))])
        if not others:
            return right, None
        return right, Holds(others[0] if len(others) == 1 else Call("&&", tuple(others)))

    def restrict(self, tree: algebra.Algebra) -> algebra.Algebra:
        """The solutions of a tree that meet them all."""
        for pattern, negated in self.existences:
            tree = algebra.Exists(tree, pattern, negated)
        return filtered(decided(tree, self.inner), [part for expression in self.expressions for part in conjuncts(expression)])


MAX_DECIDED = 10
"""EXISTS inside expressions of a query: each is decided in two branches over all that stands below it, which doubles the tree."""


def too_many_decided(count: int) -> str:
    """What is to be said of so many EXISTS inside expressions; nothing where they are few enough."""
    if count <= MAX_DECIDED:
        return ""
    return f"more than {MAX_DECIDED} EXISTS inside expressions; expected fewer, or each by itself, as in FILTER EXISTS {{ ... }}"


def decided(tree: algebra.Algebra, inner: Decided) -> algebra.Algebra:
    """The tree with a name for each EXISTS, which tells whether it holds."""
    for name, pattern in inner:
        holds = algebra.Extend(algebra.Exists(tree, pattern), name, Computed(Constant(boolean(True))))
        fails = algebra.Extend(algebra.Exists(tree, pattern, negated=True), name, Computed(Constant(boolean(False))))
        tree = algebra.Union(holds, fails)
    return tree


class Aggregates:
    """The aggregates of the groups of one query, each once."""

    def __init__(self, query: QueryScope) -> None:
        self._query = query
        self._names: dict[Aggregated, str] = {}
        self._inner: Decided = []

    def value(self, aggregate: Aggregated, inner: Decided) -> Name:
        """The name that has its value, where ``inner`` are the EXISTS inside it."""
        self._inner.extend(inner)
        if aggregate not in self._names:
            self._names[aggregate] = self._query.hidden_name("aggregate")
        return Name(self._names[aggregate])

    def patterns(self) -> list[algebra.Algebra]:
        """The pattern of each EXISTS inside them."""
        return [pattern for _, pattern in self._inner]

    def group(self, tree: algebra.Algebra, keys: tuple[str, ...]) -> algebra.Grouped:
        """One solution for each group, with its keys and aggregates."""
        return algebra.Grouped(decided(tree, self._inner), keys, tuple((name, one) for one, name in self._names.items()))


def optional(tree: algebra.Algebra, right: algebra.Algebra, conditions: Conditions) -> algebra.Algebra:
    """OPTIONAL: the tree with the solutions of another that meet the conditions together with it, where there are any."""
    if not conditions.existences and not conditions.inner:
        return algebra.LeftJoin(tree, *conditions.split_optional(right))
    # The condition asks the graph about the merged solution: those that it holds of, and the left ones without any such.
    merged = conditions.restrict(joined(tree, right))
    return algebra.Union(merged, algebra.Exists(tree, conditions.restrict(right), negated=True))


def projected(tree: algebra.Algebra, names: tuple[str, ...], *, distinct: bool) -> algebra.Algebra:
    """The tree with these names only."""
    made: algebra.Algebra = algebra.Project(tree, names)
    return algebra.Distinct(made) if distinct else made


def sliced(
    tree: algebra.Algebra,
    names: tuple[str, ...],
    order: Ordered | None,
    *,
    distinct: bool,
    offset: int,
    limit: int | None,
    by: tuple[str, ...] = (),
) -> algebra.Algebra:
    """The tree with these names only, from ``offset`` on and at most ``limit`` of them, or so many for each value of ``by``."""
    if order is None or set(order.names) <= set(names):
        return algebra.Slice(projected(tree, names, distinct=distinct), order, offset, limit, by)
    if not distinct:
        return algebra.Project(algebra.Slice(tree, order, offset, limit, by), names)
    read = algebra.Project(tree, tuple(dict.fromkeys((*names, *order.names))))
    rows = algebra.Grouped(read, names, ((FIRST, First(order)),))
    return algebra.Project(algebra.Slice(rows, ByFirst(), offset, limit, by), names)

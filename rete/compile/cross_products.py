"""Cross products: parts of a query that are joined and share no variable, whatever the order of its joins.

Such a query is right, and may be what is meant where one part is small. But each solution of one part is joined with each of the
other, so whoever wrote it is to be told.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ..algebra import (
    Algebra,
    Basic,
    Distinct,
    Exists,
    Extend,
    Filter,
    Grouped,
    Join,
    LeftJoin,
    Minus,
    Numbered,
    Path,
    Project,
    Slice,
    Union,
    Values,
    of_group,
)
from ..conditions import Condition, Group, is_parameter
from .scope import in_scope

Part: TypeAlias = Condition | Algebra
Product: TypeAlias = tuple[Part, Part]


def cross_products(query: Group | Algebra) -> list[Product]:
    """A pair of parts for each product in the query, in the order written."""
    return _within(of_group(query), frozenset())


def _within(tree: Algebra, given: frozenset[str]) -> list[Product]:
    """``given`` are the names that have a value before the tree is asked."""
    match tree:
        case Basic() | Join():
            parts = _parts(tree)
            inside = [product for part in parts if not isinstance(part, Condition) for product in _within(part, given)]
            return inside + _apart(parts, given)
        case LeftJoin(left, right):
            found = _within(left, given) + _within(right, given | frozenset(in_scope(left)))
            return found + _apart([*_first(left), *_first(right)], given, frozenset(in_scope(left)), frozenset(in_scope(right)))
        case Union(left, right) | Minus(left, right):
            return _within(left, given) + _within(right, given)
        case Exists(child, pattern):
            return _within(child, given) + _within(pattern, given | frozenset(in_scope(child)))
        case Filter(child) | Extend(child) | Distinct(child) | Numbered(child) | Slice(child) | Project(child) | Grouped(child):
            return _within(child, given)
        case Values() | Path():
            return []


def _parts(tree: Algebra) -> list[Part]:
    """What a tree of joins joins."""
    if isinstance(tree, Join):
        return _parts(tree.left) + _parts(tree.right)
    return list(tree.conditions) if isinstance(tree, Basic) else [tree]


def _first(tree: Algebra) -> list[Part]:
    """Something to call a tree by: its first part."""
    return _parts(tree)[:1] or [tree]


def _names(part: Part) -> frozenset[str]:
    names = (name for name, _ in part.variables) if isinstance(part, Condition) else in_scope(part)
    # A parameter stands for a constant, which connects nothing.
    return frozenset(name for name in names if not is_parameter(name))


def _apart(parts: Iterable[Part], given: frozenset[str], *names: frozenset[str]) -> list[Product]:
    """The first part, with the first of each set of further parts that shares nothing with any other."""
    islands: list[tuple[Part, frozenset[str]]] = []
    for part, bound in zip(parts, names or map(_names, parts), strict=True):
        if not bound or _is_single(part):
            continue
        touched = [island for island in islands if not island[1].isdisjoint(bound) or (island[1] & given and bound & given)]
        merged = bound.union(*(other for _, other in touched))
        first = touched[0][0] if touched else part
        place = islands.index(touched[0]) if touched else len(islands)
        islands = [island for island in islands if island not in touched]
        islands.insert(place, (first, merged))
    return [(islands[0][0], other) for other, _ in islands[1:]]


def _is_single(part: Part) -> bool:
    """Whether it has one solution at most, so that joining it multiplies nothing."""
    match part:
        case Values(_, rows):
            return len(rows) < 2
        case Grouped(_, keys):
            return not keys
        case Slice(child, _, _, limit):
            return (isinstance(limit, int) and limit < 2) or _is_single(child)
        case Project(child) | Extend(child) | Filter(child) | Distinct(child) | Exists(child):
            return _is_single(child)
        case _:
            return False

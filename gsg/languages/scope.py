"""Which names a solution may bind (SPARQL 1.1, section 18.2.1), and how deep a tree is.

Names that begin with a dot are ours: no text can name them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import rete
from rete import algebra

MAX_DEPTH = 120
"""Operators inside operators, and expressions inside expressions: trees are hashed, built and walked by recursion further on."""

MAX_PARTS = 20_000
"""Nodes of all expressions of a query: each is evaluated for each fact."""


def names_of(tree: algebra.Algebra) -> tuple[str, ...]:
    """The names that a solution may bind, ours too, in order of appearance."""
    return tuple(dict.fromkeys(_names(tree)))


def visible(tree: algebra.Algebra) -> tuple[str, ...]:
    """The variables in scope: those of ``SELECT *``."""
    return tuple(name for name in names_of(tree) if not name.startswith("."))


def identity(tree: algebra.Algebra) -> tuple[str, ...]:
    """The names that tell solutions apart: without those that are computed from others at the end."""
    while isinstance(tree, algebra.Extend | algebra.Filter | algebra.Exists):
        tree = tree.child
    return names_of(tree)


def _names(tree: algebra.Algebra) -> Iterator[str]:
    match tree:
        case algebra.Basic(conditions):
            for condition in conditions:
                for name, _ in condition.variables:
                    yield name
        case algebra.Join(left, right) | algebra.LeftJoin(left, right) | algebra.Union(left, right):
            yield from _names(left)
            yield from _names(right)
        case algebra.Minus(left, _):
            yield from _names(left)
        case algebra.Filter(child) | algebra.Exists(child) | algebra.Distinct(child) | algebra.Slice(child):
            yield from _names(child)
        case algebra.Extend(child, name) | algebra.Numbered(child, name):
            yield from _names(child)
            yield name
        case algebra.Values(names) | algebra.Project(_, names):
            yield from names
        case algebra.Grouped(_, keys, aggregates):
            yield from keys
            for name, _ in aggregates:
                yield name
        case algebra.Path(subject, _, object_):
            for end in (subject, object_):
                if isinstance(end, rete.Variable):
                    yield end.name


def depth(tree: algebra.Algebra) -> int:
    """How deep operators and expressions are nested; counted without recursion."""
    deepest = 0
    pending: list[tuple[object, int]] = [(tree, 1)]
    while pending:
        node, level = pending.pop()
        if isinstance(node, tuple):
            pending.extend((item, level) for item in node)
        elif is_dataclass(node):
            deepest = max(deepest, level)
            pending.extend((getattr(node, field.name), level + 1) for field in fields(node) if field.compare)
    return deepest

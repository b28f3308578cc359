"""Which names of a tree a text sees, which tell its solutions apart, and how deep it is.

Names that begin with a dot are ours: no text can name them.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from rete import algebra
from rete.compile.scope import in_scope

MAX_DEPTH = 120
"""Operators inside operators, and expressions inside expressions: trees are hashed, built and walked by recursion further on."""

MAX_PARTS = 20_000
"""Nodes of all expressions of a query: each is evaluated for each fact."""


def visible(tree: algebra.Algebra) -> tuple[str, ...]:
    """The variables in scope: those of ``SELECT *``."""
    return tuple(name for name in in_scope(tree) if not name.startswith("."))


def identity(tree: algebra.Algebra) -> tuple[str, ...]:
    """The names that tell solutions apart: without those that are computed from others at the end."""
    while isinstance(tree, algebra.Extend | algebra.Filter | algebra.Exists):
        tree = tree.child
    return in_scope(tree)


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

"""Which names of a tree a text sees, which tell its solutions apart, how deep it is, and what one query shares.

Names that begin with a dot are ours: no text can name them.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import cached_property

from rete import algebra
from rete.compile.scope import in_scope

from ..errors import BadQuery
from ..tuples.terms import XSD, Term, literal
from .expressions.tree import Expression, Fresh

MAX_DEPTH = 120
"""Operators inside operators, and expressions inside expressions: trees are hashed, built and walked by recursion further on."""

GRAPH = ".graph"
"""Begins the names that are made up for graphs."""

MAX_PARTS = 20_000
"""Nodes of all expressions of a query: each is evaluated for each fact."""


class QueryScope:
    """What all expressions of one query share: the names that were made up for it, its moment and its chance.

    ``now`` and ``seed`` are asked only for a query that uses them.
    """

    def __init__(self, now: Callable[[], datetime] | None = None, seed: Callable[[], str] | None = None) -> None:
        self._now = now or (lambda: datetime.now(UTC))
        self._seed = seed or (lambda: secrets.token_hex(16))
        self.counts: Counter[str] = Counter()
        """How many names were made up, by what they are for."""
        self.parts = 0
        """Constants, names and calls of all expressions so far."""

    def hidden_name(self, purpose: str) -> str:
        """A variable that no text can name."""
        self.counts[purpose] += 1
        return f".{purpose}{self.counts[purpose]}"

    @cached_property
    def moment(self) -> Term:
        """NOW(): when the query was read."""
        return literal(self._now().isoformat().replace("+00:00", "Z"), XSD + "dateTime")

    @cached_property
    def seed(self) -> str:
        """What tells the chance of this query from that of others."""
        return self._seed()

    def fresh(self, function: str, names: tuple[str, ...], argument: Expression | None) -> Fresh:
        """A call of RAND, UUID, STRUUID or BNODE, of the solutions that these names tell apart."""
        self.counts["fresh"] += 1
        return Fresh(function, self.seed, self.counts["fresh"], names, argument)


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


def check_depth(tree: algebra.Algebra) -> None:
    """Raises BadQuery for a tree that is too deep."""
    if depth(tree) > MAX_DEPTH:
        raise BadQuery(f"the query is more than {MAX_DEPTH} operators deep; expected shorter chains, or several queries")

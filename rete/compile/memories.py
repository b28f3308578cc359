"""The alpha memories of a query without its network: told of what is conditions with tests, as most queries are."""

from __future__ import annotations

from collections.abc import Sequence

from ..algebra import Algebra, Basic, Filter, Project, of_group
from ..chain import alpha_of
from ..conditions import MAX_CONDITIONS, AlphaSpec, Group
from .scope import depth, in_scope
from .stream import Tests, at_memories


def memories_of(query: Group | Algebra, select: Sequence[str]) -> list[AlphaSpec] | None:
    """The definitions of the memories that a network would have for a query, each once; None where only a network tells, be it
    that it refuses the query."""
    tree: Algebra = of_group(query)
    if depth(tree) > MAX_CONDITIONS:
        return None
    tests: Tests = ()
    shown = frozenset(select)
    while True:
        match tree:
            case Filter(child, test):
                tree, tests = child, (*tests, test)
            case Project(child, names) if not tests:  # what a test reads may mean something else inside
                tree, shown = child, shown.union(names)
            case Basic(conditions) if conditions and shown <= {*in_scope(tree)}:
                made, _ = at_memories(conditions, tests)
                return list(dict.fromkeys(alpha_of(condition, made.get(condition, ())) for condition in conditions))
            case _:
                return None

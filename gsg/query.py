"""A standing query, whatever language it was written in."""

from __future__ import annotations

from dataclasses import dataclass

import rete
from rete import algebra
from rete.production import Listener

from .errors import BadQuery


@dataclass(frozen=True, slots=True)
class Query:
    """What the languages translate to: a group of conditions or a tree of operators, and the variables whose values make a row."""

    body: rete.Group | algebra.Algebra
    select: tuple[str, ...]

    @classmethod
    def selecting_all(cls, group: rete.Group) -> Query:
        """A query whose rows bind every variable of the conditions outside NOT, in order of appearance.

        Raises BadQuery when the group cannot be built into a network, so that a mistake shows before anything is applied.
        """
        with refusing_bad_queries():
            rete.chain_of(group, lambda _: 0)
        return cls(group, group.variables())

    @classmethod
    def of_tree(cls, tree: algebra.Algebra, select: tuple[str, ...]) -> Query:
        """A query that is a tree of operators; names of ``select`` that it leaves unbound are missing in a row.

        Raises BadQuery like :meth:`selecting_all`.
        """
        made = cls(tree, select)
        templates(made)
        return made


class refusing_bad_queries:  # noqa: N801  # reads as a phrase in a with statement
    """Turns the matcher's refusal into ours: callers see one family of exceptions."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, rete.BadQuery):
            raise BadQuery(str(error)) from None


def enter(network: rete.Network, query: Query, listener: Listener) -> rete.Production:
    """Add a query to a network. Raises BadQuery."""
    with refusing_bad_queries():
        if isinstance(query.body, rete.Group):
            return network.subscribe(query.body, query.select, listener)
        return network.subscribe_algebra(query.body, query.select, listener)


def templates(query: Query) -> list[rete.AnyTemplate]:
    """The distinct templates of the query's conditions: its alpha memories. Raises BadQuery."""
    if isinstance(query.body, rete.Group):
        return list(dict.fromkeys(condition.template for condition in query.body.every_condition()))
    # Operators decide what they look up (a path its edges, or all facts): a network without facts tells.
    empty = rete.Network(lambda _: ())
    enter(empty, query, lambda _: None)
    return empty.templates()

"""A standing query, whatever language it was written in."""

from __future__ import annotations

from dataclasses import dataclass

import rete
from rete import algebra
from rete.production import Listener

from .errors import BadQuery
from .model import Term, Tuple


@dataclass(frozen=True, slots=True)
class Query:
    """What the languages translate to: a group of conditions or a tree of operators, and the variables whose values make a row.

    A query that was made from a template, which it shares with others, has the constants that were taken out as its ``arguments``;
    ``body`` then holds a :class:`rete.Parameter` where each was.
    """

    body: rete.Group | algebra.Algebra
    select: tuple[str, ...]
    arguments: tuple[Term, ...] = ()

    def bound(self) -> Query:
        """The same query with its constants put back."""
        return Query(rete.bound(self.body, self.arguments), self.select) if self.arguments else self

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
        alphas(made)
        return made


class refusing_bad_queries:  # noqa: N801  # reads as a phrase in a with statement
    """Turns the matcher's refusal into ours: callers see one family of exceptions."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, rete.BadQuery):
            raise BadQuery(str(error)) from None


def enter(network: rete.Network, query: Query, listener: Listener) -> rete.Production:
    """Add a query without arguments to a network. Raises BadQuery."""
    with refusing_bad_queries():
        if isinstance(query.body, rete.Group):
            return network.subscribe(query.body, query.select, listener)
        return network.subscribe_algebra(query.body, query.select, listener)


SHARE_FROM = 8
"""Queries of one template that are entered each by itself; further ones share a network. That has the facts of all their constants:
a single query should not pay for those of which nobody asks."""


class Entrance:
    """Where the queries of one network come in and go out.

    It counts, by template, the queries that were entered by themselves: as many as are alive, and less than SHARE_FROM each unless
    they cannot share.
    """

    def __init__(self, network: rete.Network) -> None:
        self._network = network
        self._alone: dict[rete.Production, Query] = {}
        self._counts: dict[tuple[object, tuple[str, ...]], int] = {}

    def enter(self, query: Query, listener: Listener) -> tuple[rete.Production, list[tuple[Tuple, int]]]:
        """Add a query; returns it and the rows that hold already. Raises BadQuery."""
        network = self._network
        if not query.arguments:
            production = enter(network, query, listener)
            return production, list(production.rows().items())
        template = (query.body, query.select)
        count = self._counts.get(template, 0) + 1
        if network.has_template(query.body, query.arguments, query.select) or (count >= SHARE_FROM and rete.can_share(query.body)):
            with refusing_bad_queries():
                return network.subscribe_template(query.body, query.arguments, query.select, listener)
        production = enter(network, query.bound(), listener)
        self._alone[production] = query
        self._counts[template] = count
        return production, list(production.rows().items())

    def leave(self, production: rete.Production) -> None:
        """Remove a query."""
        self._network.unsubscribe(production)
        query = self._alone.pop(production, None)
        if query is not None:
            template = (query.body, query.select)
            self._counts[template] -= 1
            if not self._counts[template]:
                del self._counts[template]


def alphas(query: Query) -> list[rete.AlphaSpec]:
    """The definitions of the query's alpha memories, each once. Raises BadQuery."""
    # Operators decide what they look up (a path its edges, or all facts): a network without facts tells.
    empty = rete.Network(lambda _: ())
    enter(empty, query.bound(), lambda _: None)
    return empty.alphas()

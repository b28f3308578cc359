"""Where the queries of one network come in and go out. Many that are equal up to constants share one network."""

from __future__ import annotations

import rete
from rete.production import Listener

from ..languages.query import MAX_TOKENS, Query, cross_products_of, enter, refusing_bad_queries
from ..tuples.terms import Tuple

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

    def enter(
        self, query: Query, listener: Listener, max_tokens: int = MAX_TOKENS, at_once: int = rete.UNLIMITED
    ) -> tuple[rete.Production, list[tuple[Tuple, int]]]:
        """Add a query; returns it and the rows that hold already.

        Raises BadQuery and TooManyTokens; rete.TakesLong where a query that is entered by itself takes more than ``at_once`` steps.
        """
        network = self._network
        if not query.arguments:
            production = enter(network, query, listener, max_tokens=max_tokens, at_once=at_once)
            return production, production.first_rows()
        if network.has_template(query.body, query.arguments, query.select):
            return self._share(query, listener, max_tokens)
        template = (query.body, query.select)
        count = self._counts.get(template, 0) + 1
        # A product is not shared: one that explodes is stopped in the middle of a fact only where it is alone.
        if count >= SHARE_FROM and rete.can_share(query.body) and not cross_products_of(query.body):
            return self._share(query, listener, max_tokens)
        production = enter(network, query.bound(), listener, max_tokens=max_tokens, at_once=at_once)
        self._alone[production] = query
        self._counts[template] = count
        return production, production.first_rows()

    def _share(self, query: Query, listener: Listener, max_tokens: int) -> tuple[rete.Production, list[tuple[Tuple, int]]]:
        with refusing_bad_queries():
            return self._network.subscribe_template(query.body, query.arguments, query.select, listener, max_tokens=max_tokens)

    def leave(self, production: rete.Production) -> None:
        """Remove a query."""
        self._network.unsubscribe(production)
        query = self._alone.pop(production, None)
        if query is not None:
            template = (query.body, query.select)
            self._counts[template] -= 1
            if not self._counts[template]:
                del self._counts[template]

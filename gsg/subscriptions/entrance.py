"""Where the queries of one network come in and go out. Many that are equal up to constants share one network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import rete
from rete.production import Listener

from ..languages.query import MAX_TOKENS, Query, cross_products_of, enter, refusing_bad_queries
from ..languages.rows import Row
from ..tuples.terms import Term, Tuple

SHARE_FROM = 8
"""Queries of one template that are entered each by itself; further ones share a network. That has the facts of all their constants:
a single query should not pay for those of which nobody asks."""
MAX_KNOWN = 1_024
"""Templates whose form is kept, so that it is not made anew for each query."""


class Entrance:
    """Where the queries of one network come in and go out.

    It counts, by template, the queries that were entered by themselves: as many as are alive, and less than SHARE_FROM each unless
    they cannot share. Queries are of one template however they are written (:mod:`rete.compile.canonical`).
    """

    def __init__(self, network: rete.Network, alike: Callable[[rete.OpenTemplate[Term]], int] = lambda template: 0) -> None:
        """``alike`` counts the facts of all conditions that are one with other constants."""
        self._network = network
        self._alike = alike
        self._alone: dict[rete.Production, Query] = {}
        self._counts: Counter[tuple[object, tuple[str, ...]]] = Counter()
        self._forms: dict[tuple[object, tuple[str, ...]], rete.Canonical] = {}
        """By body and names of rows: the form of templates whose queries may differ in all of their constants. Limit: MAX_KNOWN, of
        queries as long as they may be; the oldest goes."""
        self._too_full: set[tuple[object, tuple[str, ...]]] = set()
        """Templates whose first shared network would have had more facts at once than may be: their queries stay by themselves.
        Limit: MAX_KNOWN, where all are forgotten."""

    def enter(
        self, query: Query, listener: Listener, max_tokens: int = MAX_TOKENS, at_once: int = rete.UNLIMITED
    ) -> tuple[rete.Production, list[tuple[Tuple, int]]]:
        """Add a query; returns it and the rows that hold already.

        Raises BadQuery and TooManyTokens; rete.TakesLong where it takes more than ``at_once`` steps.
        """
        return self.enter_template(self.as_template(query), listener, max_tokens, at_once)

    def enter_template(
        self,
        like: Query,
        listener: Listener,
        max_tokens: int = MAX_TOKENS,
        at_once: int = rete.UNLIMITED,
        facts: Callable[[], int] = lambda: 0,
    ) -> tuple[rete.Production, list[tuple[Tuple, int]]]:
        """The same of a query that is as :meth:`as_template` has it. ``facts`` counts those of the conditions with its arguments:
        in a shared network all of them are looked at in one go."""
        if like.arguments and self._is_shared(like, at_once):
            if at_once != rete.UNLIMITED and (found := facts()) > at_once:
                raise rete.TakesLong(found, at_once, None)
            with refusing_bad_queries():
                return self._network.subscribe_template(like.body, like.arguments, like.select, listener, max_tokens=max_tokens)
        production = enter(self._network, like.bound(), listener, max_tokens=max_tokens, at_once=at_once)
        if like.arguments:
            self._alone[production] = like
            self._counts[like.body, like.select] += 1
        return production, production.first_rows()

    def count_sharing(self, query: Query) -> int:
        """How many queries share a network that the query would be in, too."""
        like = self.as_template(query)
        if not like.arguments:
            return 0
        return self._network.count_queries(like.body, like.arguments, like.select)

    def as_template(self, query: Query) -> Query:
        """The query as one of its template, as it is in this network: without arguments where it shares with none."""
        if not query.arguments:
            return query
        form = self._forms.get((query.body, query.select))
        if form is None:
            fixed = self._network.fixed_parameters(query.body, query.arguments)
            if fixed:
                # Another query of the body may have constants that can be looked up.
                return query.bound() if len(fixed) == len(query.arguments) else query.bound_at(fixed)
            form = self._forms[query.body, query.select] = rete.canonical(query.body, query.select, len(query.arguments))
            if len(self._forms) > MAX_KNOWN:
                del self._forms[next(iter(self._forms))]
        return Query(form.body, form.select, tuple([query.arguments[number] for number in form.arguments]))

    def _is_shared(self, query: Query, at_once: int) -> bool:
        if self._network.has_template(query.body, query.arguments, query.select):
            return True
        template = query.body, query.select
        if self._counts[template] + 1 < SHARE_FROM or template in self._too_full:
            return False
        # A product is not shared: one that explodes is stopped in the middle of a fact only where it is alone.
        if not rete.can_share(query.body) or cross_products_of(query.body):
            return False
        if at_once != rete.UNLIMITED and sum(map(self._alike, rete.open_templates(query.body))) > at_once:
            if len(self._too_full) >= MAX_KNOWN:
                self._too_full.clear()
            self._too_full.add(template)
            return False
        return True

    def leave(self, production: rete.Production) -> None:
        """Remove a query."""
        self._network.unsubscribe(production)
        query = self._alone.pop(production, None)
        if query is not None:
            template = (query.body, query.select)
            self._counts[template] -= 1
            if not self._counts[template]:
                del self._counts[template]


def rows_of(production: rete.Production, names: tuple[str, ...]) -> Counter[Row]:
    """The rows of a query that hold now, each with how often. Raises TooManyTokens where it takes too many steps to find them."""
    with refusing_bad_queries():
        rows = production.rows()
    return Counter({Row.of(names, values): times for values, times in rows.items()})

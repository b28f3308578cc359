"""The engine embedded in one process, without a network: the same facts, queries and rows as over an overlay of peers.

It is also the yardstick: what peers answer is right when it equals what one space answers that was told the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NoReturn

import rete

from .errors import DoorClosed, Unsupported
from .languages import Delete, Insert, Notify, Subscribe, parse_query, parse_script
from .languages.query import MAX_TOKENS, Query, alphas, check_max_tokens, too_many_tokens
from .storage.facts_by_template import FactsByTemplate
from .subscriptions.backlog import LIMIT, Overflow, check_limit, overflow_of
from .subscriptions.entrance import Entrance
from .subscriptions.subscription import Callback, Subscription
from .subscriptions.windows import FullWindows, windowed
from .tuples import terms as model
from .tuples.terms import Tuple

CLOSED_BEFORE_DROP = 100
"""Subscriptions that close before the store's indexes are dropped, when no more are left than when those were built. To build them
anew takes as long as to insert some of the facts again; the many that have come and gone have paid for it."""

if TYPE_CHECKING:
    import networkx

    from .explain.explanations import Plan


class Space:
    """A tuple space in this process. Not safe for threads: call it from one.

    Tuples are iterables of terms; a term is a str, int, float, a term of this package, or one of rdflib's. ``clock`` gives the
    seconds that windows are measured in; it must not go back. Events leave their windows when the space is next called, or asked
    for rows or differences.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._store = FactsByTemplate()
        self._network = rete.Network(
            lambda alpha: self._store.matching(alpha.template),
            lambda alpha: self._store.count(alpha.template),
            on_end=self._too_large,
        )
        self._entrance = Entrance(self._network)
        self._full_windows = FullWindows(self._network)
        self._flashing: dict[rete.Production, Subscription] = {}
        self._indexed_at: int | None = None
        """How many subscriptions there were when the store built indexes; None while it has none."""
        self._closed_since = 0
        self._closed = False

    def insert(self, tuples: Iterable[Iterable[object]], *, audience: Iterable[bytes | str] | None = None) -> int:
        """Make tuples true, all in one transaction; returns how many were not true before.

        Raises BadTerm, and inserts nothing, when any of them is no tuple of constants; Unsupported for an ``audience``.
        """
        if audience is not None:
            _refuse_audience()
        facts = [model.fact(items) for items in tuples]
        if self._closed or self._network.expiries:
            self._opened()
        add = self._store.add
        changes = [(fact, 1) for fact in facts if add(fact)]
        self._network.change(changes)
        return len(changes)

    def retract(self, tuples: Iterable[Iterable[object]], *, audience: Iterable[bytes | str] | None = None) -> int:
        """Make tuples untrue, all in one transaction; returns how many were true. Raises like :meth:`insert`."""
        if audience is not None:
            _refuse_audience()
        facts = [model.fact(items) for items in tuples]
        if self._closed or self._network.expiries:
            self._opened()
        remove = self._store.remove
        changes = [(fact, -1) for fact in facts if remove(fact)]
        self._network.change(changes)
        return len(changes)

    def notify(self, tuples: Iterable[Iterable[object]], *, audience: Iterable[bytes | str] | None = None) -> None:
        """Events, one after the other: each joins with the facts of this moment, its rows are reported once, and no trace is left.

        Raises like :meth:`insert`, and notifies of nothing.
        """
        if audience is not None:
            _refuse_audience()
        self._opened()
        events = [model.fact(items) for items in tuples]
        now = self._clock()
        for event in events:
            for production, rows in self._network.notify(event, now):
                # A callback may have closed a subscription that was about to hear.
                subscription = self._flashing.get(production)
                if subscription is not None:
                    subscription._flashed(rows)
        self._full_windows.tell(self._flashing.values())

    def run(self, script: str) -> list[Subscription]:
        """Run a GSG script, block by block; returns the subscriptions that its SUBSCRIBE blocks made, in order.

        Raises BadText or BadQuery, and applies nothing, when any part of the script is wrong.
        """
        made, verbs = [], {Insert: self.insert, Delete: self.retract, Notify: self.notify}
        for block in parse_script(script):
            if isinstance(block, Subscribe):
                made.append(self._subscribe(block.query, None, LIMIT))
            else:
                verbs[type(block)](block.tuples)
        return made

    def subscribe(
        self,
        text: str,
        language: str = "gsg",
        callback: Callback | None = None,
        *,
        limit: int = LIMIT,
        max_tokens: int = MAX_TOKENS,
        overflow: str = Overflow.RESYNC,
    ) -> Subscription:
        """A standing query. Rows that hold already come first, as ``+`` differences.

        ``callback(sign, row)`` is called for each difference; without it they are kept for iteration, at most ``limit``;
        ``overflow`` says what happens then (:mod:`gsg.subscriptions.backlog`). It may hold ``max_tokens``, rows of its answer
        included; beyond, it ends alone: reading it then raises TooManyTokens. Raises BadText or BadQuery for a query that cannot
        be, TooManyTokens for one that would hold too much at once, Unsupported for an unknown language.
        """
        query = parse_query(text, language)
        return self._subscribe(query, callback, check_limit(limit), check_max_tokens(max_tokens), overflow_of(overflow))

    def explain(self, text: str, language: str = "gsg") -> Plan:
        """How a query would be answered now: its joins in order, with their numbers of facts. Raises like :meth:`subscribe`."""
        from .explain.explain import explain_plan

        store = self._opened()
        query = parse_query(text, language)
        counts = {alpha: sum(map(alpha.admits, store.matching(alpha.template))) for alpha in alphas(query) if not alpha.window}
        return explain_plan(query, language, counts=counts, counted="this space", sharing=self._entrance.count_sharing(query))

    def graph(self, *subscriptions: Subscription) -> networkx.DiGraph:
        """The network of the matcher, or the part of it that some subscriptions use; see :func:`rete.inspect.graph`."""
        from rete.inspect import graph

        chosen = [subscription._production for subscription in subscriptions]
        return graph(self._network, [one for one in chosen if one is not None] if subscriptions else None)

    def advance(self) -> None:
        """Let events that are too old leave their windows now."""
        if self._network.next_expiry() is not None:
            self._network.expire(self._clock())

    def close(self) -> None:
        """End the space and all of its subscriptions."""
        for subscription in list(self._flashing.values()):
            subscription.close()
        self._closed = True

    def __contains__(self, items: Iterable[object]) -> bool:
        return model.fact(items) in self._store

    def __len__(self) -> int:
        """How many facts there are."""
        return len(self._store)

    def __enter__(self) -> Space:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _opened(self) -> FactsByTemplate:
        if self._closed:
            raise DoorClosed("this space is closed; make a new gsg.Space()")
        if self._network.expiries:
            self.advance()
        return self._store

    def _drop_indexes(self) -> None:
        """One subscription has closed. When the many are gone that the store's indexes were built for, these go too."""
        self._closed_since += 1
        if self._indexed_at is None or self._closed_since < CLOSED_BEFORE_DROP or len(self._flashing) > self._indexed_at:
            return
        self._store.drop_indexes()
        self._indexed_at = None

    def _facts_of(self, condition: rete.Condition) -> Iterable[Tuple]:
        """What a condition may match now: facts, or the events of its window."""
        if condition.window is not None:
            return windowed(self._network, condition)
        return self._store.matching(condition.template)  # type: ignore[arg-type]  # rete's constants are opaque: here they are terms

    def _too_large(self, production: rete.Production, why: rete.TooManyTokens) -> None:
        subscription = self._flashing.get(production)
        if subscription is not None:
            subscription._ended(too_many_tokens(why))

    def _subscribe(
        self,
        query: Query,
        callback: Callback | None,
        limit: int,
        max_tokens: int = MAX_TOKENS,
        overflow: Overflow = Overflow.RESYNC,
    ) -> Subscription:
        self._opened()

        subscription = Subscription(self, query, callback, limit, overflow)
        production, rows = self._entrance.enter(query, subscription._changed, max_tokens)
        if self._indexed_at is None and self._store.is_indexed:
            self._indexed_at, self._closed_since = len(self._flashing), 0
        self._flashing[production] = subscription
        self._full_windows.again()
        subscription._begun(production)
        if rows:
            self._network.begin(production, rows)
        return subscription

    def _leave(self, production: rete.Production) -> None:
        """A subscription closes."""
        del self._flashing[production]
        # The last of many gives memory back: that of the indexes too.
        self._drop_indexes()
        self._entrance.leave(production)


def _refuse_audience() -> NoReturn:
    # To let everybody in here read it would be the opposite of what was asked.
    raise Unsupported("a space in one process has no peers to name, so it takes no audience; use gsg.Peer, or leave it out")

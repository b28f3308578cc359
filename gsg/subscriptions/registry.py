"""The subscriptions of a peer, by number.

:class:`gsg.Peer` hands over what its users subscribe to; the joins themselves are those of :mod:`gsg.subscriptions.subscriber`.
Each subscription has a number by which it can be asked about.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from ..errors import GsgError, LocalError, Stale
from ..languages.query import MAX_TOKENS, Query, check_max_tokens
from ..tuples.terms import Tuple
from ..wire.status_messages import Count
from .backlog import LIMIT, Overflow, check_limit
from .live import LiveSubscription
from .standing_query import StandingQuery
from .subscriber import Subscriber
from .subscription import Callback


class SubscriptionRegistry:
    """Those of one peer."""

    def __init__(self, subscriber: Subscriber) -> None:
        self._subscriber = subscriber
        self._numbers = count(1)
        self._by_number: dict[int, StandingQuery] = {}
        self._lost = 0
        """Differences that subscriptions which have ended were too slow for."""
        self._ended_unread = 0

    async def subscribe(
        self,
        query: Query,
        callback: Callback | None = None,
        *,
        text: str = "",
        language: str = "gsg",
        client: str = "",
        limit: int = LIMIT,
        max_tokens: int = MAX_TOKENS,
        overflow: Overflow = Overflow.RESYNC,
    ) -> LiveSubscription:
        """Make one more; returns when its first answer is complete. Raises what :meth:`Subscriber.subscribe` does."""
        check_max_tokens(max_tokens)
        check_limit(limit)
        made = StandingQuery(next(self._numbers), query, self._remove, text=text, language=language, client=client)
        made.live = LiveSubscription(
            query.select, made, callback=callback, limit=limit, number=made.number, warnings=query.warnings, overflow=overflow
        )
        rows = await self._subscriber.subscribe(made, max_tokens)
        self._by_number[made.number] = made
        try:
            await made.tell_first(rows)
        except BaseException:
            self._remove(made)
            raise
        return made.live

    async def ask(
        self, query: Query, *, text: str = "", language: str = "gsg", client: str = "", max_tokens: int = MAX_TOKENS
    ) -> tuple[list[tuple[Tuple, int]], Stale | None]:
        """The answer of now: values with how often each row is there, and why some may be out of date, if so. Raises as
        :meth:`subscribe`."""
        check_max_tokens(max_tokens)
        made = StandingQuery(next(self._numbers), query, self._remove, text=text, language=language, client=client)
        made.live = LiveSubscription(query.select, made, number=made.number)
        rows = await self._subscriber.subscribe(made, max_tokens)
        self._subscriber.unsubscribe(made)
        try:
            made.live.take(1)
        except Stale as stale:
            return rows, stale
        return rows, None

    def _remove(self, made: StandingQuery) -> None:
        if self._by_number.pop(made.number, None) is not None:
            self._lost += made.live.lost
            self._ended_unread += made.ended_unread
            self._subscriber.unsubscribe(made)

    def end_one(self, number: int, why: GsgError) -> None:
        """End one for a reason that its reader is told. Raises LocalError for a number that no subscription has."""
        made = self[number]
        made.live.end(why)
        self._remove(made)

    def end(self) -> None:
        """End them all."""
        for made in list(self._by_number.values()):
            made.live.end(None)
            self._remove(made)

    def counts(self) -> list[Count]:
        """What readers were too slow for, for ``gsg status``."""
        lost = self._lost + sum(made.live.lost for made in self._by_number.values())
        feeds = self._subscriber.feeds
        return [
            *feeds.received.counts(),
            Count("events_missed_here", self._subscriber.missed),
            Count("feeds_stale", len(feeds.staleness)),
            Count("told_out_of_order", feeds.order.late),
            Count("subscriptions_differences_dropped", lost),
            Count("subscriptions_ended_unread", self._ended_unread),
        ]

    def __iter__(self) -> Iterator[StandingQuery]:
        return iter(self._by_number.values())

    def __getitem__(self, number: int) -> StandingQuery:
        """Raises LocalError for a number that no subscription has."""
        made = self._by_number.get(number)
        if made is None:
            raise LocalError(f"no subscription {number} at this peer; gsg explain without arguments lists those that there are")
        return made

"""The subscriptions of a peer: what was asked, by whom, and the query in the matcher that answers.

:class:`gsg.Peer` hands over what its users subscribe to; the joins themselves are those of :mod:`gsg.subscriptions.subscriber`.
Each subscription has a number by which it can be asked about.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count

import rete

from ..errors import LocalError, TooManyTokens
from ..languages.query import MAX_TOKENS, Query, check_max_tokens
from ..languages.rows import Change, Row, Sign, changes_of
from ..tuples.terms import Tuple
from ..wire.messages import Count
from .backlog import Overflow, check_limit
from .live import LiveSubscription
from .subscriber import Standing, Subscriber
from .subscription import Callback

ROWS_AT_ONCE = 2_000
"""Rows of a first answer that are delivered while others wait: some five milliseconds. What changes meanwhile comes behind them,
bounded by what comes in that time."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants to subscribe to."""

    query: Query
    text: str = ""
    """As it was written; empty for a query that was made otherwise."""
    language: str = "gsg"
    client: str = ""
    """Whoever asks: an address, or empty for the peer's own program."""
    max_tokens: int = MAX_TOKENS
    overflow: Overflow = Overflow.RESYNC


class Subscribed:
    """A subscription of a peer."""

    __slots__ = ("asked", "live", "number", "standing")

    def __init__(self, number: int, asked: Asked) -> None:
        self.number = number
        self.asked = asked
        self.standing: Standing | None = None
        """None while its memories are being filled."""
        self.live: LiveSubscription

    @property
    def production(self) -> rete.Production:
        """Its query in the matcher."""
        assert self.standing is not None, "only subscriptions that stand are listed"
        return self.standing.production


class Subscriptions:
    """Those of one peer, by number."""

    def __init__(self, subscriber: Subscriber) -> None:
        self._subscriber = subscriber
        self._numbers = count(1)
        self._by_number: dict[int, Subscribed] = {}
        self._lost = 0
        """Differences that subscriptions which have ended were too slow for."""
        self._ended_full = 0

    async def add(self, asked: Asked, callback: Callback | None, *, limit: int) -> LiveSubscription:
        """One more; returns when its first answer is complete. Raises what ``Subscriber.subscribe`` does."""
        check_max_tokens(asked.max_tokens)
        check_limit(limit)
        query = asked.query
        names = query.select
        made = Subscribed(next(self._numbers), asked)
        is_told = False
        behind: list[Iterable[Change]] = []  # what comes while the first answer is being told

        def deliver(changes: Iterable[Change]) -> None:
            (live.deliver if is_told else behind.append)(changes)

        def flashed(rows: list[tuple[Tuple, int]]) -> None:
            row_of, event = Row.of, Sign.EVENT
            deliver([(event, row_of(names, values)) for values, weight in rows for _ in range(weight)])

        def rows_now() -> Counter[Row]:
            assert made.standing is not None, "the subscription is handed out with its first answer"
            return Counter({Row.of(names, values): times for values, times in made.standing.rows().items()})

        def too_large(why: TooManyTokens) -> None:
            self._remove(made)
            live.ended(why)

        def full() -> None:
            self._ended_full += 1
            self._remove(made)

        async def close() -> None:
            self._remove(made)

        live = made.live = LiveSubscription(
            names,
            rows_now=rows_now,
            on_close=close,
            callback=callback,
            limit=limit,
            number=made.number,
            warnings=query.warnings,
            overflow=asked.overflow,
            on_full=full,
        )
        made.standing, rows = await self._subscriber.subscribe(
            query,
            lambda new: deliver(changes_of(names, new)),
            flashed,
            too_large,
            live.dropped,
            live.missed,
            live.stale,
            max_tokens=asked.max_tokens,
        )
        self._by_number[made.number] = made
        try:
            for begin in range(0, len(rows), ROWS_AT_ONCE):
                live.deliver(changes_of(names, rows[begin : begin + ROWS_AT_ONCE]), is_first=True)
                if begin + ROWS_AT_ONCE < len(rows):
                    await asyncio.sleep(0)
        except BaseException:
            self._remove(made)
            raise
        is_told = True
        for changes in behind:
            live.deliver(changes)
        return live

    def _remove(self, made: Subscribed) -> None:
        if self._by_number.pop(made.number, None) is not None:
            assert made.standing is not None, "it was listed when it stood"
            self._lost += made.live.lost
            self._subscriber.unsubscribe(made.standing)

    def end(self) -> None:
        """End them all."""
        for made in list(self._by_number.values()):
            made.live.ended(None)
            self._remove(made)

    def counts(self) -> list[Count]:
        """What readers were too slow for, for ``gsg status``."""
        lost = self._lost + sum(made.live.lost for made in self._by_number.values())
        return [
            Count("events_missed_here", self._subscriber.missed),
            Count("feeds_stale", len(self._subscriber.intake.staleness)),
            Count("told_out_of_order", self._subscriber.inorder.late),
            Count("subscriptions_differences_dropped", lost),
            Count("subscriptions_ended_unread", self._ended_full),
        ]

    def __iter__(self) -> Iterator[Subscribed]:
        return iter(self._by_number.values())

    def __getitem__(self, number: int) -> Subscribed:
        """Raises LocalError for a number that no subscription has."""
        made = self._by_number.get(number)
        if made is None:
            raise LocalError(f"no subscription {number} at this peer; gsg explain without arguments lists those that there are")
        return made

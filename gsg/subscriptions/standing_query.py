"""A standing query of a peer: what was asked, where it is in the matcher, and the subscription that is told of its rows."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable

import rete

from ..errors import Overrun
from ..feeds.alpha_memory import AlphaMemory
from ..languages.query import Query, too_many_tokens
from ..languages.rows import Change, Row, changes_at_event, changes_of
from ..tuples.terms import Tuple
from .entrance import rows_of
from .live import LiveSubscription
from .long_queries import LongQueries

ROWS_AT_ONCE = 2_000
"""Rows of a first answer that are delivered while others wait: some five milliseconds. What changes meanwhile comes behind them,
bounded by what comes in that time."""


class RowsTold:
    """How many rows the queries of one peer were told, their first answers not included."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class StandingQuery:
    """One of them. ``remove(query)`` takes it out of the matcher, where it is in."""

    __slots__ = (
        "_behind",
        "_is_told_of_window",
        "_remove",
        "client",
        "ended_unread",
        "language",
        "live",
        "long",
        "memories",
        "number",
        "production",
        "query",
        "rows_told",
        "since_s",
        "text",
    )

    def __init__(
        self,
        number: int,
        query: Query,
        remove: Callable[[StandingQuery], None],
        *,
        text: str = "",
        language: str = "gsg",
        client: str = "",
    ) -> None:
        self.number = number
        """By which it can be asked about."""
        self.query = query
        self.text = text
        """As it was written; empty for a query that was made otherwise."""
        self.language = language
        self.client = client
        """Whoever asks: an address, or empty for the peer's own program."""
        self.live: LiveSubscription
        self.memories: list[AlphaMemory] = []
        self.production: rete.Production
        """Its place in the matcher, from when its memories are filled."""
        self.long: LongQueries | None = None
        """Where it is, if it took long to enter."""
        self.since_s = 0.0
        """When it was complete: of what was said before it is not to hear, however late that comes."""
        self.ended_unread = False
        self.rows_told = RowsTold()
        """Those of its peer, from when it is one of its queries."""
        self._remove = remove
        self._behind: list[Iterable[Change]] | None = []
        """What comes until the first answer has been told; None from then on."""
        self._is_told_of_window = False

    @property
    def alphas(self) -> list[rete.AlphaSpec]:
        """What its memories keep, each once."""
        return list(dict.fromkeys(memory.alpha for memory in self.memories))

    # --- what its subscription asks ---------------------------------------------------------------------------------------

    def rows_now(self) -> Counter[Row]:
        """The rows that hold now. Raises TooManyTokens where it takes too long to find them."""
        if self.long is not None:
            self.long.claim()
        return rows_of(self.production, self.query.select)

    async def close(self) -> None:
        """Its reader has closed the subscription."""
        self._remove(self)

    def end_unread(self) -> None:
        """The subscription has ended as nobody read it."""
        self.ended_unread = True
        self._remove(self)

    # --- what the matcher tells -------------------------------------------------------------------------------------------

    async def tell_first(self, rows: list[tuple[Tuple, int]]) -> None:
        """The first answer, and then what has changed meanwhile."""
        for begin in range(0, len(rows), ROWS_AT_ONCE):
            self.live.deliver(changes_of(self.query.select, rows[begin : begin + ROWS_AT_ONCE]), is_first=True)
            if begin + ROWS_AT_ONCE < len(rows):
                await asyncio.sleep(0)
        behind, self._behind = self._behind, None
        for changes in behind or ():
            self.live.deliver(changes)

    def tell_changes(self, rows: list[tuple[Tuple, int]]) -> None:
        """Rows have come and gone."""
        self.rows_told.count += len(rows)
        self._deliver(changes_of(self.query.select, rows))

    def tell_events(self, rows: list[tuple[Tuple, int]]) -> None:
        """Rows held for the moment of an event."""
        self.rows_told.count += len(rows)
        self._deliver(changes_at_event(self.query.select, rows))

    def _deliver(self, changes: Iterable[Change]) -> None:
        if self._behind is None:
            self.live.deliver(changes)
        else:
            self._behind.append(changes)

    def end_too_large(self, why: rete.TooManyTokens) -> None:
        """It holds more than it may."""
        self._remove(self)
        self.live.end(too_many_tokens(why))

    def looks_at(self, window: rete.AlphaSpec) -> bool:
        """Whether it asks for the events of a window."""
        return any(memory.alpha == window for memory in self.memories)

    def tell_full_window(self, overrun: Overrun) -> None:
        """Events leave a window of it early: that is told once."""
        if not self._is_told_of_window:
            self._is_told_of_window = True
            self.live.tell_problem(overrun)

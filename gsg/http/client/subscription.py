"""A subscription of a client, as its peer tells of it: rows until the answer is complete, their changes, what is amiss, the end."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

from ...errors import DoorClosed, GsgError, LocalError, Overrun, PeerMisbehaved, PeerUnreachable, Stale
from ...languages.rows import Change, Row, Sign
from ...subscriptions.backlog import Overflow
from ...subscriptions.live import LiveSubscription
from ...subscriptions.subscription import Callback
from ..protocol import Done, Dropped, Ended, Events, OfSubscription, Rows, Subscribed, TopicEvents, Unsubscribe, UpToDate, error_of
from .peer_connection import SUBSCRIBE_AGAIN, PeerConnection


class ClientSubscription:
    """The peer's side of a :class:`LiveSubscription`, which is told the first answer as one; ``number`` is that of its request."""

    again = SUBSCRIBE_AGAIN

    def __init__(self, connection: PeerConnection, number: int, callback: Callback | None, limit: int, overflow: Overflow) -> None:
        self.live = LiveSubscription((), self, callback=callback, limit=limit, overflow=overflow)
        self._connection = connection
        self._number = number
        self.complete: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the answer is complete; has an error when it never will be."""
        self._rows: Counter[Row] = Counter()
        self._first: list[Change] = []
        """Rows until the answer is complete."""

    def rows_now(self) -> Counter[Row]:
        """The rows that have come and not gone."""
        return Counter(self._rows)

    async def close(self) -> None:
        """Its reader has closed the subscription: the peer is told."""
        connection = self._connection
        connection.subscriptions.pop(self._number, None)
        # Where the peer does not know the subscription, or is gone, it has ended already.
        with suppress(LocalError, PeerUnreachable, PeerMisbehaved):
            if connection.lost is None:
                await connection.ask(Unsubscribe(connection.next_number(), self._number), Done)

    def end_unread(self) -> None:
        """Nobody waits for the peer to be told."""
        self._connection.start_task(self.close())

    def begin(self, subscribed: Subscribed) -> None:
        """The peer has made it."""
        live = self.live
        live.variables, live.warnings, live.number = subscribed.variables, subscribed.warnings, subscribed.number

    def receive(self, message: OfSubscription) -> None:
        """The peer tells of it. Raises PeerMisbehaved for what cannot be of this subscription."""
        if isinstance(message, Rows):
            changes = self._changes(message)
            if self.complete.done():
                self.live.deliver(changes)
            else:
                self._first.extend(changes)
        elif isinstance(message, UpToDate):
            first, self._first = self._first, []
            self.live.deliver(first)
            if not self.complete.done():
                self.complete.set_result(None)
        elif isinstance(message, Ended):
            self.end(error_of(message.why))
        elif isinstance(message, Events | TopicEvents):
            raise PeerMisbehaved("events of a channel or a topic for a standing query; expected rows")
        else:
            error = error_of(message.why)
            if not isinstance(error, Overrun if isinstance(message, Dropped) else Stale):
                raise PeerMisbehaved(
                    f"{type(message).__name__} because of {error!r}; expected an Overrun, or a Stale for OutOfDate"
                )
            self.live.tell_problem(error)

    def _changes(self, message: Rows) -> list[Change]:
        if len(message.signs) != len(message.values):
            raise PeerMisbehaved(f"{len(message.signs)} signs for {len(message.values)} rows; expected one for each")
        names, rows = self.live.variables, self._rows
        changes: list[Change] = []
        for sign, values in zip(message.signs, message.values, strict=True):
            if sign not in (-1, 0, 1) or len(values) != len(names):
                raise PeerMisbehaved(f"a row of {len(values)} values with sign {sign}; expected {len(names)} values and 1, -1 or 0")
            row = Row.of(names, values)
            changes.append((Sign(sign), row))
            if sign:
                rows[row] += sign
                if not rows[row]:
                    del rows[row]
        return changes

    def end(self, error: GsgError) -> None:
        """Nothing more will come."""
        if not self.complete.done():
            self.complete.set_exception(error)
            self.complete.exception()  # it may be that nobody waits for it
        self.live.end(None if isinstance(error, DoorClosed) else error)

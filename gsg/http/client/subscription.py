"""A subscription of a client, as its peer tells of it: rows until the answer is complete, their changes, what is amiss, the end.

Where the client has lost its peer, the next one tells the whole answer again: the difference to what was held is what readers see.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

from ...errors import DoorClosed, GsgError, LocalError, Overrun, PeerMisbehaved, PeerUnreachable, Reconnected, Stale
from ...languages.rows import Change, Row, Sign
from ...subscriptions.backlog import Overflow
from ...subscriptions.live import LiveSubscription
from ...subscriptions.subscription import Callback
from ..failures import error_of
from ..protocol import Done, Dropped, Ended, Events, OfSubscription, Rows, Subscribe, Subscribed, TopicEvents, Unsubscribe, UpToDate
from .peer_connection import ConnectionState, PeerConnection
from .under_way import ROWS_FOLLOW, SUBSCRIBE_AGAIN, what_follows


class ClientSubscription:
    """The peer's side of a :class:`LiveSubscription`, which is told the first answer as one; ``request`` makes it."""

    again = SUBSCRIBE_AGAIN

    def __init__(
        self, connection: PeerConnection, request: Subscribe, callback: Callback | None, limit: int, overflow: Overflow
    ) -> None:
        self.request = request
        self.live = LiveSubscription((), self, callback=callback, limit=limit, overflow=overflow)
        self._connection = connection
        self.complete: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the answer is complete; has an error when it never will be."""
        self._rows: Counter[Row] = Counter()
        self._first: list[Change] = []
        """Rows until the answer is complete; of an answer that is told again, those of events."""
        self._held: Counter[Row] | None = None
        """What was told before the peer was lost, until the next one has told its whole answer."""
        self._reconnected: Reconnected | None = None

    def rows_now(self) -> Counter[Row]:
        """The rows that have come and not gone."""
        return Counter(self._rows if self._held is None else self._held)

    async def close(self) -> None:
        """Its reader has closed the subscription: the peer is told."""
        self._connection.subscriptions.pop(self.request.request, None)
        await unsubscribe(self._connection, self.request.request)

    def end_unread(self) -> None:
        """Nobody waits for the peer to be told."""
        self._connection.start_task(self.close())

    def begin(self, subscribed: Subscribed, reconnected: Reconnected | None) -> None:
        """The peer has made it, perhaps again. Raises PeerMisbehaved where it has other names now."""
        live = self.live
        self._first = []
        if self.complete.done():
            if subscribed.variables != live.variables:
                raise PeerMisbehaved(f"rows of {subscribed.variables}, which were of {live.variables} at the peer before")
            self._reconnected = reconnected
            self._held = self._rows if self._held is None else self._held
        self._rows = Counter()
        live.variables, live.warnings, live.number = subscribed.variables, subscribed.warnings, subscribed.number

    def receive(self, message: OfSubscription) -> None:
        """The peer tells of it. Raises PeerMisbehaved for what cannot be of this subscription."""
        if isinstance(message, Rows):
            changes = self._changes(message)
            if self._held is not None:
                self._first.extend(change for change in changes if change[0] is Sign.EVENT)
            elif self.complete.done():
                self.live.deliver(changes)
            else:
                self._first.extend(changes)
        elif isinstance(message, UpToDate):
            first, self._first = self._first, []
            if self._held is not None:
                first = self._difference() + first
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

    def _difference(self) -> list[Change]:
        """What leads from the rows that were held to those that the next peer has told; readers hear first that there is one."""
        held, self._held = self._held or Counter(), None
        if self._reconnected is not None:
            self.live.tell_problem(what_follows(self._reconnected, ROWS_FOLLOW))
        gone, come = held - self._rows, self._rows - held
        return [(Sign.MINUS, row) for row in gone.elements()] + [(Sign.PLUS, row) for row in come.elements()]

    def end(self, error: GsgError) -> None:
        """Nothing more will come."""
        if not self.complete.done():
            self.complete.set_exception(error)
            self.complete.exception()  # it may be that nobody waits for it
        self.live.end(None if isinstance(error, DoorClosed) else error)


async def unsubscribe(connection: PeerConnection, number: int) -> None:
    """Tell the peer that the subscription of this request is not wanted any more; where there is none now, as soon as there is."""

    async def tell() -> None:
        # Where the peer does not know the subscription, or is gone, it has ended already.
        with suppress(LocalError, PeerUnreachable, PeerMisbehaved):
            await connection.ask(Unsubscribe(connection.next_number(), number), Done)

    if connection.state is ConnectionState.RECONNECTING:
        connection.start_task(tell())
    elif connection.lost is None:
        await tell()

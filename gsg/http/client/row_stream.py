"""The rows of a standing query as messages bring them, for a reader that keeps the answer elsewhere, such as on a disk.

A :class:`LiveSubscription` keeps the answer and what is unread, for which each row becomes a :class:`Row` that is counted, hashed
and measured. A reader here gets lists of signs and of values at once, keeps what it wants, and makes differences itself where the
client comes to another peer, which tells its whole answer again.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from ...errors import DoorClosed, GsgError, Overrun, PeerMisbehaved, Reconnected, Stale
from ...tuples.terms import Term
from ..failures import error_of
from ..protocol import Dropped, Ended, OfSubscription, OutOfDate, Rows, Subscribe, Subscribed, UpToDate
from .peer_connection import PeerConnection
from .subscription import unsubscribe
from .under_way import ROWS_FOLLOW, SUBSCRIBE_AGAIN, what_follows


class RowReader(Protocol):
    """Who reads. Nothing of it may wait: it is called by what reads the connection. What it raises ends its subscription, with a
    LocalError of which that is the cause, and nothing else of the client."""

    def begin(self, variables: tuple[str, ...], reconnected: Reconnected | None) -> None:
        """A peer is about to tell its whole answer; ``reconnected`` where another one has told one before, or some of it: those
        rows are told again, and events in between may have been missed."""

    def receive_rows(self, signs: list[int], values: list[tuple[Term | None, ...]]) -> None:
        """Differences, oldest first: 1, -1, or 0 for an event's row, and values in the order of the variables,
        None where unbound."""

    def complete(self) -> None:
        """What has come since :meth:`begin` is the answer; what follows are its changes."""

    def tell_problem(self, problem: Overrun | Stale) -> None:
        """Events were dropped on their way here, or rows may be out of date for some time; it goes on."""

    def end(self, error: GsgError | None) -> None:
        """Nothing more will come, because of ``error``; None where the client was closed."""


class ClientRowStream:
    """The peer's side of a reader. Made by :meth:`gsg.AsyncClient.stream`."""

    again = SUBSCRIBE_AGAIN

    def __init__(
        self, connection: PeerConnection, reader: RowReader, text: str, language: str, limit: int, max_tokens: int
    ) -> None:
        self.request = Subscribe(connection.next_number(), text, language, limit, max_tokens)
        self.warnings: tuple[str, ...] = ()
        """What whoever wrote the query should know."""
        self._connection = connection
        self._reader = reader
        self._variables: tuple[str, ...] | None = None

    async def open(self) -> None:
        """Ask the peer for it; the answer follows. Raises what the peer says of the query."""
        self._connection.subscriptions[self.request.request] = self
        try:
            await self._connection.ask(self.request, Subscribed)
        except BaseException as error:
            self._connection.subscriptions.pop(self.request.request, None)
            if isinstance(error, asyncio.CancelledError):
                # The peer may have made it, or be about to.
                self._connection.start_task(unsubscribe(self._connection, self.request.request))
            raise

    async def close(self) -> None:
        """End it: the reader hears nothing more. Closing twice is allowed."""
        if self._connection.subscriptions.pop(self.request.request, None) is not None:
            await unsubscribe(self._connection, self.request.request)

    def begin(self, subscribed: Subscribed, reconnected: Reconnected | None) -> None:
        """The peer has made it, perhaps again. Raises PeerMisbehaved where it has other names now."""
        again = self._variables is not None
        if again and subscribed.variables != self._variables:
            raise PeerMisbehaved(f"rows of {subscribed.variables}, which were of {self._variables} at the peer before")
        self._variables, self.warnings = subscribed.variables, subscribed.warnings
        follows = what_follows(reconnected, ROWS_FOLLOW) if again and reconnected is not None else None
        self._reader.begin(subscribed.variables, follows)

    def receive(self, message: OfSubscription) -> None:
        """The peer tells of it. Raises PeerMisbehaved for what cannot be of this subscription."""
        reader = self._reader
        if isinstance(message, Rows):
            width = len(self._variables or ())
            if (
                len(message.signs) != len(message.values)
                or not {*message.signs} <= {-1, 0, 1}
                or {*map(len, message.values)} - {width}
            ):
                raise PeerMisbehaved(f"rows that are not {width} values and a sign of 1, -1 or 0 each")
            reader.receive_rows(message.signs, message.values)
        elif isinstance(message, UpToDate):
            reader.complete()
        elif isinstance(message, Ended):
            self.end(error_of(message.why))
        elif isinstance(message, Dropped | OutOfDate):
            error = error_of(message.why)
            if not isinstance(error, Overrun | Stale):
                raise PeerMisbehaved(f"{type(message).__name__} because of {error!r}; expected an Overrun or a Stale")
            reader.tell_problem(error)
        else:
            raise PeerMisbehaved(f"{type(message).__name__} for a standing query; expected rows")

    def end(self, error: GsgError) -> None:
        """Nothing more will come."""
        self._reader.end(None if isinstance(error, DoorClosed) else error)

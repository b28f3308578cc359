"""The connections of the HTTP door: how many there may be, and which of them are ended.

    opened ──> waiting for a request ──> being answered ──> waiting for the next, or a WebSocket
                  │ WAIT_SWEEPS             │ unread for STALL_SWEEPS
                  └──────> closed <─────────┴──> cut off        what closes and is not gone after CLOSE_SWEEPS is cut off

Closing a connection sends what is unsent first, for as long as its client likes; so whatever closes one, the sweep ends it. Time is
counted in sweeps, one a second: a peer that was stopped for a while has not let its clients wait for longer than they did.
A newcomer has the place of the connection that has waited for its request for the longest, if all places are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

MAX_CONNECTIONS = 2_000
"""Connections at once, WebSockets included, of which there are 1,000 at most. One more has the place of one that has not asked for
anything; where all have, it is answered 503."""
MAX_REFUSED = 100
"""Connections beyond, or beyond the last file handles, that are kept until they can be told why they are refused; one more is cut
at once."""
WAIT_SWEEPS = 20
"""How long a connection may take for the head of its request, from its beginning or the last answer."""
STALL_SWEEPS = 40
"""How long a client may leave unread what was sent to it, without taking any of it."""
CLOSE_SWEEPS = 3
"""How long a connection that is closed may take to send what is unsent."""


class Transport(Protocol):
    """What is needed of asyncio's."""

    def abort(self) -> None: ...
    def is_closing(self) -> bool: ...
    def get_write_buffer_size(self) -> int: ...


class Connection:
    """One of them. ``end`` closes it in order, with a status and a reason where it has begun to say something."""

    __slots__ = ("_closing", "_stalled", "_unread", "client", "end", "is_websocket", "refusal", "transport", "waits")

    def __init__(self, transport: Transport, end: Callable[[int, str], None], client: str = "") -> None:
        self.transport = transport
        self.end = end
        self.client = client
        """Its address."""
        self.is_websocket = False
        self.refusal = ""
        """Why it is not served."""
        self.waits: int | None = 0
        """For how many sweeps it has waited for a request; None while one is being answered, and of a WebSocket."""
        self._closing = 0
        self._unread = 0
        self._stalled = 0

    def sweep(self) -> str:
        """One second more; what it has died of, if it has."""
        transport = self.transport
        if transport.is_closing():
            self._closing += 1
            return "did not take what was left when it was closed" if self._closing > CLOSE_SWEEPS else ""
        unread = transport.get_write_buffer_size()
        self._stalled = self._stalled + 1 if unread and unread >= self._unread else 0
        self._unread = unread
        if self._stalled > STALL_SWEEPS:
            return "does not read what it has asked for"
        if self.waits is not None:
            self.waits += 1
            if self.waits > WAIT_SWEEPS:
                self.end(408, f"no request has come within {WAIT_SWEEPS} s; ask again")
        return ""


class Connections:
    """Those of one door."""

    def __init__(self, cut_off: Callable[[Connection, str], None], *, most: int | None = None) -> None:
        """``cut_off`` is told of each that is ended without having read what it was sent, and why."""
        self.refused = 0
        """Connections that were not served, or gave up their place, for want of places or handles."""
        self._cut_off = cut_off
        self._most = MAX_CONNECTIONS if most is None else most
        self._open: dict[Connection, None] = {}
        """Limit: MAX_CONNECTIONS and MAX_REFUSED."""
        self._waiting: dict[Connection, None] = {}
        """Those that wait for a request, for the longest first."""
        self._refused: dict[Connection, None] = {}
        """Those that are not served and were not told yet. Limit: MAX_REFUSED."""

    def __len__(self) -> int:
        return len(self._open)

    def open(self, connection: Connection, *, too_few: str = "") -> str:
        """One more; it has a ``refusal`` then where it is not to be served. ``too_few``: what there is too little of, besides.

        Returns why not all can be served, where that is so.
        """
        self._open[connection] = None
        if not too_few and len(self._open) - len(self._refused) > self._most:
            too_few = f"{self._most} connections are served already; try again later"
        if too_few:
            self.refused += 1
            if self._waiting:
                first = next(iter(self._waiting))
                del self._waiting[first]
                first.end(503, too_few)
            elif len(self._refused) < MAX_REFUSED:
                connection.refusal = too_few
                self._refused[connection] = None
            else:
                connection.transport.abort()
                return too_few
        if not connection.refusal:
            self._waiting[connection] = None
        return too_few

    def asked(self, connection: Connection) -> None:
        """A request has come by it."""
        connection.waits = None
        self._waiting.pop(connection, None)

    def answered(self, connection: Connection) -> None:
        """It was answered, and another one may come."""
        connection.waits = 0
        if connection in self._open and not connection.transport.is_closing():
            self._waiting[connection] = None

    def closed(self, connection: Connection) -> None:
        """It is gone."""
        for those in (self._open, self._waiting, self._refused):
            those.pop(connection, None)

    def sweep(self) -> None:
        """A second has passed."""
        for connection in list(self._open):
            died_of = connection.sweep()
            if died_of:
                self._cut_off(connection, died_of)
                connection.transport.abort()

    def abort_all(self) -> None:
        """The door is closed, and those who have not left by now are not waited for."""
        for connection in list(self._open):
            connection.transport.abort()

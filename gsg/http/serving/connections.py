"""The connections of the HTTP door: how many there may be, and which of them are ended.

    opened ──> waiting for a request ──> being answered ──> waiting for the next, or a WebSocket
                  │ WAIT_SWEEPS             │ unread for STALL_SWEEPS, or no pong
                  └──────> closed <─────────┴──> cut off        what closes and is not gone after CLOSE_SWEEPS is cut off

Closing a connection sends what is unsent first, for as long as its client likes; so whatever closes one, the sweep ends it. Time is
counted in sweeps, one a second: a peer that was stopped for a while has not let its clients wait for longer than they did.
A newcomer has the place of the connection that has waited for its request for the longest, if all places are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Protocol

MAX_CONNECTIONS = 2_000
"""Connections at once, WebSockets included, of which there are 1,000 at most. One more has the place of one that has not asked for
anything; where all have, it is answered 503."""
MAX_REFUSED = 100
"""Connections beyond that are kept until they ask for something, and are told then why they are not served: answers before that are
often lost. One more is told at once."""
MAX_REFUSED_WITHOUT_HANDLES = 4
"""As many, where file handles are what is lacking."""
WAIT_SWEEPS = 20
"""How long a connection may take for the head of its request, from its beginning or the last answer."""
STALL_SWEEPS = 40
"""How long a client may leave its answer unread, without taking any of it."""
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
        # A WebSocket's client is asked whether it lives, behind what was sent to it, and closed where it does not answer.
        unread = 0 if self.is_websocket else transport.get_write_buffer_size()
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
        """Limit: MAX_CONNECTIONS and MAX_REFUSED, and those that are about to be gone."""
        self._waiting: dict[Connection, None] = {}
        """Those that wait for a request, for the longest first."""
        self._refused: dict[Connection, None] = {}
        """Those that are not served and were not told yet. Limit: MAX_REFUSED."""
        self._ending: set[Connection] = set()
        """Those that gave up their place, and are about to be gone."""

    def __len__(self) -> int:
        return len(self._open)

    def open(self, connection: Connection, *, handles_beyond: int = 0, no_handles: str = "") -> str:
        """One more; it has a ``refusal`` then where it is not to be served.

        ``handles_beyond``: how many handles are to be freed besides, and what whoever gives up one is told. Returns why not all can
        be served, where that is so.
        """
        self._open[connection] = None
        if handles_beyond - len(self._ending) > 0:
            too_many, problem, kept = handles_beyond - len(self._ending), no_handles, MAX_REFUSED_WITHOUT_HANDLES
        else:
            too_many = len(self._open) - len(self._refused) - len(self._ending) - self._most
            problem, kept = f"{self._most} connections are served already; try again later", MAX_REFUSED
        if too_many <= 0:
            self._waiting[connection] = None
            return ""
        self.refused += 1
        for first in list(islice(self._waiting, too_many)):
            del self._waiting[first]
            self._ending.add(first)
            first.end(503, problem)
            too_many -= 1
        if too_many <= 0:
            self._waiting[connection] = None
        elif len(self._refused) < kept:
            connection.refusal = problem
            self._refused[connection] = None
        else:
            self._ending.add(connection)
            connection.end(503, problem)
        return problem

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
        self._ending.discard(connection)

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

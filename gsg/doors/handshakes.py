"""Connections to a door that speaks TLS, until their handshakes are over: a door sees those alone that have completed theirs.

    accepted ──> shaking hands ──done──> the door's protocol, as if it had come just now
                     │ wrong, gone, HANDSHAKE_S, or its place is needed
                     └──> closed, counted, said in the log

Whoever connects and says nothing holds a place here for HANDSHAKE_S, and none of the door's.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from itertools import islice
from types import TracebackType
from typing import Any, Self, cast

from dht.errors import show
from dht.links.handles import HANDLES
from dht.log_rate import LogRate

from ..errors import reason
from .renewal import RenewedContext
from .tls import DoorTls

log = logging.getLogger(__name__)
_failed = LogRate(log)

HANDSHAKE_S = 10.0
"""How long a handshake may take."""
SHUTDOWN_S = 3.0
"""How long a client may take to say that it has heard that a connection ends; it is cut off then."""
MAX_HANDSHAKES = 500
"""Handshakes of one door at once, each of some hundred KiB at most; one more has the place of the oldest, which is closed."""


class Handshakes:
    """Those of one door, named so in the log; an async context manager, which ends those that are under way when it is left.
    Raises LocalError for files that hold no certificate."""

    def __init__(self, tls: DoorTls, door: str, *, most: int = MAX_HANDSHAKES) -> None:
        self.failed = 0
        """Connections whose handshake did not come to its end."""
        self._door = door
        self._context = RenewedContext(tls)
        self._most = most
        self._under_way: dict[_Arrival, asyncio.Task[None]] = {}
        """The oldest first. Limit: MAX_HANDSHAKES."""
        self._group = asyncio.TaskGroup()
        self._closing = False

    def __len__(self) -> int:
        """How many are under way."""
        return len(self._under_way)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closing = True
        for arrival in list(self._under_way):
            self._give_up(arrival)
        # The caller's own error is the caller's: the group is to wait for its tasks, not to wrap it.
        await self._group.__aexit__(None, None, None)

    def protocol(self, make: Callable[[], asyncio.Protocol]) -> asyncio.Protocol:
        """The protocol of a connection that is accepted: once its handshake is over, it is that which ``make`` makes."""
        return _Arrival(self, make)

    def begin(self, arrival: _Arrival) -> None:
        """A connection was accepted."""
        if self._closing:
            arrival.transport.abort()
            return
        # What is read before TLS is there is kept and given to it: uvloop reads once all the same.
        arrival.transport.pause_reading()
        too_many = max(HANDLES.beyond(), len(self._under_way) + 1 - self._most)
        for oldest in list(islice(self._under_way, max(0, too_many))):
            self._fail(oldest, "its place is needed for others")
            self._give_up(oldest)
        task = self._group.create_task(self._shake_hands(arrival))
        self._under_way[arrival] = task
        task.add_done_callback(lambda _: self._under_way.pop(arrival, None))

    def _give_up(self, arrival: _Arrival) -> None:
        self._under_way.pop(arrival).cancel()
        arrival.transport.abort()

    async def _shake_hands(self, arrival: _Arrival) -> None:
        loop = asyncio.get_running_loop()
        if arrival.is_lost:
            self._fail(arrival, "it has left")
            return
        # It runs when start_tls has given the connection to TLS, and before that begins with it.
        loop.call_soon(arrival.give_early_to_tls)
        try:
            transport = await loop.start_tls(
                arrival.transport,
                arrival,
                self._context.current(),
                server_side=True,
                ssl_handshake_timeout=HANDSHAKE_S,
                ssl_shutdown_timeout=SHUTDOWN_S,
            )
        except OSError as error:
            self._fail(arrival, _why(error))
            arrival.transport.abort()
            return
        if transport is None or arrival.is_lost:
            self._fail(arrival, "it has left")
            return
        try:
            arrival.hand_over(transport)
        except Exception:
            # One connection must not take the door with it.
            log.exception("a connection to the %s door is closed", self._door)
            transport.abort()

    def _fail(self, arrival: _Arrival, why: str) -> None:
        self.failed += 1
        client = arrival.client
        _failed.warning("the TLS handshake of %s with the %s door has failed: %s", client, self._door, why, client=client)


class NoHandshakes:
    """Those of a door that speaks no TLS: its connections are its own at once."""

    failed = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing is under way."""

    def protocol(self, make: Callable[[], asyncio.Protocol]) -> asyncio.Protocol:
        """What ``make`` makes."""
        return make()


def handshakes_of(tls: DoorTls | None, door: str) -> Handshakes | NoHandshakes:
    """Those of a door, named so in the log. Raises LocalError for files that hold no certificate."""
    return NoHandshakes() if tls is None else Handshakes(tls, door)


class _Arrival(asyncio.Protocol):
    """One connection, until it is handed over."""

    transport: asyncio.Transport

    def __init__(self, handshakes: Handshakes, make: Callable[[], asyncio.Protocol]) -> None:
        self.client = "nowhere"
        self.is_lost = False
        self._handshakes = handshakes
        self._make = make
        self._early: list[bytes] = []
        """What came before TLS began, and then what came together with the end of the handshake. Limit: what two turns of the loop
        read."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have asyncio's methods without being of its class.
        self.transport = cast(asyncio.Transport, transport)
        address = transport.get_extra_info("peername")
        if address:
            self.client = show(address[0], address[1])
        self._handshakes.begin(self)

    def data_received(self, data: bytes) -> None:
        self._early.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True

    def give_early_to_tls(self) -> None:
        """TLS is there: let it have what came before."""
        early, self._early = b"".join(self._early), []
        protocol = self.transport.get_protocol()
        if protocol is self:
            return  # the connection is gone
        receiver = cast(asyncio.BufferedProtocol, protocol)
        while early:
            buffer = memoryview(receiver.get_buffer(len(early)))
            taken = min(len(buffer), len(early))
            buffer[:taken] = early[:taken]
            receiver.buffer_updated(taken)
            early = early[taken:]

    def hand_over(self, transport: asyncio.Transport) -> None:
        """The handshake is over: let the door's protocol have the transport of TLS, and what came meanwhile."""
        protocol = self._make()
        transport.set_protocol(protocol)
        protocol.connection_made(cast(asyncio.Transport, _ClosedOnce(transport)))
        for data in self._early:
            protocol.data_received(data)


class _ClosedOnce:
    """A transport of TLS in front of asyncio's, which it is but for closing: that one, closed twice, forgets its connection, and
    raises AttributeError when it is asked for anything or to abort."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.write = transport.write

    def __getattr__(self, name: str) -> Any:  # Any: whatever a transport has
        return getattr(self._transport, name)

    def close(self) -> None:
        """Close it, unless that was done."""
        if not self._transport.is_closing():
            self._transport.close()


_REASONS = {
    "HTTP_REQUEST": "it speaks HTTP in plain text; its URL is to begin with https://",
    "WRONG_VERSION_NUMBER": "what it says is no TLS",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "it shows no certificate, and the door asks for one",
    "TLSV1_ALERT_UNKNOWN_CA": "it does not trust the door's certificate; it is to be given the CA that signed it",
    "SSLV3_ALERT_BAD_CERTIFICATE": "it does not take the door's certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the door's certificate is over; put another one in its place",
    "UNSUPPORTED_PROTOCOL": "it asks for a version of TLS before 1.2",
}


def _why(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return _REASONS.get(error.reason, str(error.reason or error))
    if isinstance(error, ConnectionAbortedError):
        return f"it was not over within {HANDSHAKE_S:g} s"
    return "it has left" if isinstance(error, ConnectionError) else reason(error)

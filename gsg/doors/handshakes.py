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
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
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
"""Handshakes of one door at once, each of some hundred KiB at most; one more has the place of another, which is closed
(:func:`to_give_up`)."""
IPV6_BLOCK_BYTES = 8
"""Of an IPv6 address, those that a network has (/64): one host may have all addresses behind them."""


class Handshakes:
    """Those of one door, named so in the log; an async context manager, which ends those that are under way when it is left.
    Raises LocalError for files that hold no certificate.

    ``admits``: whether the door serves clients at an address. It is asked before the handshake, so that whoever is not served costs
    neither that nor a place, and counts and logs those itself.
    """

    def __init__(self, tls: DoorTls, door: str, *, admits: Callable[[str], bool] | None = None, most: int = MAX_HANDSHAKES) -> None:
        self.failed = 0
        """Connections whose handshake did not come to its end."""
        self._door = door
        self._admits = admits
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
        if self._closing or not (self._admits is None or self._admits(arrival.host)):
            arrival.transport.abort()
            return
        # What is read before TLS is there is kept and given to it: uvloop reads once all the same.
        arrival.transport.pause_reading()
        too_many = max(HANDLES.beyond(), len(self._under_way) + 1 - self._most)
        for _ in range(min(too_many, len(self._under_way))):
            waiting = list(self._under_way)
            given_up = waiting[to_give_up([each.block for each in waiting], arrival.block)]
            self._fail(given_up, "its place is needed for others")
            self._give_up(given_up)
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
        except Exception as error:
            # Besides OSError of networks and of TLS, loops raise what they like for a connection that ends meanwhile, such as
            # uvloop a RuntimeError for a handle that is closed. In a TaskGroup that would end all handshakes, those to come too:
            # one connection must not take the door with it.
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


def handshakes_of(tls: DoorTls | None, door: str, admits: Callable[[str], bool] | None = None) -> Handshakes | NoHandshakes:
    """Those of a door, named so in the log; one without TLS asks ``admits`` itself. Raises LocalError for files that hold no
    certificate."""
    return NoHandshakes() if tls is None else Handshakes(tls, door, admits=admits)


def to_give_up(blocks: Sequence[bytes], newcomer: bytes) -> int:
    """Which of the handshakes under way, the oldest first, gives its place to a newcomer: the oldest of the address block that has
    the most of them, so that whoever holds many places loses its own. The newcomer counts among those of its block.

    ``blocks`` are those of all that are under way, one at least, and ``newcomer`` is its own.
    """
    counts = Counter(blocks)
    counts[newcomer] += 1
    most = max(counts.values())
    return next(place for place, block in enumerate(blocks) if counts[block] == most)


@lru_cache(maxsize=4096)
def block_of(host: str) -> bytes:
    """Whose places count together: an IPv4 address, or the /64 of an IPv6 address. Of what is no address it is empty.

    Unlike in :mod:`dht.datagrams.address_blocks`, neighbours in IPv4 are others, as clients of one site often are, and no network
    is exempt.
    """
    try:
        address = ip_address(host)
    except ValueError:
        return b""  # a socket that was closed as it came has no address any more
    if not isinstance(address, IPv6Address):
        return address.packed
    return address.packed[:IPV6_BLOCK_BYTES] if address.ipv4_mapped is None else address.ipv4_mapped.packed


class _Arrival(asyncio.Protocol):
    """One connection, until it is handed over."""

    transport: asyncio.Transport

    def __init__(self, handshakes: Handshakes, make: Callable[[], asyncio.Protocol]) -> None:
        self.client = "nowhere"
        self.host = ""
        self.block = b""
        """Whose places count together."""
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
            self.host = address[0]
            self.block = block_of(self.host)
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


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return _REASONS.get(error.reason, str(error.reason or error))
    if isinstance(error, ConnectionAbortedError):
        return f"it was not over within {HANDSHAKE_S:g} s"
    if isinstance(error, ConnectionError):
        return "it has left"
    return reason(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"

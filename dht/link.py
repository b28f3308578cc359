"""Links: one TCP stream between two peers, carrying frames both ways.

    connected ──> hello sent (dialler) ──> hello received ──> open ──> closed: reason
                  hello sent (listener, after a good hello)

The rules:

* The first frame each way is a hello: ``GSG1``, the sender's id, its listening port and a number drawn at its start. Anything else,
  or nothing within ``handshake_s``, closes the connection and is counted; the peer goes on serving others.
* Payloads sent in one turn of the event loop leave in one write. Nothing is dropped silently: a link is *congested* above
  HIGH_WATER_BYTES unsent, and closed with a reason above HARD_LIMIT_BYTES.
* Closing sends what was unsent, then ends; ``on_lost`` is told once for each link that had opened.
* Two peers that dial each other at the same moment have two links. Each side goes on sending on the first it had, so that the
  order of its frames holds; ``Links.linked`` says which.
* A hello with another start number means that the peer was started anew: links to its former life are closed.
"""

from __future__ import annotations

import asyncio
from enum import Enum
from struct import Struct
from typing import TYPE_CHECKING, cast

from .contacts import Contact
from .errors import FrameTooLarge, LinkLost
from .frames import HEADER_BYTES, Framer, frame, header
from .identity import ID_BYTES, PeerId

if TYPE_CHECKING:
    from .links import Links

HIGH_WATER_BYTES = 1024 * 1024
"""Unsent bytes from which a link is congested: stop producing for it."""

LOW_WATER_BYTES = 256 * 1024
"""Unsent bytes in the transport below which a congested link is drained again."""

HARD_LIMIT_BYTES = 64 * 1024 * 1024
"""Unsent bytes at which a link is closed: its caller did not stop, or the other side reads too slowly for too long."""

WRITE_BYTES = 256 * 1024
"""Payloads of one turn that reach this size are written without waiting for its end."""

_MAGIC = b"GSG1"
_hello = Struct(f">4s{ID_BYTES}sHQ")
HELLO_BYTES = _hello.size


class LinkState(Enum):
    """Where a link is in its life."""

    SHAKING_HANDS = "shaking hands"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"


class Link(asyncio.Protocol):
    """One stream to one peer. Made by :class:`dht.links.Links`; ``peer`` is right once the link is open."""

    def __init__(self, links: Links, expected: Contact | None) -> None:
        self.state = LinkState.SHAKING_HANDS
        self.dialled = expected is not None
        """Whether this side opened the connection."""
        self.peer = expected or Contact(bytes(ID_BYTES), "", 0)
        """Who is at the other end, and where it listens."""
        self.reason = ""
        """Why the link is closed."""
        self.congested = False
        """Whether the caller should stop producing for this link: see ``drained``."""
        self.start_number = 0
        self._links = links
        self._expected = expected
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._framer = Framer()
        self._greeting: bytes | None = b""
        # Headers and payloads not yet given to the transport. Limit: HARD_LIMIT_BYTES, where the link is closed with a reason.
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._flushing = False
        self._blocked = False
        self._drained = asyncio.Event()
        self._drained.set()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()

    def __repr__(self) -> str:
        return f"<Link to {self.peer}, {self.state.value}{': ' + self.reason if self.reason else ''}>"

    # Sending

    def send(self, payload: bytes) -> None:
        """Send one payload; returns at once. Raises LinkLost when the link is closed and PayloadTooLarge."""
        if self.state is not LinkState.OPEN:
            raise LinkLost(self.peer.host, self.peer.port, self.reason or self.state.value)
        unsent = self._unsent
        unsent.append(header(payload))
        unsent.append(payload)
        self._unsent_bytes += HEADER_BYTES + len(payload)
        if self._blocked:
            if self._unsent_bytes > HARD_LIMIT_BYTES:
                self._fail(f"the other side left more than {HARD_LIMIT_BYTES} bytes unread")
        elif self._unsent_bytes >= WRITE_BYTES:
            self._write()
        elif not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    @property
    def unsent_bytes(self) -> int:
        """Bytes given to :meth:`send` that the kernel has not taken yet."""
        return self._unsent_bytes + (0 if self._transport is None else self._transport.get_write_buffer_size())

    async def drained(self) -> None:
        """Wait until the link is not congested. Raises LinkLost when it closes meanwhile."""
        await self._drained.wait()
        if self.state is not LinkState.OPEN:
            raise LinkLost(self.peer.host, self.peer.port, self.reason or self.state.value)

    def _flush(self) -> None:
        self._flushing = False
        if self._unsent and not self._blocked and self.state is LinkState.OPEN:
            self._write()

    def _write(self) -> None:
        data = b"".join(self._unsent)
        self._unsent.clear()
        self._unsent_bytes = 0
        assert self._transport is not None
        self._transport.write(data)

    def pause_writing(self) -> None:
        """The transport holds HIGH_WATER_BYTES: keep the rest here."""
        self._blocked = True
        if not self.congested and self.state is LinkState.OPEN:
            self.congested = True
            self._drained.clear()
            self._links.congested(self)

    def resume_writing(self) -> None:
        """The transport is down to LOW_WATER_BYTES."""
        self._blocked = False
        if self.state is LinkState.OPEN and self._unsent:
            self._write()
        if not self._blocked and self.congested:
            self.congested = False
            self._drained.set()
            self._links.drained(self)

    # Receiving

    def pause_reading(self) -> None:
        """Take no more frames for now; the other side's link becomes congested in time."""
        if self._transport is not None and self.state is LinkState.OPEN:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take frames again."""
        if self._transport is not None and self.state is LinkState.OPEN:
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """One read: all the frames that it completes go to the caller together."""
        if self.state is LinkState.OPEN:
            pass
        elif self.state is LinkState.SHAKING_HANDS:
            rest = self._greeted(data)
            if not rest:
                return
            data = rest
        else:
            return
        try:
            payloads = self._framer.feed(data)
        except FrameTooLarge as error:
            self._fail(str(error))
            return
        if payloads:
            self._links.received(self, payloads)

    def _greeted(self, data: bytes) -> bytes:
        """Read the hello; what came after it, or nothing when it is not complete or not one."""
        assert self._greeting is not None
        greeting = self._greeting + data
        size = HEADER_BYTES + HELLO_BYTES
        # Compare what is there, so that a stranger is not waited for.
        if not (frame(bytes(HELLO_BYTES))[:HEADER_BYTES] + _MAGIC).startswith(greeting[: HEADER_BYTES + len(_MAGIC)]):
            self._fail("the other side does not speak this protocol")
            return b""
        if len(greeting) < size:
            self._greeting = greeting
            return b""
        self._greeting = None
        _, peer, port, start_number = _hello.unpack_from(greeting, HEADER_BYTES)
        self._meet(peer, port, start_number)
        return greeting[size:] if self.state is LinkState.OPEN else b""

    def _meet(self, peer: PeerId, port: int, start_number: int) -> None:
        assert self._transport is not None
        found = self._transport.get_extra_info("peername")
        self.start_number = start_number
        if port == 0:
            self._fail("the other side names no port in its hello")
        elif peer == self._links.id:
            self._fail("this peer dialled itself")
        elif self._expected is not None and peer != self._expected.id:
            self.peer = Contact(peer, self._expected.host, self._expected.port)
            self._fail("another peer answers at that address")
        else:
            if self._expected is None:
                self.peer = Contact(peer, found[0], port)
                self._transport.write(self._links.hello)
            self.state = LinkState.OPEN
            self._links.opened(self)
            if not self._opened.done():
                self._opened.set_result(None)

    # Beginning and end

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands; the dialler speaks first."""
        # uvloop's transports have asyncio's methods without being of its class.
        transport = cast(asyncio.Transport, transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=HIGH_WATER_BYTES, low=LOW_WATER_BYTES)
        self._links.connected(self)
        if self.dialled and self.state is LinkState.SHAKING_HANDS:
            transport.write(self._links.hello)

    def eof_received(self) -> bool:
        """The other side ended its direction: so does this one."""
        if not self.reason:
            self.reason = "the other side closed it" + (" in the middle of a frame" if self._framer.unfinished else "")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        was_open = self.state is LinkState.OPEN or (self.state is LinkState.CLOSING and self._opened.done())
        if not self.reason:
            self.reason = f"the connection broke ({exc})" if exc else "the other side closed it"
        self.state = LinkState.CLOSED
        self._unsent.clear()
        self._unsent_bytes = 0
        self._drained.set()
        if not self._opened.done():
            self._opened.set_result(None)
        self._ended.set_result(None)
        self._links.ended(self, was_open=was_open)

    def close(self, reason: str = "closed by this side") -> None:
        """Send what is unsent, then end the link; ``on_lost`` follows with the reason."""
        if self.state not in (LinkState.OPEN, LinkState.SHAKING_HANDS):
            return
        if self.state is LinkState.OPEN and self._unsent:
            self._write()
        self.reason = reason
        self.state = LinkState.CLOSING
        self._drained.set()
        if self._transport is not None:
            self._transport.close()

    def abort(self, reason: str) -> None:
        """End the link at once; what is unsent is lost with it."""
        if self.state is not LinkState.CLOSED:
            self.reason = self.reason or reason
            self.state = LinkState.CLOSING
            self._drained.set()
            if self._transport is not None:
                self._transport.abort()

    async def opened(self) -> None:
        """Wait until the hellos are exchanged or the connection has ended."""
        await asyncio.shield(self._opened)

    async def ended(self) -> None:
        """Wait until the connection is gone."""
        await asyncio.shield(self._ended)

    def _fail(self, reason: str) -> None:
        self._links.counts[reason if self.state is LinkState.OPEN else f"hello: {reason}"] += 1
        self.abort(reason)


def make_hello(own: PeerId, port: int, start_number: int) -> bytes:
    """The first frame of either side: who we are, where we listen and which of our lives this is."""
    return frame(_hello.pack(_MAGIC, own, port, start_number))

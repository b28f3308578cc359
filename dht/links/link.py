"""Links: one TCP stream between two peers, carrying frames both ways.

    SHAKING_HANDS: who is who ──> OPEN ──> CLOSING ──> CLOSED: reason

The rules:

* The first frames each way are a handshake (:mod:`dht.links.handshake`), inside TLS where this peer's links have it
  (:mod:`dht.links.tls`). Anything else, or nothing within ``handshake_s``, closes the connection and is counted; the peer goes on
  serving others.
* Payloads sent in one turn of the event loop leave in one write. Nothing is dropped silently: a link is *congested* above
  HIGH_WATER_BYTES unsent, and closed with a reason above HARD_LIMIT_BYTES.
* Closing sends what was unsent, for CLOSE_S at most (:mod:`dht.links.closing`), then ends; ``on_lost`` is told once for each link
  that had opened.
* Two peers that dial each other at the same moment have two links. Each side goes on sending on the first it had, so that the
  order of its frames holds; ``Links.linked`` says which.
* A handshake with another start number means that the peer was started anew: links to its former life are closed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from enum import Enum
from typing import Protocol, cast

from ..errors import FrameTooLarge, LinkLost, Refusal
from ..identity.contacts import Contact
from ..identity.ids import ID_BYTES
from .closing import close_in_time
from .frames import HEADER_BYTES, Framer, header
from .handshake import OTHER_PROTOCOL, WRONG_PEER, Handshake, HandshakeFailed, HandshakeFrames, refusal_frame
from .tls import TLS_RECORD, LinkTls, TlsFailed, TlsSession

HIGH_WATER_BYTES = 1024 * 1024
"""Unsent bytes from which a link is congested: stop producing for it."""

LOW_WATER_BYTES = 256 * 1024
"""Unsent bytes in the transport below which a congested link is drained again."""

HARD_LIMIT_BYTES = 64 * 1024 * 1024
"""Unsent bytes at which a link is closed: its caller did not stop, or the other side reads too slowly for too long."""

WRITE_BYTES = 256 * 1024
"""Payloads of one turn that reach this size are written without waiting for its end."""

LONG_READ_BYTES = 128 * 1024
"""After a read of so many bytes others have their turn before the next one. uvloop reads a stream up to 32 times in one turn of the
event loop, 256 KB each: work for seconds, in which this peer would answer no probe and be taken for dead."""


class LinkState(Enum):
    """Where a link is in its life."""

    SHAKING_HANDS = "shaking hands"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"


TRANSITIONS = {
    LinkState.SHAKING_HANDS: {LinkState.OPEN, LinkState.CLOSING, LinkState.CLOSED},
    LinkState.OPEN: {LinkState.CLOSING, LinkState.CLOSED},
    LinkState.CLOSING: {LinkState.CLOSING, LinkState.CLOSED},
    LinkState.CLOSED: set[LinkState](),
}
_LIVE = (LinkState.SHAKING_HANDS, LinkState.OPEN)


class LinkOwner(Protocol):
    """What a link asks of, and reports to, whoever holds it: :class:`dht.links.links.Links`."""

    tls: LinkTls | None
    """The TLS of this peer's links; None where they are plain."""
    waits: bool
    """Whether nothing is to be read yet."""
    read_s: float
    """When anything came last by any link: each sets it."""
    counts: Counter[str]

    def make_handshake(self, expected: Contact | None) -> Handshake:
        """This side's part in the beginning of a link, to the peer that was dialled or from whoever dials."""

    def count_refusal(self, refusal: Refusal) -> None:
        """Somebody was not let in."""

    def link_connected(self, link: Link, transport: asyncio.Transport) -> None:
        """A connection stands; the hellos are awaited."""

    def link_opened(self, link: Link) -> None:
        """The hellos are exchanged."""

    def frames_received(self, link: Link, payloads: list[bytes]) -> None:
        """Frames came."""

    def link_ended(self, link: Link, *, was_open: bool) -> None:
        """A connection is gone."""


class Link(asyncio.Protocol):
    """One stream to one peer. Made by :class:`dht.links.links.Links`; ``peer`` is right once the link is open."""

    def __init__(self, links: LinkOwner, expected: Contact | None) -> None:
        self.state = LinkState.SHAKING_HANDS
        self.dialled = expected is not None
        """Whether this side opened the connection."""
        self.peer = expected or Contact(bytes(ID_BYTES), "", 0)
        """Who is at the other end, and where it listens."""
        self.reason = ""
        """Why the link is closed."""
        self.broke = False
        """Whether it ended without either side closing it."""
        self.congested = False
        """Whether the caller should stop producing for this link: see ``drained``."""
        self.heard_s = float("-inf")
        """When anything came last since the link opened, by the loop's clock: of a long frame, its latest part."""
        self.start_number = 0
        self._was_open = False
        self._links = links
        self._expected = expected
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        """Set by :meth:`connection_made`, before anybody else has this link."""
        self._framer = Framer()
        self._handshake: Handshake = links.make_handshake(expected)
        self._session: TlsSession | None = None
        # Cuts the plain words of a side that does not speak TLS, where this one does.
        self._plain: HandshakeFrames | None = None
        self._has_read = False
        self._early = b""
        """What came before :meth:`begin_reading`. Limit: one read, and what else a loop hands on of what it has read already."""
        self._reads = True
        """Whether the caller takes frames: see ``pause_reading``."""
        # Headers and payloads not yet given to the transport. Limit: HARD_LIMIT_BYTES, where the link is closed with a reason.
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._flushing = False
        self._drained = asyncio.Event()
        self._drained.set()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()

    def __repr__(self) -> str:
        return f"<Link to {self.peer}, {self.state.value}{': ' + self.reason if self.reason else ''}>"

    def _enter(self, state: LinkState) -> None:
        assert state in TRANSITIONS[self.state], f"{self.state} does not lead to {state}"
        self.state = state

    # Sending

    def send(self, payload: bytes) -> None:
        """Send one payload; returns at once. Raises LinkLost when the link is closed and PayloadTooLarge."""
        if self.state is not LinkState.OPEN:
            raise self._lost()
        unsent = self._unsent
        unsent.append(header(payload))
        unsent.append(payload)
        self._unsent_bytes += HEADER_BYTES + len(payload)
        if self.congested:
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
        return self._unsent_bytes + self._transport.get_write_buffer_size()

    async def drained(self) -> None:
        """Wait until the link is not congested. Raises LinkLost when it closes meanwhile."""
        await self._drained.wait()
        if self.state is not LinkState.OPEN:
            raise self._lost()

    def _lost(self) -> LinkLost:
        return LinkLost(self.peer.host, self.peer.port, self.reason or self.state.value)

    def _flush(self) -> None:
        self._flushing = False
        if self._unsent and not self.congested and self.state is LinkState.OPEN:
            self._write()

    def _write(self) -> None:
        data = b"".join(self._unsent)
        self._unsent.clear()
        self._unsent_bytes = 0
        self._transmit(data)

    def _transmit(self, data: bytes) -> None:
        self._transport.write(data if self._session is None else self._session.encrypt(data))

    def pause_writing(self) -> None:
        """The transport holds HIGH_WATER_BYTES: keep the rest here."""
        if self.state is LinkState.OPEN:
            self.congested = True
            self._drained.clear()

    def resume_writing(self) -> None:
        """The transport is down to LOW_WATER_BYTES."""
        self.congested = False
        if self.state is LinkState.OPEN and self._unsent:
            self._write()
        if not self.congested:  # the write may have filled the transport again
            self._drained.set()

    # Receiving

    def pause_reading(self) -> None:
        """Take no more frames for now; the other side's link becomes congested in time."""
        if self.state is LinkState.OPEN:
            self._reads = False
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take frames again."""
        self._reads = True
        self._resume_transport()

    def begin_reading(self) -> None:
        """Take what waits, and go on reading: see ``waits`` in :class:`dht.links.links.Links`."""
        early, self._early = self._early, b""
        if early:
            self.data_received(early)
        self._resume_transport()

    def data_received(self, data: bytes) -> None:
        """One read: all the frames that it completes go to the caller together."""
        if self.state not in _LIVE:
            return
        if self._links.waits:
            # Here, and not where the connection is made: asyncio before 3.12, and uvloop, begin to read after that, paused or not.
            self._early += data
            self._transport.pause_reading()
            return
        now = self._links.read_s = self._loop.time()
        if self.state is LinkState.OPEN:
            self.heard_s = now
            if len(data) >= LONG_READ_BYTES and self._reads:
                self._transport.pause_reading()
                self._loop.call_soon(self._resume_transport)
        if self._links.tls is not None:
            data = self._decrypt(data)
        if data and self.state is LinkState.SHAKING_HANDS:
            data = self._shake_hands(data)
        if not data:
            return
        try:
            payloads = self._framer.feed(data)
        except FrameTooLarge as error:
            self._fail(str(error))
            return
        if payloads:
            self._links.frames_received(self, payloads)

    def _resume_transport(self) -> None:
        if self._reads and self.state in _LIVE and not self._transport.is_closing():
            self._transport.resume_reading()

    def _decrypt(self, data: bytes) -> bytes:
        """The plain bytes of one read; nothing while TLS shakes hands, or when it fails."""
        session, links, transport = self._session, self._links, self._transport
        assert links.tls is not None
        if not self._has_read:
            self._has_read = True
            if data[0] == 0:
                # A side without TLS says in plain words that it has none.
                self._plain = HandshakeFrames()
            elif session is None and data[0] != TLS_RECORD:
                self._fail(OTHER_PROTOCOL)
                return b""
            elif session is None:
                session = self._session = links.tls.listen()
        if self._plain is not None:
            if session is None:
                self._refuse("the other side's links are plain", Refusal.TLS_ONLY)
                return b""
            try:
                self._plain.cut(data)
            except HandshakeFailed as error:
                self._fail(str(error))
            return b""
        assert session is not None
        was_established = session.established
        try:
            plain = session.decrypt(data)
            if session.established and not was_established and self._expected is not None:
                found = session.certified_peer()
                if found != self._expected.id:
                    self.peer = Contact(found, self._expected.host, self._expected.port)
                    self._fail(WRONG_PEER)
                    return b""
                transport.write(session.outgoing() + session.encrypt(self._handshake.begin()))
        except TlsFailed as error:
            # With an alert, as TLS has it.
            transport.write(session.outgoing())
            self._fail(str(error))
            return b""
        out = session.outgoing()
        if out:
            transport.write(out)
        return plain

    def _shake_hands(self, data: bytes) -> bytes:
        """Go on with the handshake; what came after it, or nothing while it lasts or when it fails."""
        handshake, expected = self._handshake, self._expected
        if self._links.tls is None and not self._has_read and data[0] == TLS_RECORD:
            self._refuse("the other side's links are TLS", Refusal.PLAIN_ONLY)
            return b""
        self._has_read = True
        try:
            answer = handshake.received(data)
        except HandshakeFailed as error:
            if expected is not None and str(error) == WRONG_PEER:
                self.peer = Contact(handshake.peer, expected.host, expected.port)
            self._refuse(str(error), error.refusal, is_told=error.is_told)
            return b""
        if answer:
            self._transmit(answer)
        if not handshake.done:
            return b""
        self.start_number = handshake.start_number
        if expected is None:
            self.peer = Contact(handshake.peer, self._transport.get_extra_info("peername")[0], handshake.port)
        self._enter(LinkState.OPEN)
        self._was_open = True
        self._links.link_opened(self)
        if not self._opened.done():
            self._opened.set_result(None)
        return handshake.rest

    # Beginning and end

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands; the dialler speaks first."""
        # uvloop's transports have asyncio's methods without being of its class.
        transport = cast(asyncio.Transport, transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=HIGH_WATER_BYTES, low=LOW_WATER_BYTES)
        self._links.link_connected(self, transport)
        if self.dialled and self.state is LinkState.SHAKING_HANDS:
            if self._links.tls is None:
                transport.write(self._handshake.begin())
            else:
                self._session = self._links.tls.dial()
                transport.write(self._session.outgoing())

    def eof_received(self) -> bool:
        """The other side ended its direction: so does this one."""
        if not self.reason:
            self.reason = "the other side closed it" + (" in the middle of a frame" if self._framer.unfinished else "")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        if not self.reason:
            self.broke = exc is not None
            self.reason = f"the connection broke ({exc})" if exc else "the other side closed it"
        self._enter(LinkState.CLOSED)
        self._unsent.clear()
        self._unsent_bytes = 0
        self._drained.set()
        if not self._opened.done():
            self._opened.set_result(None)
        self._ended.set_result(None)
        self._links.link_ended(self, was_open=self._was_open)

    def close(self, reason: str = "closed by this side") -> None:
        """Send what is unsent, then end the link; ``on_lost`` follows with the reason."""
        if self.state not in _LIVE:
            return
        if self.state is LinkState.OPEN and self._unsent:
            self._write()
        self.reason = reason
        self._enter(LinkState.CLOSING)
        self._drained.set()
        if self._session is not None and self._session.established:
            self._transport.write(self._session.close_notify())
        close_in_time(self._transport)

    def abort(self, reason: str) -> None:
        """End the link at once; what is unsent is lost with it."""
        if self.state is not LinkState.CLOSED:
            self.reason = self.reason or reason
            self._enter(LinkState.CLOSING)
            self._drained.set()
            self._transport.abort()

    async def opened(self) -> None:
        """Wait until the hellos are exchanged or the connection has ended."""
        await asyncio.shield(self._opened)

    async def ended(self) -> None:
        """Wait until the connection is gone."""
        await asyncio.shield(self._ended)

    def _refuse(self, reason: str, refusal: Refusal | None, *, is_told: bool = True) -> None:
        """End the handshake; the other side is told why where there is something to tell."""
        if refusal is not None:
            self._links.count_refusal(refusal)
        if refusal is None or not is_told:
            self._fail(reason)
            return
        self._links.counts[f"hello: {reason}"] += 1
        self._transmit(refusal_frame(refusal))
        # Closed, not aborted: the words are to arrive.
        self.close(reason)

    def _fail(self, reason: str) -> None:
        self._links.counts[reason if self.state is LinkState.OPEN else f"hello: {reason}"] += 1
        self.abort(reason)

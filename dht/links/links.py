"""All links of one peer: listens, dials, and knows which peer is at the end of each.

    async with Links(id, host, port, rng=rng, on_frames=..., on_lost=...) as links:
        link = await links.connect(contact)
        link.send(payload)

Leaving the block sends what is unsent, for ``CLOSE_S`` at most, and ends every connection and dial.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from random import Random
from types import TracebackType
from typing import Self

from ..background import BackgroundTasks
from ..errors import Address, BadContact, DialBroke, NotOpen, PeerUnreachable, Refusal, WrongPeer, telling_address_in_use
from ..identity.contacts import Contact, is_reachable_literal
from ..identity.ids import PeerId
from ..identity.membership import Membership
from ..liveness.late_timers import Timer, late_s
from ..log_rate import LogRate
from .closing import CLOSE_S
from .handles import HANDLES
from .handshake import WRONG_PEER, ClaimedHandshake, Handshake, ProvedHandshake
from .link import Link, LinkState
from .tls import LinkTls

MAX_LINKS = 4096
"""Connections at once; one more is closed as it comes, and counted."""

MAX_LINKS_PER_PEER = 4
"""Open links to one peer: two where both dial at once, and those that it lost and this side has not noticed. Of more, the one by
which nothing came for the longest is ended."""

DIALS = 2
"""How often a peer is dialled where the first dial does not show that it is dead: its host answered, and the connection broke
before the hello; or no hello came in time, while this side was stopped or read nothing from anybody else either. A peer that has
no place for another link breaks the connection too, so it is dialled twice."""

BACKLOG = 1024

_refused_log = LogRate(logging.getLogger(__name__))


class Links:
    """The TCP side of one peer.

    ``host`` is an IP literal to listen at, ``port`` TCP's, 0 takes a free one; ``rng`` draws the number of this start.
    ``on_frames(link, payloads)`` is called once per read with all the payloads complete in it; ``on_lost(link, reason)`` when a
    link that had opened has ended. Callbacks must not block. When ``on_frames`` raises, its frames count as lost: that is logged,
    counted in ``counts``, and the link is closed with the reason.

    ``membership``, whose id is to be ``id``, proves who this peer is and demands the same of others; with ``tls``, inside TLS. Both
    ends of a link have the same of both. Without it ids are claims. Where it ``waits``, nothing is read before
    :meth:`begin_reading`: who calls earlier, as one that knows this peer from its last life, waits too.
    """

    def __init__(
        self,
        id: PeerId,
        host: str,
        port: int,
        *,
        rng: Random,
        on_frames: Callable[[Link, list[bytes]], None],
        on_lost: Callable[[Link, str], None] | None = None,
        handshake_s: float = 5.0,
        max_links: int = MAX_LINKS,
        membership: Membership | None = None,
        tls: bool = False,
        waits: bool = False,
    ) -> None:
        self.id = id
        self.host = host
        self.port = port
        """Where this peer listens: right once entered."""
        self.tls: LinkTls | None = None
        self.read_s = float("-inf")
        """When anything came last by any connection, by the loop's clock."""
        self.counts: Counter[str] = Counter()
        """How many connections were ended for each reason, and callbacks failed."""
        self._rng = rng
        self._start_number = rng.getrandbits(64)
        self._membership = membership
        self._wants_tls = tls
        self._on_frames = on_frames
        self._on_lost = on_lost
        self._handshake_s = handshake_s
        self._max_links = max_links
        self._server: asyncio.Server | None = None
        self._tasks = BackgroundTasks(self.counts)
        # Limits: max_links; MAX_LINKS_PER_PEER of one peer, once they are open.
        # The value is the timer that ends half a handshake, owned by the link's entry here.
        self._connections: dict[Link, Timer] = {}
        self._by_peer: dict[PeerId, list[Link]] = {}
        # Limit: one a peer that a caller asks for; each ends within DIALS times handshake_s.
        self._dials: dict[PeerId, asyncio.Task[Link | PeerUnreachable | None]] = {}
        self.waits = waits
        """Whether nothing is read yet."""

    async def __aenter__(self) -> Self:
        """Listen. Raises AddressInUse."""
        loop = asyncio.get_running_loop()
        with telling_address_in_use(self.host, self.port):
            self._server = await loop.create_server(lambda: Link(self, None), self.host, self.port, backlog=BACKLOG)
        self.port = self._server.sockets[0].getsockname()[1]
        if self._wants_tls and self._membership is not None:
            self.tls = LinkTls(self._membership.identity)
        await self._tasks.open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop listening, send what is unsent, end everything."""
        self._tasks.cancel_all()
        if self._server is not None:
            self._server.close()
        for link in list(self._connections):
            link.close("this peer stops")
        try:
            try:
                async with asyncio.timeout(CLOSE_S):
                    for link in list(self._connections):
                        await link.ended()
            except TimeoutError:
                self.counts["links that did not take their last frames"] += len(self._connections)
        finally:
            for link in list(self._connections):
                link.abort("this peer stops")
            await self._tasks.close(kind, error, trace)

    # What callers ask

    def begin_reading(self) -> None:
        """Read from now on what links bring, as whoever is told of it is ready."""
        self.waits = False
        for link in list(self._connections):
            link.begin_reading()

    def link_to(self, peer: PeerId) -> Link | None:
        """The link that this side sends on to a peer, or None."""
        links = self._by_peer.get(peer)
        return links[0] if links else None

    def links_to(self, peer: PeerId) -> list[Link]:
        """The open links to one peer."""
        return list(self._by_peer.get(peer, ()))

    def open_links(self) -> list[Link]:
        """Every open link."""
        return [link for links in self._by_peer.values() for link in links]

    def heard_s(self, peer: PeerId) -> float:
        """When a frame came last by the links to a peer, by the loop's clock; minus infinity where none did."""
        return max((link.heard_s for link in self._by_peer.get(peer, ())), default=float("-inf"))

    async def connect(self, contact: Contact) -> Link:
        """The link to a peer: the one there is, else a new one; callers who ask at the same time share the dial.

        Raises PeerUnreachable, as DialBroke or WrongPeer where it is that; BadContact for ourselves, NotOpen.
        """
        link = self.link_to(contact.id)
        if link is not None:
            return link
        if not self._tasks.is_open:
            raise NotOpen("these links are not open; use them inside `async with Links(...) as links:`")
        if contact.id == self.id:
            raise BadContact(f"{contact} is this peer itself; expected another")
        dial = self._dials.get(contact.id)
        if dial is None:
            dial = self._dials[contact.id] = self._tasks.start(self._dial(contact))
            dial.add_done_callback(lambda _: self._dials.pop(contact.id))
        outcome = await self._tasks.outcome(dial, PeerUnreachable(contact.host, contact.port, "this peer stops"))
        if isinstance(outcome, Link):
            return outcome
        raise outcome or PeerUnreachable(contact.host, contact.port, "this side failed to dial, as its log says")

    # Dialling

    async def _dial(self, contact: Contact) -> Link | PeerUnreachable:
        # An error is returned, not raised: raised, it would be logged as a defect.
        loop = asyncio.get_running_loop()
        link: Link | None = None
        began_s = loop.time()
        for left in reversed(range(DIALS)):
            due_s = began_s + self._handshake_s
            try:
                async with asyncio.timeout_at(due_s):
                    _, link = await loop.create_connection(
                        lambda: Link(self, contact), contact.host, contact.port, local_addr=self._source(contact.host)
                    )
                    await link.opened()
                if not link.broke:
                    break
            except TimeoutError:
                if link is not None and link.state is LinkState.OPEN:
                    break  # the hello had come, and nobody had looked yet
                if link is not None:
                    link.abort("no hello in time")
                if theirs := self.link_to(contact.id):
                    return theirs
                if left and (late_s(due_s) or not self._has_read(contact, began_s)):
                    began_s = loop.time()
                    continue
                late = f"no hello within {self._handshake_s:g} s"
                return PeerUnreachable(contact.host, contact.port, link.reason if link is not None and link.broke else late)
            except OSError as error:
                return PeerUnreachable(contact.host, contact.port, error.strerror or str(error))
            except (ValueError, OverflowError) as error:
                # No address at all: whoever told us of this contact is wrong.
                return PeerUnreachable(contact.host, contact.port, str(error))
            except asyncio.CancelledError:
                if link is not None:
                    link.abort("this peer stops")
                raise
        assert link is not None, "it was dialled once at least"
        if link.state is LinkState.OPEN:
            return link
        if link.reason == WRONG_PEER:
            return WrongPeer(contact.host, contact.port, contact.id, link.peer.id)
        return (DialBroke if link.broke else PeerUnreachable)(contact.host, contact.port, link.reason)

    def _has_read(self, contact: Contact, since_s: float) -> bool:
        """Whether this side has read since then, as far as known: something came, or nobody but this peer could have sent it."""
        return self.read_s > since_s or all(link.peer.id == contact.id for link in self._connections)

    def _source(self, target: str) -> Address | None:
        """Dial from where we listen, as the other side takes our host from the connection; unless we listen everywhere."""
        if not is_reachable_literal(self.host) or (ip_address(self.host).is_loopback and not ip_address(target).is_loopback):
            return None
        return (self.host, 0)

    # What links ask and report

    def make_handshake(self, expected: Contact | None) -> Handshake:
        """This side's part in the beginning of a link, to the peer that was dialled or from whoever dials."""
        dialled = None if expected is None else expected.id
        if self._membership is None:
            return ClaimedHandshake(self.id, self.port, self._start_number, dialled=dialled)
        return ProvedHandshake(
            self._membership,
            self.port,
            self._start_number,
            dialled=dialled,
            tls=self.tls is not None,
            nonce=self._rng.randbytes,
        )

    def count_refusal(self, refusal: Refusal) -> None:
        """Somebody was not let in."""
        if self._membership is not None:
            self._membership.counts[refusal] += 1

    def link_connected(self, link: Link, transport: asyncio.Transport) -> None:
        """A connection stands; the hellos are awaited."""
        self._connections[link] = Timer(self._handshake_s, partial(self._end_late_handshake, link))
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if not link.dialled and HANDLES.beyond() > 0:
                self.counts["too few file handles"] += 1
                _refused_log.warning("a link from %s is refused: %s", sock.getpeername()[0], HANDLES.problem())
                link.abort("this peer has no file handle for another link")
                return
        if not self._tasks.is_open or len(self._connections) > self._max_links:
            self.counts["too many links" if self._tasks.is_open else "came while stopping"] += 1
            link.abort("this peer has no place for another link")

    def link_opened(self, link: Link) -> None:
        """The hellos are exchanged."""
        self._connections[link].cancel()
        links = self._by_peer.setdefault(link.peer.id, [])
        for old in [each for each in links if each.start_number != link.start_number]:
            old.abort("the peer was started anew")
            links.remove(old)
        if len(links) >= MAX_LINKS_PER_PEER:
            silent = min(links, key=lambda each: each.heard_s)
            self.counts["too many links of one peer"] += 1
            links.remove(silent)
            silent.abort("the peer opened more links than it needs")
        links.append(link)

    def frames_received(self, link: Link, payloads: list[bytes]) -> None:
        """Frames came."""
        try:
            self._on_frames(link, payloads)
        except Exception:
            self.counts["callbacks failed"] += 1
            logging.getLogger(__name__).exception("on_frames failed for %r, which is closed", link)
            link.abort("this side failed to take a frame")

    def link_ended(self, link: Link, *, was_open: bool) -> None:
        """A connection is gone."""
        self._connections.pop(link).cancel()
        links = self._by_peer.get(link.peer.id, [])
        if link in links:
            links.remove(link)
        if not links:
            self._by_peer.pop(link.peer.id, None)
        if was_open and self._on_lost is not None:
            try:
                self._on_lost(link, link.reason)
            except Exception:
                self.counts["callbacks failed"] += 1
                logging.getLogger(__name__).exception("on_lost failed for %r", link)

    def _end_late_handshake(self, link: Link) -> None:
        self.counts["hello: none in time"] += 1
        link.abort(f"no hello within {self._handshake_s:g} s")

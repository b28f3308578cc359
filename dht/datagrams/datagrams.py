"""Datagrams between peers: one UDP socket that asks, answers and keeps the routing table.

The wire format is that of the ``kademlia`` package (a kind, 20 bytes of call id, msgpack of a name and arguments); the rules are:

* A query is sent again before its peer counts as silent (:mod:`dht.datagrams.round_trip`); at most 128 are in flight a socket.
* ``probe`` asks whether a peer lives and ``vouch`` whether it can reach a third; both carry rumours (:mod:`dht.liveness.swim`).
* ``closest`` answers with the answering peer's own id and the exact k closest of all contacts that it knows. ``find_node`` stays
  for peers that run the package itself.
* Who asks is believed only after it answered at the address that it asked from. An answer from another address of its host than
  was asked is none, except to a first call (:meth:`Datagrams.call`): whoever called asks there, and takes what answers from where
  it was asked.
* Every datagram leaves sealed and is opened first (:mod:`dht.datagrams.sealed_datagrams`): nobody speaks for another id, where ids
  are proved.
* Nothing a datagram holds raises or logs: what is malformed is counted in ``counts``. Nothing is stored for others.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol, cast

import msgspec

from ..errors import Address, BadAnswer, BadSeal
from ..identity.contacts import Contact, contact_from, contacts_from
from ..identity.ids import ID_BYTES, PeerId
from .gossip import Rumour, incarnation_from, rumours_from
from .round_trip import FOR_HELPER, FOR_LOOKUP, FOR_PROBE, RoundTrip
from .routing_table import RoutingTable
from .sealed_datagrams import PlainDatagrams

MAX_CALLS = 128
"""Queries in flight on one socket; 250 at once were seen to fit a default receive buffer, 500 were not."""

MAX_GIVEN_UP = 256
"""Queries without an answer whose late answers are still recognised; the oldest is forgotten for a new one."""

RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024
"""Asked of the kernel for the socket; it may give less."""

_QUERY, _ANSWER = b"\x00", b"\x01"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode
_decode_query = msgspec.msgpack.Decoder(tuple[str, list[Any]]).decode  # Any: each query checks its own arguments


@dataclass(slots=True)
class _Pending:
    address: Address
    name: str
    answer: asyncio.Future[Any]  # Any: an undecided answer, checked by the caller
    # A helper's answer takes longer than the way there and back, and tells nothing about it.
    timed: bool
    any_address: bool
    sent_s: list[float] = field(default_factory=list)


class Gossip(Protocol):
    """Whoever sends and hears rumours of who lives."""

    def incarnation_and_rumours(self, to: PeerId) -> tuple[int, list[Rumour]]:
        """What to send to a peer beside a probe."""

    def hear_rumours(self, speaker: Contact, rumours: list[Rumour]) -> None:
        """A peer sent these."""

    def vouch_for(self, asker: PeerId, contact: Contact, answer: Callable[[int | None], None]) -> None:
        """Somebody cannot reach this peer: can we? The answer is its incarnation, None when it is silent, or none at all."""


class Datagrams(asyncio.DatagramProtocol):
    """The UDP socket of one peer: asks, answers, and keeps the routing table.

    ``on_asked`` hears of each peer that asked us something and is not in the table at that address, ``on_doubtful`` of the oldest
    contact of a full bucket, when a newer one wants its place.
    """

    def __init__(
        self,
        id: PeerId,
        k: int,
        *,
        rng: Random,
        on_asked: Callable[[Contact], None],
        on_doubtful: Callable[[Contact], Awaitable[object]],
        sealing: PlainDatagrams,
        per_block: int,
    ) -> None:
        self.id = id
        self.k = k
        self.transport: asyncio.DatagramTransport
        self.table = RoutingTable(id, k, per_block, on_doubtful)
        self.counts: Counter[str] = Counter()
        self.round_trip = RoundTrip()
        self._sealing = sealing
        self._rng = rng
        self._on_asked = on_asked
        self.gossip: Gossip
        """Set before the socket is opened."""
        # Limit: MAX_CALLS futures; each leaves at its answer, its last timeout or its cancellation.
        self._pending: dict[bytes, _Pending] = {}
        # Late answers to these are no answers any more, but tell how long to wait. Limit: MAX_GIVEN_UP.
        self._given_up: dict[bytes, _Pending] = {}
        self._places = asyncio.Semaphore(MAX_CALLS)
        self._closed = asyncio.Event()
        self._answers: dict[str, Callable[..., object]] = {
            "ping": self._answer_ping,
            "closest": self._answer_closest,
            "find_node": lambda sender, asker, target: self._answer_closest(sender, asker, target)[1],
            "probe": self._answer_probe,
            "stun": lambda sender: sender,
        }

    async def open(self, host: str, port: int) -> None:
        """Open the socket. Raises OSError with its number: uvloop says that it could not bind, and not why."""
        loop = asyncio.get_running_loop()
        if getattr(loop, "is_simulated", False):
            await loop.create_datagram_endpoint(lambda: self, local_addr=(host, port))
            return
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
            sock.bind((host, port))
            await loop.create_datagram_endpoint(lambda: self, sock=sock)
        except BaseException:
            sock.close()
            raise

    async def close(self) -> None:
        """Close the socket, and wait until it is closed."""
        self.transport.close()
        await self._closed.wait()

    # Asking

    async def ask(
        self,
        address: Address,
        name: str,
        *arguments: object,
        waits: Sequence[float] = FOR_LOOKUP,
        on_slow: Callable[[], None] | None = None,
        any_address: bool = False,
    ) -> object:
        """The decoded answer to a query, unchecked; None when nothing came back.

        It is sent as often as there are ``waits``. ``on_slow`` is called when the first transmission went unanswered. With
        ``any_address`` an answer that comes from another host ends the waiting: what is returned is its address, the only tuple.
        """
        loop = asyncio.get_running_loop()
        async with self._places:
            call = self._rng.randbytes(19)
            pending = _Pending(address, name, loop.create_future(), waits is not FOR_HELPER, any_address)
            self._pending[call] = pending
            body = _encode((name, arguments))
            try:
                for attempt, wait in enumerate(waits):
                    pending.sent_s.append(loop.time())
                    # An answer repeats the number of the transmission that it answers, so that each tells how long it took.
                    self._send(_QUERY + call + bytes((attempt,)) + body, address, again=attempt > 0)
                    await asyncio.wait((pending.answer,), timeout=self.round_trip.timeout_s * wait)
                    if pending.answer.done():
                        return pending.answer.result()
                    if attempt == 0 and on_slow is not None:
                        on_slow()
                return None
            finally:
                del self._pending[call]
                if not pending.answer.done():
                    self._given_up[call] = pending
                    if len(self._given_up) > MAX_GIVEN_UP:
                        del self._given_up[next(iter(self._given_up))]

    async def call(self, address: Address) -> Contact | None:
        """Whoever listens at an address, at the address that it answers from; None when nobody answers.

        A host that has several addresses answers from the one that is next to us, if its peer listens at all of them.
        """
        found = await self.ask(address, "ping", self.id, any_address=True)
        if isinstance(found, tuple):
            address = found
            found = await self.ask(address, "ping", self.id)
        with contextlib.suppress(BadAnswer), self._counting_malformed():
            return None if found is None else Contact(_point(found), *address)
        return None

    async def ask_closest(
        self, address: Address, target: bytes, *, waits: Sequence[float] = FOR_LOOKUP, on_slow: Callable[[], None] | None = None
    ) -> tuple[PeerId, list[Contact]] | None:
        """The id of whoever listens at an address and the contacts that it knows closest to a target; None when it does not answer.

        Raises BadAnswer when it answers with anything else.
        """
        found = await self.ask(address, "closest", self.id, target, waits=waits, on_slow=on_slow)
        if found is None:
            return None
        with self._counting_malformed():
            peer, contacts = _fields(found, 2, "no query for the closest peers; expected an id and contacts")
            return _point(peer), contacts_from(contacts, limit=self.k)

    async def ask_probe(self, contact: Contact) -> tuple[PeerId, int] | None:
        """The id and the incarnation of whoever listens at a contact's address; None when nobody answers.

        Raises BadAnswer when it answers with anything else.
        """
        mine = self.gossip.incarnation_and_rumours(contact.id)
        found = await self.ask(contact.address, "probe", self.id, *mine, waits=FOR_PROBE)
        if found is None:
            return None
        with self._counting_malformed():
            fields = _fields(found, 3, "no probe; expected an id, an incarnation and rumours")
            peer, incarnation, rumours = _point(fields[0]), incarnation_from(fields[1]), rumours_from(fields[2])
        self.gossip.hear_rumours(Contact(peer, *contact.address), rumours)
        return peer, incarnation

    async def ask_vouch(self, helper: Contact, contact: Contact) -> int | None:
        """The incarnation of a peer that a helper can reach; None when it cannot, or does not answer us."""
        mine = self.gossip.incarnation_and_rumours(helper.id)
        found = await self.ask(helper.address, "vouch", self.id, *mine, contact, waits=FOR_HELPER)
        if not isinstance(found, list) or len(found) != 2 or found[0] != helper.id or found[1] is None:
            return None
        with contextlib.suppress(BadAnswer), self._counting_malformed():
            return incarnation_from(found[1])
        return None

    @contextlib.contextmanager
    def _counting_malformed(self) -> Iterator[None]:
        try:
            yield
        except BadAnswer:
            self.counts["answers malformed"] += 1
            raise

    def send_rumours(self, contact: Contact, incarnation: int, rumours: list[Rumour]) -> None:
        """Probe a peer for the sake of the rumours alone: nobody waits for its answer."""
        self._send(_QUERY + self._rng.randbytes(20) + _encode(("probe", (self.id, incarnation, rumours))), contact.address)

    # Being asked

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open."""
        self.transport = cast(asyncio.DatagramTransport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        self._closed.set()

    def error_received(self, exc: Exception) -> None:
        """The kernel refused a datagram or heard that nobody listens: the timeout says the same."""
        self.counts["socket errors"] += 1

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:  # Any: IPv6 adds two numbers
        """One datagram: an answer to our query, a query, or rubbish."""
        sender = (addr[0], addr[1])
        try:
            speaker, body = self._opened(data, sender)
            kind, call = body[:1], body[1:21]
            if kind == _ANSWER and len(body) > 21:
                self._take_answer(call, sender, body[21:], speaker)
            elif kind == _QUERY and len(body) > 21:
                self._answer_query(call, sender, body[21:], speaker)
            else:
                self.counts["datagrams malformed"] += 1
        except BadSeal as error:
            self.counts[str(error)] += 1
        except Exception:
            # Whatever it was that a stranger sent, this peer goes on serving others.
            self.counts["datagrams malformed"] += 1

    def _opened(self, data: bytes, sender: Address) -> tuple[PeerId | None, bytes]:
        """Who sent a datagram, where that is proved, and what it says. Raises BadSeal, after its sender was told."""
        now = asyncio.get_running_loop().time()
        try:
            return self._sealing.open(data, sender, now)
        except BadSeal as error:
            refusal = self._sealing.refusal_for(data, error, now)
            if refusal is not None:
                self._transmit(refusal, sender)
            raise

    def _take_answer(self, call: bytes, sender: Address, body: bytes, speaker: PeerId | None) -> None:
        pending = self._pending.get(call[:19]) or self._given_up.get(call[:19])
        is_late = pending is None or pending.answer.done() or call[19] >= len(pending.sent_s)
        if pending is not None and not is_late and pending.any_address and sender[0] != pending.address[0]:
            # Its call id was known, so it was asked: that it is where this came from is for another question to show.
            pending.answer.set_result(sender)
            return
        if pending is None or is_late or pending.address != sender:
            # Twice, or from elsewhere than asked.
            self.counts["answers unexpected"] += 1
            return
        if pending.timed:
            self.round_trip.sample(asyncio.get_running_loop().time() - pending.sent_s[call[19]])
        answer = _decode(body)
        # What looks like our own address is the only answer without an id.
        if speaker is not None and pending.name != "stun" and (answer if isinstance(answer, bytes) else answer[0]) != speaker:
            self.counts["answers in another's name"] += 1
            return
        pending.answer.set_result(answer)

    def _answer_query(self, call: bytes, sender: Address, body: bytes, speaker: PeerId | None) -> None:
        name, arguments = _decode_query(body)
        if speaker is not None and name != "stun" and arguments[0] != speaker:
            self.counts["queries in another's name"] += 1
        elif name in ("store", "find_value"):
            self.counts["storage queries refused"] += 1
        elif name == "vouch":
            self._answer_vouch(call, sender, *arguments)
        elif name in self._answers:
            self._send(_ANSWER + call + _encode(self._answers[name](sender, *arguments)), sender)
        else:
            self.counts["queries unknown"] += 1

    def _send(self, datagram: bytes, address: Address, *, again: bool = False) -> None:
        self._transmit(self._sealing.seal(datagram, address, again=again), address)

    def _transmit(self, datagram: bytes, address: Address) -> None:
        if not self.transport.is_closing():
            try:
                self.transport.sendto(datagram, address)
            except (OSError, ValueError):
                # An address of another family, say: the timeout says that nobody is there.
                self.counts["socket errors"] += 1

    def _answer_ping(self, sender: Address, asker: object) -> PeerId:
        """Our id."""
        self._note_asker(sender, asker)
        return self.id

    def _answer_closest(self, sender: Address, asker: object, target: object) -> tuple[PeerId, list[Contact]]:
        """Our id, and the k contacts that we know closest to the target, without the asker."""
        peer = self._note_asker(sender, asker)
        return self.id, self.table.closest(_point(target), self.k, besides=peer)

    def _answer_probe(
        self, sender: Address, asker: object, incarnation: object, rumours: object
    ) -> tuple[PeerId, int, list[Rumour]]:
        """Our id, our incarnation, and our rumours."""
        # First what it says, which may be about ourselves: the answer then refutes it.
        peer = self._hear_asker(sender, asker, incarnation, rumours)
        return self.id, *self.gossip.incarnation_and_rumours(peer)

    def _answer_vouch(
        self, call: bytes, sender: Address, asker: object, incarnation: object, rumours: object, contact: object
    ) -> None:
        """Answer later whether a third peer lives. Only of peers that we know, so that nobody can have us call at strangers."""
        peer = self._hear_asker(sender, asker, incarnation, rumours)
        third = contact_from(contact)

        def answer(lives: int | None) -> None:
            self._send(_ANSWER + call + _encode((self.id, lives)), sender)

        if self.table.contacts().get(third.id) == third:
            self.gossip.vouch_for(peer, third, answer)
        else:
            answer(None)

    def _hear_asker(self, sender: Address, asker: object, incarnation: object, rumours: object) -> PeerId:
        peer = self._note_asker(sender, asker)
        incarnation_from(incarnation)
        self.gossip.hear_rumours(Contact(peer, *sender), rumours_from(rumours))
        return peer

    def _note_asker(self, sender: Address, asker: object) -> PeerId:
        peer = _point(asker)
        if peer != self.id:
            known = self.table.contacts().get(peer)
            if known is None or known.address != sender:
                self._on_asked(Contact(peer, *sender))
        return peer


def _fields(raw: object, count: int, answers: str) -> list[Any]:  # Any: each is checked by the caller
    if not isinstance(raw, list) or len(raw) != count:
        raise BadAnswer(f"{raw!r:.80} answers {answers}")
    return raw


def _point(raw: object) -> bytes:
    if not isinstance(raw, bytes) or len(raw) != ID_BYTES:
        raise BadAnswer(f"{raw!r:.80} is no id; expected {ID_BYTES} bytes")
    return raw

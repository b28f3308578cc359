"""Datagrams between peers: the ``kademlia`` package's protocol, with its defects mended where they would hurt.

What the package gives: the wire format (a kind, 20 bytes of call id, msgpack), the ``rpc_*`` methods and the routing table. What
differs here:

* A query is sent again before its peer counts as silent (:mod:`dht.datagrams.round_trip`); at most 128 are in flight a socket.
* ``probe`` asks whether a peer lives and ``vouch`` whether it can reach a third; both carry rumours (:mod:`dht.liveness.swim`).
* ``closest`` answers with the answering peer's own id and the exact k closest of all contacts that it knows. ``find_node`` stays
  for peers that run the package itself.
* Who asks is believed only after it answered at the address that it asked from. An answer from another address of its host than
  was asked is none, except to a first call (``meet``): whoever called asks there, and takes what answers from where it was asked.
* Every datagram leaves sealed and is opened first (:mod:`dht.datagrams.sealed_datagrams`): nobody speaks for another id, where ids
  are proved.
* Nothing a datagram holds raises or logs: what is malformed is counted in ``counts``. Nothing is stored for others.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Any, Protocol, cast

import msgspec
from kademlia.node import Node
from kademlia.protocol import KademliaProtocol
from kademlia.routing import RoutingTable

from ..errors import Address, BadAnswer, BadSeal
from ..identity.contacts import Contact, contact_from, contacts_from
from ..identity.ids import ID_BYTES, PeerId, as_int
from .address_blocks import IN_BUCKET, block_of, spread
from .gossip import Rumour, incarnation_from, rumours_from
from .round_trip import FOR_HELPER, FOR_LOOKUP, FOR_PROBE, RoundTrip
from .sealed_datagrams import Unsealed

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


class Table(RoutingTable):  # type: ignore[misc]  # the package has no types
    """The package's routing table, with exact neighbours.

    Its limits: k contacts and 5 k replacements a bucket, of one address block IN_BUCKET times ``per_block`` together, and as many
    buckets as prefixes that it splits.
    """

    def __init__(self, protocol: Queries, k: int, node: Node, per_block: int) -> None:
        super().__init__(protocol, k, node)
        self._per_block = per_block
        # The contacts of all buckets, and their points, kept beside them; None when the package has moved some by itself.
        self._all: dict[PeerId, Contact] | None = {}
        self._points: dict[int, Contact] = {}
        self._has_blocks = False

    def all(self) -> dict[PeerId, Contact]:
        """Every contact, those waiting for a place in a full bucket included. Not to be kept: it changes with the table."""
        if self._all is None:
            self._all = {
                node.id: Contact(node.id, node.ip, node.port)
                for bucket in self.buckets
                for nodes in (bucket.nodes, bucket.replacement_nodes)
                for node in nodes.values()
            }
            self._points = {as_int(peer): contact for peer, contact in self._all.items()}
            self._has_blocks = any(block_of(contact.host) is not None for contact in self._all.values())
        return self._all

    def add(self, contact: Contact) -> bool:
        """A contact answered: it is its bucket's newest, or waits for a place there; False when its address block has its share."""
        node = Node(contact.id, contact.host, contact.port)
        bucket = self.buckets[self.get_bucket_for(node)]
        held = bucket.nodes.get(contact.id)
        block = block_of(contact.host) if self._per_block else None
        if block is not None:
            others = (each for nodes in (bucket.nodes, bucket.replacement_nodes) for each in nodes.values())
            if sum(block_of(each.ip) == block and each.id != contact.id for each in others) >= IN_BUCKET * self._per_block:
                return False
        if held is None or (held.ip, held.port) != contact.address:
            bucket.remove_node(node)
        self.add_contact(node)
        known = self.all()
        if known.get(contact.id) != contact:
            known[contact.id] = self._points[as_int(contact.id)] = contact
            self._has_blocks = self._has_blocks or block_of(contact.host) is not None
            if len(known) != sum(len(each.nodes) + len(each.replacement_nodes) for each in self.buckets):
                # The one that waited the longest has gone for it.
                self._all = None
        return True

    def remove(self, peer: PeerId) -> None:
        """A contact is gone; the newest that waits takes its place."""
        self.remove_contact(Node(peer))
        if self._all is not None and self._all.pop(peer, None) is not None:
            del self._points[as_int(peer)]

    def get_bucket_for(self, node: Node) -> int:
        """The index of the bucket whose range holds the node. (The package's own is off by one at the upper end of a range.)"""
        return next(index for index, bucket in enumerate(self.buckets) if bucket.has_in_range(node))

    def nearest(self, target: bytes, k: int) -> list[Contact]:
        """The k known contacts closest to the target, closest first, of whatever blocks."""
        self.all()
        return [self._points[each] for each in sorted(self._points, key=as_int(target).__xor__)[:k]]

    def closest(self, target: bytes, k: int, *, besides: PeerId | None = None) -> list[Contact]:
        """The k known contacts closest to the target that count, closest first, without ``besides``."""
        self.all()
        points = self._points
        # The bound method compares without a call into Python; sorting the few hundred contacts of a table beats a heap.
        nearest = sorted(points, key=as_int(target).__xor__)
        if self._has_blocks and self._per_block:
            ours = (points[each] for each in nearest if points[each].id != besides)
            return list(islice(spread(ours, self._per_block), k))
        del nearest[k + 1 :]
        return [points[each] for each in nearest if points[each].id != besides][:k]


@dataclass(slots=True)
class _Pending:
    address: Address
    name: str
    answer: asyncio.Future[Any]  # Any: an undecided answer, checked by the caller
    # A helper's answer takes longer than the way there and back, and tells nothing about it.
    timed: bool
    any_address: bool
    sent_s: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """What a ping was answered with from this address, which is another than was asked."""

    address: Address


class Gossip(Protocol):
    """Who says and hears what goes round about who lives."""

    def incarnation_and_rumours(self, to: PeerId) -> tuple[int, list[Rumour]]:
        """What to say to a peer beside a probe."""

    def heard(self, speaker: Contact, rumours: list[Rumour]) -> None:
        """A peer said this."""

    def vouch_for(self, asker: PeerId, contact: Contact, answer: Callable[[int | None], None]) -> None:
        """Somebody cannot reach this peer: can we? The answer is its incarnation, None when it is silent, or none at all."""


class Queries(KademliaProtocol):  # type: ignore[misc]  # the package has no types
    """One UDP socket: asks, answers, and keeps the routing table.

    ``on_asked`` hears of each peer that asked us something and is not in the table at that address, ``on_doubtful`` of the oldest
    contact of a full bucket, when a newer one wants its place.
    """

    def __init__(
        self,
        node: Node,
        storage: object,
        k: int,
        *,
        rng: Random,
        on_asked: Callable[[Contact], None],
        on_doubtful: Callable[[Contact], Awaitable[None]],
        gossip: Gossip,
        seals: Unsealed,
        per_block: int,
    ) -> None:
        super().__init__(node, storage, k)
        self.seals = seals
        self.k = k
        self.id: PeerId = node.id
        self.transport: asyncio.DatagramTransport
        self.router: Table = Table(self, k, node, per_block)
        self.counts: Counter[str] = Counter()
        self.round_trip = RoundTrip()
        self._rng = rng
        self._on_asked = on_asked
        self._on_doubtful = on_doubtful
        self._gossip = gossip
        # Limit: MAX_CALLS futures; each leaves at its answer, its last timeout or its cancellation.
        self._pending: dict[bytes, _Pending] = {}
        # Late answers to these are no answers any more, but tell how long to wait. Limit: MAX_GIVEN_UP.
        self._given_up: dict[bytes, _Pending] = {}
        self._places = asyncio.Semaphore(MAX_CALLS)
        self._lost = asyncio.get_running_loop().create_future()

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
        ``any_address`` an answer that comes from another address ends the waiting, as an :class:`_Elsewhere`.
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

    async def ask_id(self, address: Address, *, waits: Sequence[float] = FOR_LOOKUP) -> PeerId | None:
        """The id of whoever listens at an address; None when nobody answers with one."""
        return self._id_from(await self.ask(address, "ping", self.id, waits=waits))

    def _id_from(self, found: object) -> PeerId | None:
        if isinstance(found, bytes) and len(found) == ID_BYTES:
            return found
        if found is not None:
            self.counts["answers malformed"] += 1
        return None

    async def meet(self, address: Address) -> Contact | None:
        """Whoever listens at an address, at the address that it answers from; None when nobody answers.

        A host that has several addresses answers from the one that is next to us, if its peer listens at all of them.
        """
        found = await self.ask(address, "ping", self.id, any_address=True)
        if isinstance(found, _Elsewhere):
            address = found.address
        peer = await self.ask_id(address) if isinstance(found, _Elsewhere) else self._id_from(found)
        return None if peer is None else Contact(peer, *address)

    async def ask_closest(
        self, address: Address, target: bytes, *, waits: Sequence[float] = FOR_LOOKUP, on_slow: Callable[[], None] | None = None
    ) -> tuple[PeerId, list[Contact]] | None:
        """The id of whoever listens at an address and the contacts that it knows closest to a target; None when it does not answer.

        Raises BadAnswer when it answers with anything else.
        """
        found = await self.ask(address, "closest", self.id, target, waits=waits, on_slow=on_slow)
        if found is None:
            return None
        try:
            if not isinstance(found, list) or len(found) != 2:
                raise BadAnswer(f"{found!r:.80} answers no query for the closest peers; expected an id and contacts")
            return _point(found[0]), contacts_from(found[1], limit=self.k)
        except BadAnswer:
            self.counts["answers malformed"] += 1
            raise

    async def ask_probe(self, contact: Contact) -> tuple[PeerId, int] | None:
        """The id and the incarnation of whoever listens at a contact's address; None when nobody answers.

        Raises BadAnswer when it answers with anything else.
        """
        found = await self.ask(
            contact.address, "probe", self.id, *self._gossip.incarnation_and_rumours(contact.id), waits=FOR_PROBE
        )
        if found is None:
            return None
        try:
            if not isinstance(found, list) or len(found) != 3:
                raise BadAnswer(f"{found!r:.80} answers no probe; expected an id, an incarnation and rumours")
            peer, incarnation, rumours = _point(found[0]), incarnation_from(found[1]), rumours_from(found[2])
        except BadAnswer:
            self.counts["answers malformed"] += 1
            raise
        self._gossip.heard(Contact(peer, *contact.address), rumours)
        return peer, incarnation

    async def ask_vouch(self, helper: Contact, contact: Contact) -> int | None:
        """The incarnation of a peer that a helper can reach; None when it cannot, or does not answer us."""
        mine = self._gossip.incarnation_and_rumours(helper.id)
        found = await self.ask(helper.address, "vouch", self.id, *mine, contact, waits=FOR_HELPER)
        if not isinstance(found, list) or len(found) != 2 or found[0] != helper.id or found[1] is None:
            return None
        try:
            return incarnation_from(found[1])
        except BadAnswer:
            self.counts["answers malformed"] += 1
            return None

    def tell(self, contact: Contact, incarnation: int, rumours: list[Rumour]) -> None:
        """Say something to a peer without waiting for its answer."""
        self._send(_QUERY + self._rng.randbytes(20) + _encode(("probe", (self.id, incarnation, rumours))), contact.address)

    def call_ping(self, node_to_ask: Node) -> Awaitable[None]:
        """The package asks whether the oldest contact of a full bucket lives; whoever gave ``on_doubtful`` owns the task."""
        return self._on_doubtful(Contact(node_to_ask.id, node_to_ask.ip, node_to_ask.port))

    # Being asked

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open."""
        self.transport = cast(asyncio.DatagramTransport, transport)
        # A simulated network has no sockets.
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        if not self._lost.done():
            self._lost.set_result(None)

    async def closed(self) -> None:
        """Wait until the socket is closed."""
        await asyncio.shield(self._lost)

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
                self._answered(call, sender, body[21:], speaker)
            elif kind == _QUERY and len(body) > 21:
                self._asked(call, sender, body[21:], speaker)
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
            return self.seals.open(data, sender, now)
        except BadSeal as error:
            refusal = self.seals.refusal(data, error, now)
            if refusal is not None:
                self._transmit(refusal, sender)
            raise

    def _answered(self, call: bytes, sender: Address, body: bytes, speaker: PeerId | None) -> None:
        pending = self._pending.get(call[:19]) or self._given_up.get(call[:19])
        is_late = pending is None or pending.answer.done() or call[19] >= len(pending.sent_s)
        if pending is not None and not is_late and pending.any_address and sender[0] != pending.address[0]:
            # Its call id was known, so it was asked: that it is where this came from is for another question to show.
            pending.answer.set_result(_Elsewhere(sender))
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

    def _asked(self, call: bytes, sender: Address, body: bytes, speaker: PeerId | None) -> None:
        name, arguments = _decode_query(body)
        if speaker is not None and name != "stun" and arguments[0] != speaker:
            self.counts["queries in another's name"] += 1
            return
        if name in ("store", "find_value"):
            self.counts["storage queries refused"] += 1
            return
        if name == "vouch":
            self._asked_to_vouch(call, sender, *arguments)
            return
        if name not in ("ping", "closest", "find_node", "stun", "probe"):
            self.counts["queries unknown"] += 1
            return
        answer = getattr(self, f"rpc_{name}")(sender, *arguments)
        self._send(_ANSWER + call + _encode(answer), sender)

    def _send(self, datagram: bytes, address: Address, *, again: bool = False) -> None:
        self._transmit(self.seals.seal(datagram, address, again=again), address)

    def _transmit(self, datagram: bytes, address: Address) -> None:
        transport = self.transport
        if not transport.is_closing():
            try:
                transport.sendto(datagram, address)
            except (OSError, ValueError):
                # An address of another family, say: the timeout says that nobody is there.
                self.counts["socket errors"] += 1

    def rpc_ping(self, sender: Address, nodeid: object) -> PeerId:
        """Our id."""
        self._note(sender, nodeid)
        return self.id

    def rpc_closest(self, sender: Address, nodeid: object, target: object) -> tuple[PeerId, list[Contact]]:
        """Our id, and the k contacts that we know closest to the target, without the asker."""
        asker = self._note(sender, nodeid)
        return self.id, self.router.closest(_point(target), self.k, besides=asker)

    def rpc_probe(self, sender: Address, nodeid: object, incarnation: object, rumours: object) -> tuple[PeerId, int, list[Rumour]]:
        """Our id, our incarnation, and what we have to say."""
        asker = self._note(sender, nodeid)
        incarnation_from(incarnation)
        said = rumours_from(rumours)
        # First what it says, which may be about ourselves: the answer then refutes it.
        self._gossip.heard(Contact(asker, *sender), said)
        return self.id, *self._gossip.incarnation_and_rumours(asker)

    def _asked_to_vouch(
        self, call: bytes, sender: Address, nodeid: object, incarnation: object, rumours: object, contact: object
    ) -> None:
        """Whether a third peer lives is said later. Only of peers that we know, so that nobody can have us call at strangers."""
        asker = self._note(sender, nodeid)
        incarnation_from(incarnation)
        self._gossip.heard(Contact(asker, *sender), rumours_from(rumours))
        third = contact_from(contact)
        if self.router.all().get(third.id) == third:
            self._gossip.vouch_for(asker, third, lambda lives: self._send(_ANSWER + call + _encode((self.id, lives)), sender))
        else:
            self._send(_ANSWER + call + _encode((self.id, None)), sender)

    def rpc_find_node(self, sender: Address, nodeid: object, key: object) -> list[Contact]:
        """The same contacts, as the package's own peers expect them."""
        return self.rpc_closest(sender, nodeid, key)[1]

    def welcome_if_new(self, node: Node) -> None:
        """A node answered the package: it enters the table, and nothing is handed over."""
        self.router.add(Contact(node.id, node.ip, node.port))

    def _note(self, sender: Address, nodeid: object) -> PeerId:
        asker = _point(nodeid)
        if asker != self.id:
            known = self.router.all().get(asker)
            if known is None or known.address != sender:
                self._on_asked(Contact(asker, *sender))
        return asker


def _point(raw: object) -> bytes:
    if not isinstance(raw, bytes) or len(raw) != ID_BYTES:
        raise BadAnswer(f"{raw!r:.80} is no id; expected {ID_BYTES} bytes")
    return raw

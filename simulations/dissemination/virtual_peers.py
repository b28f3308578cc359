"""Many peers' topics in virtual time: the objects that decide in a peer (:mod:`gsg.topics`), with messages that take a while.

No sockets, no tasks: a heap of what happens when. A peer may be killed, so that links to it break, or stopped, so that it says
nothing. Links are made by sending; the order of what goes over one is kept.
"""

from __future__ import annotations

import gc
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final

from dht import Contact
from gsg.topics.access_points import Found
from gsg.topics.overlay import TopicOverlay
from gsg.topics.topics import ROUND_S, Topics
from gsg.topics.view import SHUFFLED, VIEW
from gsg.wire.topic_messages import Payload, TopicMessage

TOLD_OF: Final = 4
"""Members that a new one is told of, as the holders of the topic's key would say them."""
Event = tuple[bytes, int]
"""An event by its source, and its number there."""


class VirtualPeer:
    """One peer: its topics, and what it was told."""

    def __init__(self, number: int, contact: Contact) -> None:
        self.number = number
        self.contact = contact
        self.topics: Topics
        self.is_alive = True
        self.is_stopped = False
        self.told: list[tuple[float, str, bytes, int]] = []
        """When, of which topic, and which event of which source."""
        self.gaps = 0
        self.joined_s: dict[str, float] = {}


class VirtualPeers:
    """``count`` peers, each of which knows ``view_size`` others at random, and trades ``shuffled`` of them every ``round_s``.

    Hops take ``hop_s`` seconds, uniformly drawn for each link; a share ``lost`` of all messages does not arrive. The same seed
    gives the same run.
    """

    def __init__(
        self,
        count: int,
        seed: int,
        *,
        hop_s: tuple[float, float] = (0.010, 0.050),
        lost: float = 0.0,
        round_s: float = ROUND_S,
        view_size: int = VIEW,
        shuffled: int = SHUFFLED,
    ) -> None:
        self.rng = Random(seed)
        self._hop_s = hop_s
        self._lost = lost
        self.now_s = 0.0
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []  # Any: what each of them takes
        self._number = 0
        self.sent: Counter[str] = Counter()
        """Messages by kind."""
        self.carried: Counter[int] = Counter()
        """Payloads that each peer was sent."""
        self._hops: dict[tuple[int, int], float] = {}
        self.cut: Callable[[int, int], bool] = lambda one, other: False
        """Whether nothing goes between two peers."""
        self.peers: list[VirtualPeer] = []
        self._by_id: dict[bytes, VirtualPeer] = {}
        self._round_s = round_s
        self._view_size = view_size
        self._shuffled = shuffled
        for _ in range(count):
            self.add([])
        for peer in self.peers:
            others = self.rng.sample(range(count), min(view_size + 1, count))
            for other in [other for other in others if other != peer.number][:view_size]:
                peer.topics.base.view.learn_peer(self.peers[other].contact)

    @property
    def living(self) -> list[VirtualPeer]:
        """Those that were neither killed nor stopped."""
        return [peer for peer in self.peers if peer.is_alive and not peer.is_stopped]

    def members(self, topic: str) -> list[VirtualPeer]:
        """Those of the living that are in a topic."""
        return [peer for peer in self.living if topic in peer.topics.joined]

    def add(self, known: Iterable[Contact]) -> VirtualPeer:
        """One peer more, which knows these."""
        number = len(self.peers)
        contact = Contact(self.rng.randbytes(20), f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", 8471)
        peer = VirtualPeer(number, contact)
        peer.topics = Topics(
            contact,
            Random(self.rng.random()),
            lambda to, message: self._send(peer, to, message),
            lambda at_s: self.at(at_s, self._advance, peer),
            self.now_s,
            round_s=self._round_s,
            view_size=self._view_size,
            shuffled=self._shuffled,
        )
        for each in known:
            peer.topics.base.view.learn_peer(each)
        self.peers.append(peer)
        self._by_id[contact.id] = peer
        return peer

    # --- time --------------------------------------------------------------

    def at(self, at_s: float, act: Callable[..., None], *given: Any) -> None:  # Any: what ``act`` takes
        """Do something at a time."""
        self._number += 1
        heapq.heappush(self._heap, (max(at_s, self.now_s), self._number, act, given))

    def run(self, seconds: float) -> None:
        """Let so much time go by."""
        until_s = self.now_s + seconds
        heap = self._heap
        with _collecting_nothing():
            while heap and heap[0][0] <= until_s:
                self.now_s, _, act, given = heapq.heappop(heap)
                act(*given)
        self.now_s = until_s

    def _advance(self, peer: VirtualPeer) -> None:
        if peer.is_alive and not peer.is_stopped:
            peer.topics.advance(self.now_s)

    # --- messages ----------------------------------------------------------

    def _hop(self, one: int, other: int) -> float:
        pair = (one, other) if one < other else (other, one)
        hop_s = self._hops.get(pair)
        if hop_s is None:
            hop_s = self._hops[pair] = self.rng.uniform(*self._hop_s)
        return hop_s

    def _send(self, sender: VirtualPeer, to: Contact, message: TopicMessage) -> bool:
        receiver = self._by_id[to.id]
        self.sent[type(message).__name__] += 1
        hop_s = self._hop(sender.number, receiver.number)
        if self.cut(sender.number, receiver.number) or (self._lost and self.rng.random() < self._lost):
            return True
        if type(message) is Payload:
            self.carried[receiver.number] += 1
        self.at(self.now_s + hop_s, self._receive, sender, receiver, message)
        return True

    def _receive(self, sender: VirtualPeer, receiver: VirtualPeer, message: TopicMessage) -> None:
        if not receiver.is_alive:
            self.at(self.now_s + self._hop(sender.number, receiver.number), self._unreachable, sender, receiver)
        elif not receiver.is_stopped:
            receiver.topics.received(sender.contact, message, self.now_s)

    def _unreachable(self, sender: VirtualPeer, receiver: VirtualPeer) -> None:
        if sender.is_alive and not sender.is_stopped:
            sender.topics.peer_lost(receiver.contact.id, self.now_s)

    # --- what happens to peers ---------------------------------------------

    def join(self, peer: VirtualPeer, topic: str, members: Iterable[Contact]) -> TopicOverlay:
        """A peer subscribes, and is told of some members."""
        met = list(members)
        overlay = peer.topics.join(
            topic,
            tell=lambda payload: peer.told.append((self.now_s, topic, payload.source, payload.number)),
            tell_gap=lambda _, count: self._gap(peer, count),
            on_joined=lambda: peer.joined_s.__setitem__(topic, self.now_s),
        )
        overlay.diffusion.since_s = self.now_s
        if met:
            overlay.join(met, self.now_s)
        else:
            overlay.join_alone()
        return overlay

    def join_all(self, peers: Iterable[VirtualPeer], topic: str, within_s: float) -> None:
        """Peers subscribe one after the other, evenly within a time, and each is told of some that came before it."""
        joining = list(peers)
        met: list[Contact] = []
        for peer in joining:
            self.join(peer, topic, self.rng.sample(met, min(len(met), TOLD_OF)))
            met.append(peer.contact)
            self.run(within_s / len(joining))

    def _gap(self, peer: VirtualPeer, count: int) -> None:
        peer.gaps += count

    def publish(self, peer: VirtualPeer, topic: str, body: bytes = b"event") -> Event:
        """A peer publishes: into the topic where it is a member, else by way of a member that it looks for first."""
        payload = peer.topics.make_payload(topic, body, self.now_s)
        if not peer.topics.publish(payload, self.now_s):
            peer.topics.search(topic, self.now_s, lambda found: self._inject(peer, found, payload))
        return payload.source, payload.number

    def _inject(self, publisher: VirtualPeer, found: Found, payload: Payload) -> None:
        for contact in found.members[:1]:
            entry = self._by_id[contact.id]
            self.sent["Payload"] += 1
            self.carried[entry.number] += 1
            self.at(self.now_s + self._hop(publisher.number, entry.number), self._injected, entry, payload)

    def _injected(self, entry: VirtualPeer, payload: Payload) -> None:
        if entry.is_alive and not entry.is_stopped:
            entry.topics.publish(payload, self.now_s)

    def told_s(self, events: Iterable[Event]) -> dict[Event, dict[int, float]]:
        """When each of some events was told, by the number of the peer."""
        found: dict[Event, dict[int, float]] = {event: {} for event in events}
        for peer in self.peers:
            for at_s, _, source, number in peer.told:
                if (source, number) in found:
                    found[source, number][peer.number] = at_s
        return found

    def kill(self, peers: Iterable[VirtualPeer]) -> None:
        """Peers die, and links to them break at once."""
        dead = list(peers)
        for peer in dead:
            peer.is_alive = False
        for peer in dead:
            for overlay in (peer.topics.base, *peer.topics.joined.values()):
                for contact in overlay.neighbours.active.values():
                    other = self._by_id[contact.id]
                    if other.is_alive:
                        hop_s = self._hop(peer.number, other.number)
                        self.at(self.now_s + hop_s, self._broke, other, peer)

    def _broke(self, other: VirtualPeer, peer: VirtualPeer) -> None:
        if other.is_alive and not other.is_stopped:
            other.topics.link_broke(peer.contact.id, self.now_s)


@contextmanager
def _collecting_nothing() -> Iterator[None]:
    """What is thrown away in a run is in no circles; to look for some takes a third of the time where there are 10,000 peers."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

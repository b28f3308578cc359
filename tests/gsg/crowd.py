"""Very many peers in virtual time: whole ones, but for the network below them, which is a table of who is there.

Everybody knows a few peers, the holders; the others are known to nobody before they make a link. A link is a queue with a delay.
So a thousand peers come in seconds, and what happens between them is what happens between peers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from random import Random
from types import SimpleNamespace
from typing import Any

import dht
from gsg import Peer

LINK_S = (0.010, 0.050)
"""How long a message takes."""
NOTICED_S = 1.0
"""How long after a holder has died everybody has noticed."""


class CrowdLink:
    """One end of a link."""

    heard_s = float("inf")
    congested = False

    def __init__(self, crowd: Crowd, owner: Member, peer: dht.Contact) -> None:
        self.peer = peer
        self.owner = owner
        self.other: CrowdLink
        self._crowd = crowd
        self._turn: list[bytes] = []
        self._arrives_s = 0.0
        self._is_broken = False

    def send(self, payload: bytes) -> None:
        if self._is_broken:
            raise dht.LinkLost(self.peer.host, self.peer.port, "it broke")
        if not self._turn:
            asyncio.get_running_loop().call_soon(self._leave)
        self._turn.append(payload)

    def _leave(self) -> None:
        turn, self._turn = self._turn, []
        loop = asyncio.get_running_loop()
        self._arrives_s = max(self._arrives_s, loop.time() + self._crowd.rng.uniform(*LINK_S))
        loop.call_at(self._arrives_s, self._arrive, turn)

    def _arrive(self, turn: list[bytes]) -> None:
        if not self._is_broken:
            self.other.owner.on_frames(self.other, turn)

    async def drained(self) -> None:
        if self._is_broken:
            raise dht.LinkLost(self.peer.host, self.peer.port, "it broke")

    def pause_reading(self) -> None:
        """Nothing is as slow here."""

    def resume_reading(self) -> None:
        """As above."""

    def abort(self, reason: str) -> None:
        for end in (self, self.other):
            if not end._is_broken:
                end._is_broken = True
                asyncio.get_running_loop().call_soon(end.owner.end_link, end, reason)


class Member:
    """In the place of an endpoint: the links of one peer, and whom it knows."""

    def __init__(self, crowd: Crowd, peer: CrowdPeer, contact: dht.Contact) -> None:
        self.contact = contact
        self.links = self
        self.overlay = self
        self.regions = SimpleNamespace(version=0)
        self.has_entered = True
        self.passes_over = False
        self.dead: set[bytes] = set()
        self._crowd = crowd
        self._peer = peer
        self._links: list[CrowdLink] = []

    # --- an endpoint ----------------------------------------------------------

    async def __aenter__(self) -> Member:
        return self

    async def __aexit__(self, *error: object) -> None:
        self._crowd.leave(self)
        for link in list(self._links):
            link.abort("the peer has stopped")

    def begin_reading(self) -> None:
        """It reads from the beginning."""

    async def join(self, addresses: Iterable[object]) -> None:
        """Everybody knows the holders."""

    # --- links ------------------------------------------------------------------

    async def connect(self, contact: dht.Contact) -> CrowdLink:
        known = self.link_to(contact.id)
        if known is not None:
            return known
        await asyncio.sleep(2 * self._crowd.rng.uniform(*LINK_S))
        known = self.link_to(contact.id)
        if known is not None:
            return known
        other = self._crowd.members.get(contact.id)
        if other is None:
            raise dht.PeerUnreachable(contact.host, contact.port, "nobody answers")
        here, there = CrowdLink(self._crowd, self, contact), CrowdLink(self._crowd, other, self.contact)
        here.other, there.other = there, here
        self._links.append(here)
        other._links.append(there)
        return here

    def link_to(self, peer: bytes) -> CrowdLink | None:
        return next(iter(self.links_to(peer)), None)

    def links_to(self, peer: bytes) -> list[CrowdLink]:
        return [link for link in self._links if link.peer.id == peer]

    def on_frames(self, link: CrowdLink, payloads: list[bytes]) -> None:
        self._peer._parts.exchange.receive_frames(link, payloads)  # type: ignore[arg-type]  # it stands for one

    def end_link(self, link: CrowdLink, reason: str) -> None:
        if link in self._links:
            self._links.remove(link)
            self._peer._parts.exchange.drop_link(link, reason)  # type: ignore[arg-type]  # as above

    # --- an overlay ---------------------------------------------------------------

    def contacts(self) -> list[dht.Contact]:
        return [holder for holder in self._crowd.holders if holder.id not in self.dead and holder.id != self.contact.id]

    def knows(self, peer: bytes) -> dht.Contact | None:
        return next((contact for contact in self.contacts() if contact.id == peer), None)

    def suspects(self, peer: bytes) -> bool:
        """Nobody is: who dies is known to be dead."""
        return False

    def has_left(self, peer: bytes) -> bool:
        return False

    def heard_of(self, contact: dht.Contact) -> None:
        """Who is there is known."""

    def report_dead(self, peer: bytes) -> None:
        self.lose(peer)

    def lose(self, peer: bytes) -> None:
        """A holder is dead, as this peer has noticed."""
        contact = self.knows(peer)
        if contact is not None:
            self.dead.add(peer)
            self.regions.version += 1
            asyncio.get_running_loop().call_soon(self._peer._parts.peer_lost, contact)

    def owners_now(self, key: bytes, r: int = 1) -> tuple[dht.Contact, ...]:
        all_holders = self.contacts()
        if any(holder.id == self.contact.id for holder in self._crowd.holders):
            all_holders.append(self.contact)
        return tuple(sorted(all_holders, key=lambda holder: dht.distance(holder.id, key))[:r])

    async def owners(self, key: bytes, r: int = 1, *, anew: bool = False) -> tuple[dht.Contact, ...]:
        return self.owners_now(key, r)


class CrowdPeer(Peer):
    """A peer of the crowd."""

    def __init__(self, crowd: Crowd, **options: Any) -> None:  # Any: keywords of Peer
        super().__init__((crowd.host(), 7400), rng=Random(crowd.rng.random()), clock=asyncio.get_running_loop().time, **options)
        self._crowd = crowd

    async def _make_endpoint(self, host: str, port: int, life: int) -> Any:  # Any: stands for an endpoint
        return self._crowd.enter(self, dht.Contact(self._membership.id, host, port))


class Crowd:
    """All of them. The first ``holders`` peers that begin hold all keys."""

    def __init__(self, rng: Random, holders: int) -> None:
        self.rng = rng
        self.holders: list[dht.Contact] = []
        self.members: dict[bytes, Member] = {}
        self.peers: list[CrowdPeer] = []
        self._wanted = holders
        self._hosts = 0

    def host(self) -> str:
        self._hosts += 1
        return f"10.{self._hosts >> 16}.{(self._hosts >> 8) & 255}.{self._hosts & 255}"

    def enter(self, peer: CrowdPeer, contact: dht.Contact) -> Member:
        member = self.members[contact.id] = Member(self, peer, contact)
        if len(self.holders) < self._wanted:
            self.holders.append(contact)
        return member

    def leave(self, member: Member) -> None:
        self.members.pop(member.contact.id, None)

    async def begin(self, count: int, **options: Any) -> list[CrowdPeer]:  # Any: keywords of Peer
        """So many more."""
        begun = [CrowdPeer(self, **options) for _ in range(count)]
        for peer in begun:
            self.peers.append(await peer.__aenter__())
        return begun

    async def kill(self, peer: CrowdPeer) -> None:
        """A peer is gone in this moment; of a holder everybody notices NOTICED_S later."""
        self.peers.remove(peer)
        gone = peer.contact.id
        await peer.__aexit__(ConnectionError, None, None)
        if any(holder.id == gone for holder in self.holders):
            asyncio.get_running_loop().call_later(NOTICED_S, self._notice, gone)

    def _notice(self, gone: bytes) -> None:
        for member in list(self.members.values()):
            member.lose(gone)

    async def end(self) -> None:
        for peer in self.peers:
            await peer.__aexit__(ConnectionError, None, None)

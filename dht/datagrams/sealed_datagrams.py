"""Sealed datagrams: each proves who sent it, from which address, and that it was not sent before. Decided without I/O.

    introduction  02, check 8, public key 32, agreement 32, seen 8, life 8, count 8, port 2, host 0|4|16, signature 64, body
    sealed        03, mac 16, id 20, count 8, body
    refusal       04, check 8 of what is refused, why 1

A signature costs fifty times what a keyed hash does, so only the first datagrams between two peers are signed: each introduces
itself with an X25519 key drawn in this life, and from then on both have a key for each direction (:class:`_Session`). The rules:

* The check says too whether the sender's links are TLS: those who could not link are not to take each other for neighbours.
* ``seen`` says whose introduction the sender has; whoever reads its own there, or a sealed datagram, seals from then on.
* A repeated transmission is an introduction again, so a peer that forgot us or was started anew is met at the second try.
* Cheap checks come first: length, the network's check, address, allowed, count; then, within a budget, the signature.
* ``life`` is higher in each life of a peer and ``count`` in each of its datagrams; what came already, from an earlier life or too
  late is not taken. No clock is compared with another's.
* One id has one process: a peer that gets a datagram of its own id, or of an earlier life of another peer while a later life is
  known at another address, refuses it and says so. Where the later one has died, the earlier one is taken again.
* The address that an introduction names has to be the one that it came from, so nobody passes it on as his own. A peer that
  listens everywhere does not know its address, and names none.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from hmac import compare_digest
from ipaddress import ip_address
from random import Random
from struct import Struct

from ..errors import Address, BadSeal, Refusal
from ..identity.ids import ID_BYTES, PeerId
from ..identity.key_pair import PUBLIC_BYTES, SEED_BYTES, SIGNATURE_BYTES, Agreement, id_of, verified
from ..identity.membership import CHECK_BYTES, Membership
from .gossip import MAX_INCARNATION

MAX_SESSIONS = 4096
"""Peers whose keys are kept, about 500 bytes each; the one introduced longest ago introduces itself again."""

MAX_INTRODUCED = 256
"""Addresses for which our last introduction is remembered, so that a forged refusal is recognised."""

WINDOW = 1024
"""Datagrams of one peer that may overtake each other."""

VERIFIED_PER_S, VERIFIED_BURST = 500, 2_000
"""Signatures looked at: at 0.3 ms each, a flood costs a seventh of a core. Peers that were met before are not concerned."""

REFUSED_PER_S, REFUSED_BURST = 10, 50
"""Refusals sent; each is smaller than what it answers, so that nobody is flooded by way of us."""

INTRODUCTION, SEALED, REFUSED = b"\x02", b"\x03", b"\x04"

_MAC_BYTES = 16
_SEEN_BYTES = 8
_head = Struct(f">{PUBLIC_BYTES}s{PUBLIC_BYTES}s{_SEEN_BYTES}sQQHB")
_sealed_head = Struct(f">{ID_BYTES}sQ")
_SIGNED_AS = b"gsg datagram 1"
# By whether links are TLS: what the check of an introduction is marked with.
_MARKS = {True: b"TLS links", False: b""}
_MASK = (1 << WINDOW) - 1
_TRAVELLING = frozenset(Refusal) - {Refusal.UNLISTED}


class Budget:
    """So many a second, and a burst after a pause. The clock is handed in."""

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s = per_s
        self._burst = burst
        self._left = float(burst)
        self._at_s = float("-inf")

    def spend(self, now: float) -> bool:
        """Whether one more is allowed now."""
        self._left = min(self._burst, self._left + max(0.0, now - self._at_s) * self._per_s)
        self._at_s = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


@dataclass(slots=True)
class _Session:
    """What two peers agreed on, as one of them knows it."""

    peer: PeerId
    address: Address
    agreement: bytes
    life: int
    key_in: bytes
    key_out: bytes
    # The highest count taken, and a bit for each of the WINDOW below it that was.
    highest: int
    taken: int
    # Whether the other side has our introduction.
    mutual: bool
    # Whether it has died since it was last heard.
    ended: bool = False


class PlainDatagrams:
    """Datagrams as they are, for networks where ids are claims: measurements, and tests of the overlay's arithmetic."""

    def set_own_address(self, address: Address) -> None:
        """This peer listens there."""

    def seal(self, body: bytes, to: Address, *, again: bool = False) -> bytes:
        """What to send."""
        return body

    def open(self, data: bytes, sender: Address, now: float) -> tuple[PeerId | None, bytes]:
        """Who said it, if that was proved, and what."""
        return None, data

    def refusal_for(self, data: bytes, error: BadSeal, now: float) -> bytes | None:
        """What to answer to a datagram that did not open, if anything."""
        return None

    def note_death(self, peer: PeerId) -> None:
        """A peer is dead, as far as known."""

    def refused_by(self, address: Address) -> Refusal | None:
        """Why whoever listens there does not talk with us, if it said so."""
        return None


class SealedDatagrams(PlainDatagrams):
    """Seals and opens the datagrams of one peer in one life. ``rng`` draws the key that it agrees by; ``link_tls`` says whether its
    links are TLS.

    ``on_duplicate_id`` hears at which address another process with this peer's key is, or who says that there is one,
    ``on_new_life`` of each peer that is met in a later life than before, and of that life.
    """

    def __init__(
        self,
        membership: Membership,
        *,
        life: int,
        rng: Random,
        link_tls: bool = False,
        on_duplicate_id: Callable[[Address], None] = lambda address: None,
        on_new_life: Callable[[PeerId, int], None] = lambda peer, life: None,
    ) -> None:
        self._membership = membership
        self._on_duplicate_id = on_duplicate_id
        self._on_new_life = on_new_life
        self._link_tls = link_tls
        self._life = life
        self._count = 0
        self._agreement = Agreement(rng.randbytes(SEED_BYTES))
        self._host = b""
        self._port = 0
        self._signatures = Budget(VERIFIED_PER_S, VERIFIED_BURST)
        self._refusals = Budget(REFUSED_PER_S, REFUSED_BURST)
        # Limit: MAX_SESSIONS, the oldest first.
        self._sessions: dict[PeerId, _Session] = {}
        # One for each session at most.
        self._at: dict[Address, PeerId] = {}
        # The check of our last introduction to an address, and the refusal that answered it. Limit: MAX_INTRODUCED.
        self._introduced: dict[Address, tuple[bytes, Refusal | None]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def set_own_address(self, address: Address) -> None:
        """This peer listens there: an address, or an unspecified one."""
        host, self._port = address
        self._host = b"" if ip_address(host).is_unspecified else _packed(host)

    # Sending

    def seal(self, body: bytes, to: Address, *, again: bool = False) -> bytes:
        """What to send; ``again`` when it was sent before and nobody answered, who may not know us."""
        self._count += 1
        session = self._sessions.get(self._at.get(to, b""))
        if session is not None and session.mutual and not again:
            rest = _sealed_head.pack(self._membership.id, self._count) + body
            return SEALED + _mac(session.key_out, rest) + rest
        seen = bytes(_SEEN_BYTES) if session is None else session.agreement[:_SEEN_BYTES]
        identity = self._membership.identity
        head = (
            _head.pack(identity.public, self._agreement.public, seen, self._life, self._count, self._port, len(self._host))
            + self._host
        )
        rest = head + identity.sign(_SIGNED_AS + head + body) + body
        check = self._membership.check(rest, _MARKS[self._link_tls])
        known = self._introduced.pop(to, None)
        self._introduced[to] = (check, None if known is None else known[1])
        if len(self._introduced) > MAX_INTRODUCED:
            del self._introduced[next(iter(self._introduced))]
        return INTRODUCTION + check + rest

    # Receiving

    def open(self, data: bytes, sender: Address, now: float) -> tuple[PeerId, bytes]:
        """Who said it and what. Raises BadSeal; a refusal of ours by the other side is kept, and raises it too."""
        kind = data[:1]
        if kind == SEALED:
            return self._open_sealed(data, sender)
        if kind == INTRODUCTION:
            return self._open_introduction(data, sender, now)
        if kind == REFUSED:
            self._take_refusal(data, sender)
        raise BadSeal("datagrams not signed", Refusal.NOT_SIGNED)

    def _open_sealed(self, data: bytes, sender: Address) -> tuple[PeerId, bytes]:
        rest = data[1 + _MAC_BYTES :]
        try:
            peer, count = _sealed_head.unpack_from(rest)
        except struct.error:
            raise BadSeal("datagrams too short") from None
        session = self._sessions.get(peer)
        if session is None:
            # It will introduce itself with its next transmission.
            raise BadSeal("datagrams of forgotten peers")
        if session.address != sender:
            raise BadSeal("datagrams from another address")
        if not compare_digest(data[1 : 1 + _MAC_BYTES], _mac(session.key_in, rest)):
            raise BadSeal("datagrams forged")
        if not _take_count(session, count):
            raise BadSeal("datagrams repeated")
        session.mutual, session.ended = True, False
        return peer, rest[_sealed_head.size :]

    def _open_introduction(self, data: bytes, sender: Address, now: float) -> tuple[PeerId, bytes]:
        check, rest = data[1 : 1 + CHECK_BYTES], data[1 + CHECK_BYTES :]
        if not self._membership.is_checked(check, rest, _MARKS[self._link_tls]):
            if self._membership.is_checked(check, rest, _MARKS[not self._link_tls]):
                raise BadSeal("datagrams of peers with other links", Refusal.TLS_ONLY if self._link_tls else Refusal.PLAIN_ONLY)
            raise BadSeal("datagrams of another network", Refusal.OTHER_NETWORK)
        try:
            public, agreement, seen, life, count, port, host_bytes = _head.unpack_from(rest)
        except struct.error:
            raise BadSeal("datagrams too short") from None
        head_bytes = _head.size + host_bytes
        body_at = head_bytes + SIGNATURE_BYTES
        if host_bytes not in (0, 4, 16) or len(rest) < body_at:
            raise BadSeal("datagrams too short")
        if life > MAX_INCARNATION:
            raise BadSeal("datagrams of lives beyond all others")
        if port != sender[1] or (host_bytes and rest[_head.size : head_bytes] != _packed(sender[0])):
            raise BadSeal("datagrams from another address")
        peer = id_of(public)
        if peer == self._membership.id and agreement == self._agreement.public:
            raise BadSeal("datagrams of our own")
        if not self._membership.admits(peer):
            if (said := self._introduced.get(sender)) is not None:
                self._introduced[sender] = (said[0], Refusal.UNLISTED)
            raise BadSeal("datagrams of peers not allowed", Refusal.NOT_ALLOWED)
        session = self._sessions.get(peer)
        if session is not None and session.ended and session.address != sender:
            # The process that was there is gone: one of an earlier life, which it was copied from, may go on.
            session = None
        # A later life at another address: this one may have ended, or be a second process with the same key.
        is_duplicate = peer == self._membership.id or (session is not None and life < session.life and session.address != sender)
        if (
            session is not None
            and not is_duplicate
            and (life < session.life or (life == session.life and (agreement != session.agreement or _is_taken(session, count))))
        ):
            raise BadSeal("datagrams repeated")
        if not self._signatures.spend(now):
            raise BadSeal("datagrams beyond the budget for signatures")
        if not verified(public, rest[head_bytes:body_at], _SIGNED_AS + rest[:head_bytes] + rest[body_at:]):
            raise BadSeal("datagrams forged", Refusal.ID_NOT_PROVED)
        if is_duplicate:
            if peer == self._membership.id:
                self._on_duplicate_id(sender)
            raise BadSeal("datagrams of a second process with one id", Refusal.SAME_ID)
        if session is None or life > session.life:
            is_anew = session is not None
            session = self._begin_session(peer, sender, agreement, life, count)
            if is_anew:
                self._on_new_life(peer, life)
        else:
            _take_count(session, count)
            session.ended = False
            if session.address != sender:
                self._at.pop(session.address, None)
                session.address = sender
        self._at[sender] = peer
        session.mutual = session.mutual or compare_digest(seen, self._agreement.public[:_SEEN_BYTES])
        return peer, rest[body_at:]

    def _begin_session(self, peer: PeerId, address: Address, agreement: bytes, life: int, count: int) -> _Session:
        shared = self._agreement.shared(agreement)
        if shared is None:
            raise BadSeal("datagrams forged", Refusal.ID_NOT_PROVED)
        own, ours = self._membership.id, self._agreement.public
        self._drop_session(peer)
        if len(self._sessions) >= MAX_SESSIONS:
            self._drop_session(next(iter(self._sessions)))
        met = _Session(
            peer,
            address,
            agreement,
            life,
            self._membership.pair_key(shared, peer + own + agreement + ours),
            self._membership.pair_key(shared, own + peer + ours + agreement),
            count,
            1,
            mutual=False,
        )
        self._sessions[peer] = met
        return met

    def _drop_session(self, peer: PeerId) -> None:
        session = self._sessions.pop(peer, None)
        if session is not None and self._at.get(session.address) == peer:
            del self._at[session.address]

    def note_death(self, peer: PeerId) -> None:
        """A peer is dead, as far as known: another process with its key may take its place."""
        session = self._sessions.get(peer)
        if session is not None:
            session.ended = True

    # Refusing, and being refused

    def refusal_for(self, data: bytes, error: BadSeal, now: float) -> bytes | None:
        """What to answer to a datagram that did not open, if anything."""
        if error.refusal is not None:
            self._membership.counts[error.refusal] += 1
        if error.refusal is None or data[:1] != INTRODUCTION or not self._refusals.spend(now):
            return None
        return REFUSED + data[1 : 1 + CHECK_BYTES] + bytes((error.refusal,))

    def refused_by(self, address: Address) -> Refusal | None:
        """Why whoever listens there does not talk with us, if it said so, or we not with it.

        Anybody on the way could have said it: it is only shown.
        """
        return self._introduced.get(address, (b"", None))[1]

    def _take_refusal(self, data: bytes, sender: Address) -> None:
        check = data[1 : 1 + CHECK_BYTES]
        # A host with several addresses may answer from another one than was asked.
        asked = next((each for each in (sender, *self._introduced) if self._introduced.get(each, (b"",))[0] == check), None)
        if asked is None or len(data) != 2 + CHECK_BYTES:
            raise BadSeal("refusals of nothing that was said")
        if data[-1] not in _TRAVELLING:
            raise BadSeal("refusals without a reason")
        self._introduced[asked] = (check, Refusal(data[-1]))
        if self._introduced[asked][1] is Refusal.SAME_ID:
            self._on_duplicate_id(sender)
        raise BadSeal("refused by others")


def _is_taken(session: _Session, count: int) -> bool:
    behind = session.highest - count
    return behind >= WINDOW or (behind >= 0 and bool(session.taken >> behind & 1))


def _take_count(session: _Session, count: int) -> bool:
    """Note a count; whether it is new."""
    if _is_taken(session, count):
        return False
    ahead = count - session.highest
    if ahead > 0:
        session.taken = (session.taken << ahead | 1) & _MASK if ahead < WINDOW else 1
        session.highest = count
    else:
        session.taken |= 1 << -ahead
    return True


def _mac(key: bytes, data: bytes) -> bytes:
    return blake2b(data, key=key, digest_size=_MAC_BYTES).digest()


@lru_cache(maxsize=4096)
def _packed(host: str) -> bytes:
    return ip_address(host).packed

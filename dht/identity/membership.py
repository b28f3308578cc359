"""Who belongs to a network, decided without I/O: its secret, and the peers that it lets in.

What one peer is given at its start: its identity, the network's key, and the ids allowed. Datagrams
(:mod:`dht.datagrams.sealed_datagrams`) and links (:mod:`dht.links.handshake`) ask here. Without a secret the network's key is
public, and everybody who speaks this protocol belongs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b, scrypt
from hmac import compare_digest
from typing import TYPE_CHECKING

from ..errors import BadMembership, Refusal
from .ids import ID_BYTES, PeerId

if TYPE_CHECKING:
    from .key_pair import Identity

MIN_SECRET_BYTES, MAX_SECRET_BYTES = 16, 1024
"""Whoever sees a datagram can try secrets on it, so a short one is none."""

MAX_ALLOWED = 100_000
"""Peers that a list may name."""

CHECK_BYTES = 8
"""What tells a member's message from a stranger's before any signature is looked at: nobody gets 2**64 tries."""

_PUBLIC = "gsg"


class Membership:
    """One peer's part in a network: proves its own, judges others', and counts whom it refused in ``counts``.

    ``secret`` makes the network private: those who do not know it can neither join nor read. ``allowed`` are the ids to talk with,
    None for everybody. ``agreed`` is whatever else all members have alike: those with something else are strangers.
    """

    def __init__(
        self,
        identity: Identity,
        *,
        secret: bytes | None = None,
        allowed: Iterable[PeerId] | None = None,
        agreed: bytes = b"",
    ) -> None:
        self.identity = identity
        self.allowed = None if allowed is None else frozenset(allowed)
        self.is_private = secret is not None
        self.counts: Counter[Refusal] = Counter()
        """Messages and links refused."""
        # The name of the protocol's version is in the key, so that others of another version are strangers.
        self._key = blake2b(
            (_PUBLIC.encode() if secret is None else _derived(secret)) + agreed, person=b"gsg network 1", digest_size=32
        ).digest()

    @property
    def id(self) -> PeerId:
        """Who this peer is."""
        return self.identity.id

    def admits(self, peer: PeerId) -> bool:
        """Whether this peer is talked with."""
        return self.allowed is None or peer in self.allowed

    def check(self, data: bytes, mark: bytes = b"") -> bytes:
        """What a member puts beside a message: CHECK_BYTES that only members know, others for each ``mark``."""
        return blake2b(data, key=self._key, digest_size=CHECK_BYTES, salt=mark).digest()

    def is_checked(self, check: bytes, data: bytes, mark: bytes = b"") -> bool:
        """Whether a member made this check for these bytes, with this mark."""
        return compare_digest(check, self.check(data, mark))

    def pair_key(self, shared: bytes, context: bytes) -> bytes:
        """A key for two members who share a secret, in one direction that ``context`` names."""
        return blake2b(self._key + shared + context, person=b"gsg pair key 1", digest_size=32).digest()


def check_secret(secret: bytes) -> None:
    """Raise BadMembership for a secret that is none."""
    if not MIN_SECRET_BYTES <= len(secret) <= MAX_SECRET_BYTES:
        raise BadMembership(
            f"a network secret of {len(secret)} bytes; expected {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES}, "
            "such as the output of `openssl rand -hex 32`"
        )


def _derived(secret: bytes) -> bytes:
    check_secret(secret)
    # Slow on purpose, once a start: each guess at a secret costs as much (RFC 7914).
    return scrypt(secret, salt=b"gsg network secret", n=2**14, r=8, p=1, dklen=32)


def allowed_from(text: str) -> frozenset[PeerId]:
    """The ids in a list of allowed peers: one a line in hexadecimal, empty lines and what follows a # left out.

    Raises BadMembership with the line that is none.
    """
    found: set[PeerId] = set()
    for number, line in enumerate(text.splitlines(), 1):
        word = line.partition("#")[0].strip()
        if not word:
            continue
        try:
            peer = bytes.fromhex(word)
        except ValueError:
            peer = b""
        if len(peer) != ID_BYTES:
            raise BadMembership(
                f"line {number}: {word[:60]!r} is no peer id; expected {2 * ID_BYTES} hexadecimal digits, as `gsg peer` prints them"
            )
        found.add(peer)
        if len(found) > MAX_ALLOWED:
            raise BadMembership(f"line {number}: more than {MAX_ALLOWED:,} peers; expected at most so many")
    if not found:
        raise BadMembership("no peer id in the list; expected one a line; leave the list out to let everybody in")
    return frozenset(found)

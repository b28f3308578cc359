"""A peer's key pair: who it is, and how it proves that.

An id is the first 160 bits of SHA-256 of a raw Ed25519 public key (RFC 8032), so whoever signs with the key has the id, and nobody
can choose one freely. The ``cryptography`` package does the arithmetic: whoever imports this module loads it.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from ..errors import BadIdentity
from .ids import ID_BYTES, PeerId

SEED_BYTES = 32
PUBLIC_BYTES = 32
SIGNATURE_BYTES = 64

MAX_KEYS = 4096
"""Public keys of others kept in decoded form; the one used longest ago makes place for another."""


def id_of(public: bytes) -> PeerId:
    """The id of whoever has this raw public key."""
    return sha256(public).digest()[:ID_BYTES]


class Identity:
    """An Ed25519 key pair. ``seed`` is its 32 secret bytes: drawn from a seeded source they give a repeatable identity."""

    def __init__(self, seed: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise BadIdentity(f"a key of {len(seed)} bytes; expected {SEED_BYTES}")
        self.private = Ed25519PrivateKey.from_private_bytes(seed)
        """The key itself, for certificates and files."""
        self.public = self.private.public_key().public_bytes_raw()
        self.id: PeerId = id_of(self.public)

    def __repr__(self) -> str:
        # Never the secret: this may stand in a log.
        return f"<Identity {self.id.hex()[:12]}>"

    def sign(self, data: bytes) -> bytes:
        """The signature of these bytes, always the same."""
        return self.private.sign(data)


def verified(public: bytes, signature: bytes, data: bytes) -> bool:
    """Whether the owner of a raw public key signed these bytes."""
    try:
        _public_key(public).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


class Agreement:
    """One side of an X25519 agreement (RFC 7748), drawn anew in each life of a peer."""

    def __init__(self, seed: bytes) -> None:
        self._private = X25519PrivateKey.from_private_bytes(seed)
        self.public = self._private.public_key().public_bytes_raw()

    def shared(self, public: bytes) -> bytes | None:
        """The secret shared with the owner of a raw public key; None for a key with which there can be none."""
        try:
            return self._private.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:
            return None


@lru_cache(maxsize=MAX_KEYS)
def _public_key(public: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(public)

"""Keys that cost nothing: in a run nobody forges anything, and an eighth of its time would go to the arithmetic of curves.

What is signed, sent and looked at has the same length and its place; only whoever knows the public key could sign as well. What
real keys are worth is tested in tests/dht.
"""

from __future__ import annotations

from hashlib import blake2b, sha256

import pytest

import dht.datagrams.sealed_datagrams
import dht.identity.key_pair
import dht.links.handshake


def _sign(identity: dht.identity.key_pair.Identity, data: bytes) -> bytes:
    return _signature(identity.public, data)


def _verified(public: bytes, signature: bytes, data: bytes) -> bool:
    return signature == _signature(public, data)


def _signature(public: bytes, data: bytes) -> bytes:
    return blake2b(data, key=public, digest_size=dht.identity.key_pair.SIGNATURE_BYTES).digest()


def _shared(agreement: dht.identity.key_pair.Agreement, public: bytes) -> bytes:
    return sha256(b"".join(sorted((agreement.public, public)))).digest()


def make_cheap(patch: pytest.MonkeyPatch) -> None:
    """Until the patch is undone."""
    patch.setattr(dht.identity.key_pair.Identity, "sign", _sign)
    patch.setattr(dht.identity.key_pair.Agreement, "shared", _shared)
    for module in (dht.datagrams.sealed_datagrams, dht.links.handshake):
        patch.setattr(module, "verified", _verified)

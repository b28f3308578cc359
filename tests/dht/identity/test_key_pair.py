"""Identities: what an id is, what proves it, and the file that keeps it."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from dht import BadIdentity, Identity
from dht.identity.key_pair import Agreement, id_of, verified
from dht.identity.key_pair_file import read_identity, write_identity


def test_an_id_is_the_first_160_bits_of_the_hash_of_the_public_key() -> None:
    identity = Identity(bytes(range(32)))

    # RFC 8032's arithmetic over the seed 00 01 .. 1f, hashed with coreutils' sha256sum.
    assert identity.public.hex() == "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
    assert identity.id == sha256(identity.public).digest()[:20] == id_of(identity.public)


def test_the_same_randomness_gives_the_same_identity() -> None:
    first, again, other = (Identity(Random(seed).randbytes(32)) for seed in (1, 1, 2))

    assert first.id == again.id != other.id
    assert first.sign(b"x") == again.sign(b"x")


@pytest.mark.parametrize(
    ("public", "signature", "data"),
    [
        (Identity(bytes(32)).public, Identity(bytes(32)).sign(b"said"), b"not said"),
        (Identity(b"o" * 32).public, Identity(bytes(32)).sign(b"said"), b"said"),
        (Identity(bytes(32)).public, bytes(64), b"said"),
        (b"\xff" * 32, Identity(bytes(32)).sign(b"said"), b"said"),
        (b"short", Identity(bytes(32)).sign(b"said"), b"said"),
    ],
    ids=["other data", "another's key", "no signature", "no point of the curve", "too short a key"],
)
def test_what_the_owner_did_not_sign_is_not_verified(public: bytes, signature: bytes, data: bytes) -> None:
    assert not verified(public, signature, data)
    assert verified(Identity(bytes(32)).public, Identity(bytes(32)).sign(b"said"), b"said")


def test_two_sides_agree_on_one_secret_and_none_on_a_key_that_gives_none() -> None:
    a, b = Agreement(b"a" * 32), Agreement(b"b" * 32)

    assert a.shared(b.public) == b.shared(a.public) is not None
    assert a.shared(bytes(32)) is None
    assert a.shared(b"short") is None


def test_a_written_identity_is_read_back_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "identity"
    identity = Identity(b"k" * 32)
    assert read_identity(path) is None

    write_identity(path, identity)

    found = read_identity(path)
    assert found is not None
    assert found.id == identity.id
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["identity"]


def test_no_wrong_bit_makes_another_peer_of_one(tmp_path: Path) -> None:
    path = tmp_path / "identity"
    identity = Identity(b"k" * 32)
    write_identity(path, identity)
    written = path.read_bytes()
    refused = 0

    for bit in range(8 * len(written)):
        flipped = bytearray(written)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            found = read_identity(path)
        except BadIdentity:
            refused += 1
        else:
            assert found is not None
            assert found.id == identity.id, bit

    # Of what is not the key or the id, as where a line ends, some is as good as what was written.
    assert refused > 0.95 * 8 * len(written)


def test_an_identity_that_names_no_peer_is_read_as_before(tmp_path: Path) -> None:
    path = tmp_path / "identity"
    write_identity(path, identity := Identity(b"k" * 32))
    path.write_bytes(path.read_bytes().partition(b"\n")[2])

    found = read_identity(path)

    assert found is not None
    assert found.id == identity.id


def test_an_identity_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "identity"
    write_identity(path, Identity(b"k" * 32))

    with pytest.raises(BadIdentity, match="cannot be written: file exists"):
        write_identity(path, Identity(b"l" * 32))

    found = read_identity(path)
    assert found is not None
    assert found.id == Identity(b"k" * 32).id


PUBLIC_KEY = b"""-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=
-----END PUBLIC KEY-----
"""


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is damaged; expected a PEM file with an unencrypted Ed25519 key"),
        (bytes(100), "is damaged"),
        (PUBLIC_KEY, "is damaged"),
        (b"x" * 5000, "is longer than 4096 bytes"),
    ],
    ids=["empty", "zeros", "a public key", "long"],
)
def test_a_file_that_is_no_identity_is_told_with_what_to_do(tmp_path: Path, data: bytes, problem: str) -> None:
    path = tmp_path / "identity"
    path.write_bytes(data)
    path.chmod(0o600)

    with pytest.raises(BadIdentity, match=problem) as told:
        read_identity(path)

    assert str(path) in str(told.value)
    assert "restore it, or remove it, and the peer gets another id" in str(told.value)


def test_a_key_of_another_kind_is_foreign(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    path = tmp_path / "identity"
    path.write_bytes(
        X25519PrivateKey.from_private_bytes(bytes(32)).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    path.chmod(0o600)

    with pytest.raises(BadIdentity, match="holds a key of another kind, X25519PrivateKey"):
        read_identity(path)


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")
def test_an_identity_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "identity"
    write_identity(path, Identity(b"k" * 32))
    path.chmod(0o640)

    with pytest.raises(BadIdentity, match=r"can be read by others \(mode 0640\); expected 0600; if nobody has read it, chmod 600"):
        read_identity(path)

"""Ids of peers and keys, and the metric between them.

Peers and keys share one space of 160 bits, and the distance between two of its points is their XOR read as a number
(Maymounkov and Mazières 2002, "Kademlia", section 2.1). Everything here is arithmetic.
"""

from __future__ import annotations

from random import Random
from typing import TypeAlias

PeerId: TypeAlias = bytes
"""20 bytes. Keys have the same form."""

ID_BYTES = 20
ID_BITS = 8 * ID_BYTES


def as_int(point: bytes) -> int:
    """A point as the number whose XOR with another is their distance."""
    return int.from_bytes(point, "big")


def distance(a: bytes, b: bytes) -> int:
    """How far apart two points are: 0 when equal, else 1 to 2**160 - 1."""
    return as_int(a) ^ as_int(b)


def common_prefix_length(a: bytes, b: bytes) -> int:
    """How many leading bits two points share: 0 to 160."""
    return ID_BITS - distance(a, b).bit_length()


def random_id(rng: Random) -> PeerId:
    """A point drawn uniformly."""
    return rng.randbytes(ID_BYTES)


def random_id_in_bucket(own: PeerId, bucket: int, rng: Random) -> PeerId:
    """A point drawn uniformly from those that share exactly ``bucket`` leading bits with ``own`` (0 to 159)."""
    # The first differing bit is fixed by the bucket, those after it are free.
    free_bits = ID_BITS - bucket - 1
    return (as_int(own) ^ (1 << free_bits) ^ rng.getrandbits(free_bits) if free_bits else as_int(own) ^ 1).to_bytes(ID_BYTES, "big")

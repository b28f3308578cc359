"""The peers of an overlay by their ids, and the regions into which their keys are cut, so that each is the work of one task.

A region is a subtree of the space of keys: all keys with the same leading bits. Where each region has as many peers as a key has
holders, the holders of a key are in the region of the key, since whatever is outside differs from it in an earlier bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..engine import kernels
from ..engine.kernels import Flags, Whole
from ..engine.ownership import MAX_PEERS, Ownership, prefixes_of
from ..engine.randomness import Stream, Words
from ..errors import check_range
from .capacities import UNIT, Capacities, ids_for

if TYPE_CHECKING:
    import pyarrow

PART = 1 << 20
"""Ids of a part at most."""
MAX_REGION_BITS = 12
"""Leading bits of a region at most."""


@dataclass(frozen=True, slots=True)
class Peers:
    """So many peers, whose ids are drawn by a seed wherever they are needed; or those of ids that are given, 20 bytes each.

    Raises BadParameter for a number of peers that no run can have.
    """

    count: int
    seed: int = 1
    given: tuple[bytes, ...] | None = None
    capacity: Capacities | None = None
    """What they are able to carry, by the same seed; None where all are alike."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        check_range(self.count, 1, MAX_PEERS, "peers")

    @classmethod
    def of(cls, ids: list[bytes]) -> Peers:
        """Those of these ids."""
        return cls(len(ids), given=tuple(ids))

    def __len__(self) -> int:
        """How many there are."""
        return self.count

    def prefixes(self) -> Words:
        """The first 64 bits of their ids, shape (peers,); no two that are drawn are the same."""
        return Stream(self.seed, "peer").words(0, self.count) if self.given is None else prefixes_of(list(self.given))

    def prefix_parts(self) -> Iterator[Words]:
        """The same in parts, for who needs no more than one at a time."""
        if self.given is not None:
            yield self.prefixes()
            return
        for begin in range(0, self.count, PART):
            yield Stream(self.seed, "peer").words(begin, min(PART, self.count - begin))

    def capacities(self) -> Whole:
        """What each is able to carry, in hundredths, shape (peers,)."""
        return self.capacities_of(np.arange(self.count))

    def capacities_of(self, numbers: Whole) -> Whole:
        """What the peers of these numbers are able to carry, in hundredths."""
        if self.capacity is None:
            return np.full(len(numbers), UNIT, dtype=np.int64)
        return self.capacity.draw(numbers, self.seed)

    def ownership(self, virtual: int = 1) -> Ownership:
        """The index of all ids, by which a key's owner is a peer that takes part under so many ids. Raises BadParameter.

        Peers that are not alike have so many in the mean, each in proportion to its capacity.
        """
        if self.capacity is None or virtual == 1:
            return Ownership(kernels.virtual_ids(self.prefixes(), virtual), peers=self.count)
        counts = ids_for(self.capacities(), virtual)
        peer_of = np.repeat(np.arange(self.count), counts)
        number = np.arange(len(peer_of)) - np.repeat(np.cumsum(counts) - counts, counts)
        own = self.prefixes()[peer_of]
        return Ownership(np.where(number == 0, own, kernels.scattered(own, number.astype(np.uint64))), peer_of=peer_of)

    def names(self, numbers: Whole) -> pyarrow.Array:
        """The ids of these peers in hexadecimal: of those that are drawn the first 64 bits, which is all that there is of them."""
        import pyarrow

        if self.given is not None:
            return pyarrow.array([self.given[number].hex() for number in numbers.tolist()], pyarrow.string())
        written = Stream(self.seed, "peer").at(numbers.astype(np.uint64)).astype(">u8").tobytes().hex().encode()
        offsets = np.arange(len(numbers) + 1, dtype=np.int32) * 16
        return pyarrow.StringArray.from_buffers(len(numbers), pyarrow.py_buffer(offsets), pyarrow.py_buffer(written))


@dataclass(frozen=True, slots=True)
class Region:
    """One of ``1 << bits`` subtrees of the space of keys, all of it where there are no bits."""

    number: int
    bits: int

    def holds(self, keys: Words) -> Flags:
        """Which of some keys are in it."""
        found: Flags = np.ones(len(keys), dtype=bool) if not self.bits else (keys >> np.uint64(64 - self.bits)) == self.number
        return found

    def peers(self, peers: Peers, virtual: int) -> tuple[Whole, Ownership]:
        """The numbers of its peers, and the index of their ids, which counts from 0 within it and takes keys of :meth:`inner`.

        Raises BadParameter where two peers share an id.
        """
        if not self.bits:
            return np.arange(len(peers)), peers.ownership(virtual)
        numbers, ids, before = [], [], 0
        for part in peers.prefix_parts():
            mine = np.flatnonzero(self.holds(part))
            numbers.append(mine + before)
            ids.append(part[mine])
            before += len(part)
        return np.concatenate(numbers), Ownership(self.inner(np.concatenate(ids)))

    def inner(self, keys: Words) -> Words:
        """Its keys without the bits that they share: distances stay in order, and the index is spread over all of its buckets."""
        return keys << np.uint64(self.bits)


def regions(peers: Peers, wanted: int, *, virtual: int, replicas: int, assigned: bool = False) -> list[Region]:
    """As many regions as wanted at least, or as there can be: each with as many peers as a key has holders.

    One region where peers take part under several ids, which are all over the space, and where keys are assigned one after the
    other, by what all peers carry.
    """
    bits = 0 if virtual > 1 or assigned else min(MAX_REGION_BITS, max(0, wanted - 1).bit_length())
    if bits:
        shift, inside = np.uint64(64 - bits), np.zeros(1 << bits, dtype=np.int64)
        for part in peers.prefix_parts():
            inside += np.bincount((part >> shift).astype(np.int64), minlength=1 << bits)
        while bits and inside.min() < replicas:
            inside = inside.reshape(-1, 2).sum(axis=1)
            bits -= 1
    return [Region(number, bits) for number in range(1 << bits)]

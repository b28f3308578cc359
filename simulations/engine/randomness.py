"""Random numbers by counter: number ``i`` of a stream is a function of the seed, the stream and ``i`` alone.

So a workload is the same however it is cut into partitions, and any part of it can be made again by itself (Salmon and others,
"Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011). The function is the finalizer of SplitMix64 over a Weyl sequence (Steele,
Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014): a bijection for each stream, so no number repeats.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]

_WEYL = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)

BLOCK = 1 << 14
"""Numbers that go through all steps of a computation together: a few columns of 128 kB stay in a core's second cache."""
_STEPS = np.arange(BLOCK, dtype=np.uint64) * _WEYL


def mixed(words: Words) -> Words:
    """Each 64-bit word scattered over all of them, one to one; the argument is used up."""
    shifted = words >> np.uint64(30)
    words ^= shifted
    words *= _FIRST
    words ^= np.right_shift(words, np.uint64(27), out=shifted)
    words *= _SECOND
    words ^= np.right_shift(words, np.uint64(31), out=shifted)
    return words


def fraction_of(words: Words) -> NDArray[np.float64]:
    """Random words as fractions from 0 up to and not 1, of 53 bits."""
    return (words >> np.uint64(11)) * np.float64(2.0**-53)


def derived_seed(seed: int, *name: object) -> int:
    """A seed of its own for whatever the name tells apart."""
    return int(Stream(seed, *name).words(0, 1)[0])


class Stream:
    """One stream of random numbers, named by a seed and whatever tells it from others."""

    def __init__(self, seed: int, *name: object) -> None:
        digest = blake2b(repr((seed, *name)).encode(), digest_size=8).digest()
        self._key = np.uint64(int.from_bytes(digest, "big"))

    def words(self, begin: int, count: int) -> Words:
        """Numbers ``begin`` to ``begin + count``, 64 random bits each, shape (count,)."""
        words = np.empty(count, dtype=np.uint64)
        for start in range(0, count, BLOCK):
            block = words[start : start + BLOCK]
            first = np.uint64((int(self._key) + (begin + start) * int(_WEYL)) % 2**64)
            mixed(np.add(_STEPS[: len(block)], first, out=block))
        return words

    def at(self, counters: Words) -> Words:
        """The numbers of these places, 64 random bits each, shape as given."""
        return mixed(counters * _WEYL + self._key)

    def below(self, bound: int, begin: int, count: int) -> NDArray[np.int64]:
        """Numbers ``begin`` to ``begin + count`` as whole numbers from 0 to ``bound - 1``, for bounds up to 2**32."""
        return ((self.words(begin, count) >> np.uint64(32)) * np.uint64(bound) >> np.uint64(32)).astype(np.int64)

    def uniform(self, begin: int, count: int) -> NDArray[np.float64]:
        """Numbers ``begin`` to ``begin + count`` as fractions from 0 up to and not 1, of 53 bits."""
        return fraction_of(self.words(begin, count))

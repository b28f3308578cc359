"""Draws in whole numbers alone: a workload has the same bytes on every machine, whatever its mathematical library rounds.

Popularity follows the law of Zipf and Mandelbrot with exponent 1: rank ``i`` of n, from 0, weighs ``1 / (i + q)``, with q a
hundredth of n, and 1 at least, which is Zipf's own law. So the first is a hundred times as popular as the last in a workload of
any size, and what a change has to do with does not grow with the size of the world.
"""

from __future__ import annotations

import numpy as np

from simulations.engine.randomness import Stream, Words

from .digests import Codes

_ONE = 1 << 40
_FLATTENED = 100
"""Ranks for each that the law is shifted by."""


class Popularity:
    """The law over so many ranks."""

    def __init__(self, ranks: int) -> None:
        shift = max(1, ranks // _FLATTENED)
        weights = np.uint64(_ONE) // (np.arange(ranks, dtype=np.uint64) + np.uint64(shift))
        self._ends = np.cumsum(weights, dtype=np.uint64)

    def ranks(self, words: Words) -> Codes:
        """The rank that each random word stands for."""
        found: Codes = np.searchsorted(self._ends, words % self._ends[-1], side="right").astype(np.int64)
        return found


class Draws:
    """The random numbers of a seed, each stream by a name."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def words(self, name: str, count: int) -> Words:
        """The first numbers of a stream."""
        return Stream(self._seed, "standing query benchmark", name).words(0, count)

    def at(self, name: str, numbers: Codes) -> Words:
        """The numbers of these places of a stream."""
        return Stream(self._seed, "standing query benchmark", name).at(numbers.astype(np.uint64))

    def below(self, name: str, bound: int, count: int) -> Codes:
        """The first numbers of a stream, from 0 up to and not ``bound``."""
        return below(self.words(name, count), bound)


def below(words: Words, bound: int) -> Codes:
    """Each random word as a number from 0 up to and not ``bound``."""
    return (words % np.uint64(bound)).astype(np.int64)


def chosen(words: Words, shares: list[int]) -> Codes:
    """Which of some choices each random word stands for, as often as their whole-numbered shares say."""
    ends = np.cumsum(np.array(shares, dtype=np.uint64), dtype=np.uint64)
    found: Codes = np.searchsorted(ends, words % ends[-1], side="right").astype(np.int64)
    return found

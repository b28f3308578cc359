"""Draws in whole numbers alone: a workload has the same bytes on every machine, whatever its mathematical library rounds.

Popularity follows the law of Zipf and Mandelbrot with exponent 1: rank ``i`` (from 0) weighs ``1 / (i + shift)``. A shift of 1 is
Zipf's law; the larger it is, the flatter is the head.
"""

from __future__ import annotations

import numpy as np

from simulations.engine.randomness import Stream, Words

from .digests import Codes

_ONE = 1 << 40


class Popularity:
    """The law over so many ranks."""

    def __init__(self, ranks: int, shift: int) -> None:
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

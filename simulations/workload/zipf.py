"""Ranks by Zipf's law: rank ``r`` (from 0) comes as often as ``(r + 1) ** -exponent`` says; an exponent of 0 is uniform.

Drawing takes one random word and one look-up, whatever the number of ranks: Walker's alias method as Vose builds it ("A Linear
Algorithm for Generating Random Numbers with a Given Distribution", IEEE Transactions on Software Engineering 17, 1991).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..engine.randomness import BLOCK, Stream, Words
from ..errors import BadParameter, check_range

MAX_RANKS = 1 << 27
"""Ranks at most: a table has eight bytes for each."""

_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)


class Zipf:
    """A law over ``ranks`` ranks. Raises BadParameter for no ranks, more than MAX_RANKS, or an exponent below 0."""

    def __init__(self, ranks: int, exponent: float) -> None:
        check_range(ranks, 1, MAX_RANKS, "distinct constants")
        if not 0 <= exponent < 10:
            raise BadParameter(f"a Zipf exponent of {exponent:g}; expected 0 (all alike) or more, and less than 10")
        self.ranks = ranks
        self.exponent = exponent
        weights = np.arange(1, ranks + 1, dtype=np.float64) ** -exponent
        self._chance: NDArray[np.float64] = weights / weights.sum()
        keep, alias = _alias_table(self._chance)
        # Both in one word, so that a rank costs one miss of the cache: how often it stays, and what changes it to its alias.
        self._table: Words = keep.astype(np.uint64) << _HALF | (alias ^ np.arange(ranks, dtype=np.uint32))

    @property
    def chance(self) -> NDArray[np.float64]:
        """How likely each rank is, shape (ranks,)."""
        return self._chance

    def draw(self, stream: Stream, begin: int, count: int) -> NDArray[np.int64]:
        """The ranks of numbers ``begin`` to ``begin + count`` of a stream, shape (count,)."""
        ranks = np.empty(count, dtype=np.int64)
        for start in range(0, count, BLOCK):
            block = ranks[start : start + BLOCK].view(np.uint64)
            self._rank(stream.words(begin + start, len(block)), block)
        return ranks

    def at(self, stream: Stream, numbers: Words) -> NDArray[np.int64]:
        """The ranks of any numbers of a stream, shape as theirs: those that :meth:`draw` has at these places."""
        ranks = np.empty(len(numbers), dtype=np.int64)
        self._rank(stream.at(numbers), ranks.view(np.uint64))
        return ranks

    def _rank(self, words: Words, ranks: Words) -> None:
        """The rank of each word, which is used up."""
        np.right_shift(words, _HALF, out=ranks)
        ranks *= np.uint64(self.ranks)
        ranks >>= _HALF
        if self.exponent:
            # No slot is outside the table: "clip" only spares a check.
            found = self._table.take(ranks.view(np.int64), mode="clip")
            # The low half decides between the slot and its alias; it is independent of the high half, which chose the slot.
            # All ones below it make it at least what is kept exactly where the low half is; the select has no branch to miss.
            words <<= _HALF
            words |= _LOW
            moved = words >= found
            found &= _LOW
            found *= moved
            ranks ^= found


def _alias_table(chance: NDArray[np.float64]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """For each slot how often of 2**32 it stays itself, and what it is otherwise; ranks come in the order of their chance.

    A slot that is less likely than the average lacks something, and one that is likelier gives it. Lay all that is lacking end to
    end, and all that can be given: who stands where a lack begins fills it up whole. So a giver may give more than it has, and
    lacks that then; the next one fills it up.
    """
    count = len(chance)
    scaled = chance * count
    keep = np.minimum(scaled, 1.0)
    alias = np.arange(count, dtype=np.uint32)
    givers = max(1, int(np.searchsorted(-scaled, -1.0)))
    given = np.cumsum(scaled[:givers] - 1.0)
    lack = 1.0 - scaled[givers:]
    ends = np.cumsum(lack)
    begins = ends - lack
    alias[givers:] = np.minimum(np.searchsorted(given, begins, side="right"), givers - 1)
    filled = np.searchsorted(begins, given)
    overdrawn = np.where(filled > 0, ends[filled - 1] - given, 0.0)[: givers - 1] if len(ends) else np.zeros(givers - 1)
    keep[: givers - 1] = 1.0 - np.clip(overdrawn, 0.0, 1.0)
    alias[: givers - 1] = np.arange(1, givers)
    return np.minimum(np.rint(keep * 2.0**32), 2.0**32 - 1).astype(np.uint32), alias

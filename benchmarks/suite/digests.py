"""Digests of answers: sums modulo 2**64 of a number for each row, so that order does not matter and what came and went is gone.

A sum over a bag is the same in any order, and a row that is told as ``+`` and then as ``-`` adds nothing (the incremental hash of
Bellare and Micciancio, "A New Paradigm for Collision-Free Hashing", EUROCRYPT 1997, without the strength against an adversary, of
whom there is none here). docs/suite.md defines each of these for implementations in other languages.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from simulations.engine.randomness import Words, mixed

MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15

Codes: TypeAlias = NDArray[np.int64]


class Weighed(IntEnum):
    """What is numbered, so that number 3 of one kind does not weigh as much as number 3 of another."""

    ROUND = 1
    EVENT_OF_ROUND = 2
    POSITION = 3
    EVENT_AT_POSITION = 4
    SUBSCRIPTION = 5


def mixed_word(word: int) -> int:
    """The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) of one word."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def term_hash(text: str | None) -> int:
    """Of a term as N-Triples writes it: BLAKE2b of 8 bytes, most significant byte first; 0 for a name that is unbound."""
    return 0 if text is None else int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def row_hash(terms: Sequence[int]) -> int:
    """Of a row, from the hashes of its terms in the order of the query's selection."""
    word = 0
    for term in terms:
        word = mixed_word(((word + _GOLDEN) & MASK) ^ term)
    return word


def weight(kind: Weighed, number: int) -> int:
    """An odd number that a row is multiplied with, to tell where it belongs."""
    return mixed_word((kind << 56) + number) | 1


def row_hashes(terms: Sequence[Words], count: int) -> Words:
    """As :func:`row_hash` of ``count`` rows, from one column a name."""
    words = np.zeros(count, dtype=np.uint64)
    for column in terms:
        words = mixed((words + np.uint64(_GOLDEN)) ^ column)
    return words


def weights(kind: Weighed, numbers: Codes) -> Words:
    """As :func:`weight` of each number."""
    return mixed(numbers.astype(np.uint64) + np.uint64(kind << 56)) | np.uint64(1)

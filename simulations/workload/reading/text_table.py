"""Texts found again by a hash of 64 bits, a whole column at once: what a dict of Python's does in ten times the time and memory.

Two texts of one hash are taken for one. Keys are known by 64 bits too (engine/ownership.py): that there are two such among a
million is as unlikely as that two keys are the same, one in thirty million.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...engine.randomness import Words, mixed

if TYPE_CHECKING:
    import pyarrow

MISSING = -2
"""The place of a text that is not there."""

LONG_BYTES = 256
"""A longer text is hashed by itself: the others step by step, together."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_WORD = 8


def hashes_of(texts: pyarrow.Array) -> Words:
    """A hash of each of some texts, an array of strings without nulls, that depends on the text alone."""
    from pyarrow import types

    _, offsets, data = texts.buffers()
    kind = np.int64 if types.is_large_string(texts.type) else np.int32
    edges = np.frombuffer(offsets, kind)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    begins, lengths = edges[:-1], np.diff(edges)
    size = int(edges[-1]) if len(edges) else 0
    bytes_ = np.zeros(size + _WORD, dtype=np.uint8)
    if size:
        bytes_[:size] = np.frombuffer(data, np.uint8, size)
    # The eight bytes from each byte on.
    words = np.ndarray((size + 1,), np.dtype("<u8"), bytes_, strides=(1,))
    found = mixed((lengths.astype(np.uint64) + np.uint64(1)) * _ODD)
    short = np.minimum(lengths, LONG_BYTES)
    left = np.flatnonzero(short)
    for step in range(0, int(short.max(initial=0)), _WORD):
        if step:
            left = left[short[left] > step]
        word = words[begins[left] + step]
        rest = short[left] - step
        cut = rest < _WORD
        word[cut] &= (np.uint64(1) << (rest[cut].astype(np.uint64) * np.uint64(_WORD))) - np.uint64(1)
        # For texts that differ in one word alone this is one to one.
        word ^= found[left]
        word *= _ODD
        word ^= word >> _HALF
        found[left] = word
    for number in np.flatnonzero(lengths > LONG_BYTES).tolist():
        text = bytes_[edges[number] : edges[number + 1]].tobytes()
        found[number] = int.from_bytes(blake2b(text, digest_size=_WORD).digest(), "little")
    found = mixed(found)
    # Zero is what an empty slot has.
    found[found == 0] = 1
    return found


class TextTable:
    """Places by hashes: open addressing, at most half full."""

    def __init__(self) -> None:
        self._size = 0
        self._clear(1 << 12)

    def __len__(self) -> int:
        """How many hashes there are."""
        return self._size

    def clear(self) -> None:
        """Forget all."""
        self._size = 0
        self._clear(1 << 12)

    def find(self, hashes: Words) -> NDArray[np.int32]:
        """The place of each, MISSING for one that is not there."""
        slots = (hashes & self._mask).view(np.int64)
        there = self._hashes[slots]
        found = self._places[slots]
        left = np.flatnonzero(there != hashes)
        while len(left):
            empty = there[left] == 0
            found[left[empty]] = MISSING
            left = left[~empty]
            slots[left] = (slots[left] + 1) & int(self._mask)
            there[left] = self._hashes[slots[left]]
            found[left] = self._places[slots[left]]
            left = left[there[left] != hashes[left]]
        return found

    def add(self, hashes: Words, places: NDArray[np.int32]) -> None:
        """Hashes that are not there, each once."""
        if 2 * (self._size + len(hashes)) > len(self._hashes):
            known = self._hashes != 0
            before = self._hashes[known], self._places[known]
            self._clear(1 << int(4 * (self._size + len(hashes))).bit_length())
            self._put(*before)
        self._put(hashes, places)
        self._size += len(hashes)

    def _put(self, hashes: Words, places: NDArray[np.int32]) -> None:
        slots = (hashes & self._mask).view(np.int64)
        left = np.arange(len(hashes))
        while len(left):
            # Of several that want an empty slot the last one gets it.
            free = left[self._hashes[slots[left]] == 0]
            self._hashes[slots[free]] = hashes[free]
            put = self._hashes[slots[left]] == hashes[left]
            self._places[slots[left[put]]] = places[left[put]]
            left = left[~put]
            slots[left] = (slots[left] + 1) & int(self._mask)

    def _clear(self, slots: int) -> None:
        self._hashes = np.zeros(slots, dtype=np.uint64)
        self._places = np.zeros(slots, dtype=np.int32)
        self._mask = np.uint64(slots - 1)

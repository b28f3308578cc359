"""Tests that a text begins with another: one dict, asked once for each length that some prefix has.

For suffixes, texts and prefixes are given reversed.
"""

from __future__ import annotations


class Prefixes:
    """Sets of bits by the prefix that is asked for."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}
        self._lengths: dict[int, int] = {}
        """How many prefixes have a length."""

    def insert(self, prefix: str, bits: int) -> None:
        """Let these wait for texts that begin so."""
        if prefix not in self._bits:
            self._bits[prefix] = 0
            self._lengths[len(prefix)] = self._lengths.get(len(prefix), 0) + 1
        self._bits[prefix] |= bits

    def remove(self, prefix: str, bits: int) -> None:
        """Let these wait no more. Raises KeyError for a prefix that nobody asks for."""
        self._bits[prefix] &= ~bits
        if not self._bits[prefix]:
            del self._bits[prefix]
            self._lengths[len(prefix)] -= 1
            if not self._lengths[len(prefix)]:
                del self._lengths[len(prefix)]

    def passed(self, text: str) -> int:
        """Those with whose prefix the text begins."""
        found = 0
        for prefix in self.texts_of(text):
            found |= self._bits[prefix]
        return found

    def texts_of(self, text: str) -> list[str]:
        """The prefixes with which the text begins, each once."""
        size, bits = len(text), self._bits
        return [prefix for length in self._lengths if length <= size and (prefix := text[:length]) in bits]

    def __len__(self) -> int:
        return len(self._bits)

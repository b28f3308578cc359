"""Tests that a value equals a constant: a dict."""

from __future__ import annotations

from collections.abc import Hashable


class Equalities:
    """Sets of bits by the constant that is asked for. Constants that Python takes for one key are one constant."""

    def __init__(self) -> None:
        self._bits: dict[Hashable, int] = {}

    def insert(self, constant: Hashable, bits: int) -> None:
        """Let these wait for values that equal a constant."""
        self._bits[constant] = self._bits.get(constant, 0) | bits

    def remove(self, constant: Hashable, bits: int) -> None:
        """Let these wait no more. Raises KeyError for a constant that nobody asks for."""
        left = self._bits[constant] & ~bits
        if left:
            self._bits[constant] = left
        else:
            del self._bits[constant]

    def passed(self, value: Hashable) -> int:
        """Those whose constant the value equals."""
        return self._bits.get(value, 0)

    def __len__(self) -> int:
        return len(self._bits)

"""How much several holders may remember together, in bytes.

What is remembered here can all be found again, so at the limit everything is forgotten: that is rare, and needs no order of use,
which would cost something with each event.
"""

from __future__ import annotations

from sys import getsizeof
from typing import Final, Protocol

ENTRY_BYTES: Final = 150
"""What an entry of a dict takes besides its key and its value, about."""
MAX_CHARACTERS: Final = 200
"""Of a text that is remembered; a longer one seldom comes twice."""


class Holder(Protocol):
    """Somebody who remembers."""

    def forget(self) -> None:
        """Let go of everything that is remembered, without a word to the memory."""


class Memory:
    """Bytes by holder. Limit: ``limit_bytes`` over all holders; beyond, each of them is told to forget."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.size_bytes = 0
        self._taken: dict[Holder, int] = {}

    def take(self, holder: Holder, size_bytes: int) -> None:
        """A holder remembers so many bytes more."""
        self._taken[holder] = self._taken.get(holder, 0) + size_bytes
        self.size_bytes += size_bytes
        if self.size_bytes > self.limit_bytes:
            for each in self._taken:
                each.forget()
            self._taken.clear()
            self.size_bytes = 0

    def give_back(self, holder: Holder) -> None:
        """A holder has forgotten all that it remembered."""
        self.size_bytes -= self._taken.pop(holder, 0)


def is_worth_remembering(value: object) -> bool:
    """Whether a value may be a key: it is no NaN, which is never found again, and not long."""
    if value.__class__ is str:
        return len(value) <= MAX_CHARACTERS
    return value == value


def entry_bytes(key: object, value: object) -> int:
    """What an entry takes, about."""
    return ENTRY_BYTES + getsizeof(key) + getsizeof(value)

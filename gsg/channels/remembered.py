"""The last events of a channel, for those who look back: temporal subscriptions and agents."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, Generic, Protocol, TypeVar

CHARACTERS: Final = 16 * 1024 * 1024
"""Of all events that are remembered in one place; beyond, and beyond their number, the oldest is forgotten."""


class Sized(Protocol):
    """What has a length in characters."""

    def size(self) -> int:
        """About how many characters it takes."""


Item = TypeVar("Item", bound=Sized)


class Remembered(Generic[Item]):
    """At most ``limit`` events, and CHARACTERS of them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: deque[tuple[Item, int]] = deque()
        self._characters = 0
        self.forgotten = 0
        """How many were appended and are not remembered any more: those with the lowest numbers, counted from 1."""

    def append(self, item: Item) -> None:
        """Remember one more."""
        size = item.size()
        self._items.append((item, size))
        self._characters += size
        while len(self._items) > self._limit or (self._characters > CHARACTERS and len(self._items) > 1):
            self._characters -= self._items.popleft()[1]
            self.forgotten += 1

    def clear(self) -> None:
        """Forget them all."""
        self.forgotten += len(self._items)
        self._items.clear()
        self._characters = 0

    def __iter__(self) -> Iterator[Item]:
        """The oldest first."""
        return (item for item, _ in self._items)

"""The last events of a channel, for those who look back: temporal subscriptions and agents.

Every event is appended, whether anybody looks or not, so an append is all but free: characters are counted for CHUNK events at
once, and these are forgotten together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain, count, islice
from typing import Final, Generic, Protocol, TypeVar

CHARACTERS: Final = 16 * 1024 * 1024
"""Of all events that are remembered in one place, beside the last two chunks; beyond, and beyond their number, the oldest are
forgotten."""
CHUNK: Final = 8
"""Events that are counted and forgotten together."""


class Sized(Protocol):
    """What has a length in characters."""

    def size(self) -> int:
        """About how many characters it takes."""


Item = TypeVar("Item", bound=Sized)


class Remembered(Generic[Item]):
    """The last ``limit`` events with the times at which they happened, or fewer: CHARACTERS of them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: deque[tuple[list[tuple[Item, float]], int]] = deque()
        """With the characters of each. Limits: enough for ``limit`` events, and CHARACTERS."""
        self._newest: list[tuple[Item, float]] = []
        """A chunk that is not full yet."""
        self._characters = 0
        self.appended = 0
        """How many ever were. They are numbered from 1."""
        self.forgotten = 0
        """So many with the lowest numbers are not kept any more."""

    def append(self, item: Item, time_s: float = 0.0) -> None:
        """Remember one more."""
        self.appended += 1
        newest = self._newest
        newest.append((item, time_s))
        if len(newest) == CHUNK:
            self._count()

    def _count(self) -> None:
        characters = sum([item.size() for item, _ in self._newest])
        self._chunks.append((self._newest, characters))
        self._newest = []
        self._characters += characters
        while (len(self._chunks) - 1) * CHUNK >= self._limit or (self._characters > CHARACTERS and len(self._chunks) > 1):
            self._characters -= self._chunks.popleft()[1]
            self.forgotten += CHUNK

    def clear(self) -> None:
        """Forget them all."""
        self.forgotten = self.appended
        self._chunks.clear()
        self._newest = []
        self._characters = 0

    def __iter__(self) -> Iterator[Item]:
        """The oldest first."""
        return (item for _, item, _ in self.numbered())

    def numbered(self) -> Iterator[tuple[int, Item, float]]:
        """The same, with the number and the time of each."""
        skipped = max(0, self.appended - self._limit - self.forgotten)
        kept = chain(chain.from_iterable(chunk for chunk, _ in self._chunks), self._newest)
        return (
            (number, item, time_s)
            for number, (item, time_s) in zip(count(self.forgotten + skipped + 1), islice(kept, skipped, None))
        )

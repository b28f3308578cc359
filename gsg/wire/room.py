"""Room for messages that wait, by their length, so that who waits for no answer cannot fill the memory. Pure."""

from __future__ import annotations

WAITING_BYTES = 32 * 1024 * 1024
"""What may wait in one line, each message with MESSAGE_BYTES besides its own; beyond, a message is refused."""
ALL_BYTES = 8 * WAITING_BYTES
"""What may wait in all lines of one kind together, so that it does not follow from how many there are."""
MESSAGE_BYTES = 1_000
"""What a message takes, however short it was on its way."""


class Room:
    """One place where messages wait. What this peer itself says has no length there: its callers wait for it.

    ``within``: a larger one that it is a part of, as all lines of one kind are; ``each_bytes``: what a message takes besides.
    """

    __slots__ = ("each_bytes", "limit_bytes", "taken_bytes", "within")

    def __init__(self, limit_bytes: int, within: Room | None = None, *, each_bytes: int = MESSAGE_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self.each_bytes = each_bytes
        self.within = within
        self.taken_bytes = 0
        """Limit: ``limit_bytes``, where :meth:`has` is asked first."""

    def has(self, size_bytes: int) -> bool:
        """Whether a message of this length may wait as well."""
        fits = not size_bytes or self.taken_bytes + size_bytes + self.each_bytes <= self.limit_bytes
        return fits and (self.within is None or self.within.has(size_bytes))

    def take(self, size_bytes: int) -> None:
        """A message of this length waits."""
        self._add(size_bytes + self.each_bytes if size_bytes else 0)

    def leave(self, size_bytes: int) -> None:
        """It does so no more."""
        self._add(-size_bytes - self.each_bytes if size_bytes else 0)

    def empty(self) -> None:
        """Nothing waits here any more."""
        self._add(-self.taken_bytes)

    def _add(self, more_bytes: int) -> None:
        self.taken_bytes += more_bytes
        if self.within is not None:
            self.within._add(more_bytes)

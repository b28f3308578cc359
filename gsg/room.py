"""Room for messages that wait, by their length, so that who waits for no answer cannot fill the memory. Pure."""

from __future__ import annotations

WAITING_BYTES = 32 * 1024 * 1024
"""What may wait in one line, each message with MESSAGE_BYTES besides its own; beyond, a message is refused."""
MESSAGE_BYTES = 1_000
"""What a message takes, however short it was on its way."""


class Room:
    """One place where messages wait. What this peer itself says has no length there: its callers wait for it."""

    __slots__ = ("limit_bytes", "taken_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.taken_bytes = 0
        """Limit: ``limit_bytes``, where :meth:`has` is asked first."""

    def has(self, size_bytes: int) -> bool:
        """Whether a message of this length may wait as well."""
        return not size_bytes or self.taken_bytes + size_bytes + MESSAGE_BYTES <= self.limit_bytes

    def take(self, size_bytes: int) -> None:
        """A message of this length waits."""
        self.taken_bytes += size_bytes + MESSAGE_BYTES if size_bytes else 0

    def leave(self, size_bytes: int) -> None:
        """It does so no more."""
        self.taken_bytes -= size_bytes + MESSAGE_BYTES if size_bytes else 0

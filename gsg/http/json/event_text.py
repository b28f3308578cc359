"""Server-sent events as bytes, and those that a client may not have got: what it is told again when it comes back. Pure.

The id of an event is the name of its stream and its number there. A client that comes back says the last one that it has got
(``Last-Event-ID``), and all that it was sent behind that may have been lost on the way.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final, NamedTuple

SENT_BYTES: Final = 256 * 1024
"""What is kept of one stream in case that its client has not got it; of more the oldest goes, and then a client that was behind
that begins anew. A client that reads has less on the way."""
ALL_SENT_BYTES: Final = 64 * 1024 * 1024
"""The same of all streams of a door."""
HEARTBEAT: Final = b":\n\n"
"""A comment, which says that the peer lives."""
_ID: Final = re.compile(r"([A-Za-z0-9_-]{22})-([0-9]{1,15})")


class Place(NamedTuple):
    """Where in which stream a client was."""

    stream: str
    number: int


def place_of(last_event_id: str) -> Place | None:
    """The place that an id says; None for what is no id of ours."""
    found = _ID.fullmatch(last_event_id)
    return Place(found[1], int(found[2])) if found else None


def event(name: str, data: bytes, id: str = "") -> bytes:
    """One event (HTML Living Standard, section 9.2.6); JSON as msgspec writes it has no line breaks."""
    told = f"id: {id}\n".encode() if id else b""
    return b"event: %b\n%bdata: %b\n\n" % (name.encode(), told, data)


class SentBytes:
    """How much is kept of all streams of a door."""

    def __init__(self, limit_bytes: int = ALL_SENT_BYTES) -> None:
        self.held = 0
        self.limit = limit_bytes


class Sent:
    """The last events of one stream."""

    def __init__(self, stream: str, together: SentBytes, limit_bytes: int = SENT_BYTES) -> None:
        self.stream = stream
        self._together = together
        self._limit_bytes = limit_bytes
        self._number = 0
        """Of the last one."""
        self._kept: deque[bytes] = deque()
        """Limit: ``limit_bytes``."""
        self._held_bytes = 0

    def add(self, name: str, data: bytes) -> bytes:
        """One more event, with its id."""
        self._number += 1
        made = event(name, data, f"{self.stream}-{self._number}")
        self._kept.append(made)
        self._count(len(made))
        while self._kept and (self._held_bytes > self._limit_bytes or self._together.held > self._together.limit):
            self._count(-len(self._kept.popleft()))
        return made

    def since(self, number: int) -> list[bytes] | None:
        """The events behind this one; None where they are not all there, or it never was."""
        missing = self._number - number
        if not 0 <= missing <= len(self._kept):
            return None
        return list(self._kept)[len(self._kept) - missing :]

    def forget(self) -> None:
        """Nobody comes back."""
        self._kept.clear()
        self._count(-self._held_bytes)

    def _count(self, more_bytes: int) -> None:
        self._held_bytes += more_bytes
        self._together.held += more_bytes

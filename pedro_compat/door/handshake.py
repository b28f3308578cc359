"""How a client connects: three sockets, joined by a number.

    info socket   ->  "HOST ACKPORT DATAPORT\\n", closed
    ack socket    ->  "ID\\n"                            Handshakes.begin; the client has one second, over TLS five
    data socket   <-  "ID\\n"   ->  "ok\\n"               Handshakes.finish
                               ->  "failed\\n", closed   an id that is unknown, late, used or no number

Time and randomness are handed in. An id is what lets a stranger take over the half-open connection, so it is random in 32 bits.
"""

from __future__ import annotations

from typing import Protocol

COMPLETE_WITHIN_S = 1.000
"""How long a client has between its ack connection and its id on the data connection [R]."""
COMPLETE_WITHIN_TLS_S = 5.0
"""As long where both connections have a handshake of TLS to make besides, over links as slow as there are."""

MAX_PENDING = 10_000
"""Clients between the two connections at once; beyond, the oldest is given up, as if its second were over."""

OK, FAILED = b"ok\n", b"failed\n"

_MAX_ID_BYTES = 30
"""Longest first line of a data connection, its newline included, as the original reads it."""


class Randomness(Protocol):
    """``random.Random``, ``random.SystemRandom`` or a test's own."""

    def getrandbits(self, k: int, /) -> int: ...


def information(host: str, ack_port: int, data_port: int) -> bytes:
    """What an info connection is told before it is closed."""
    return f"{host} {ack_port} {data_port}\n".encode()


class Handshakes:
    """The clients of one door that have an ack connection and no data connection yet."""

    def __init__(self, rng: Randomness, within_s: float = COMPLETE_WITHIN_S) -> None:
        self._rng = rng
        self._within_s = within_s
        self._expiry: dict[int, float] = {}  # id -> when it expires, soonest first, because all have the same time

    def begin(self, now: float) -> int:
        """The id for a client whose ack connection was opened; it is sent :func:`acknowledgement`-like, as a line."""
        while True:
            client = self._rng.getrandbits(32)
            if client and client not in self._expiry:
                self._expiry[client] = now + self._within_s
                return client

    def finish(self, line: bytes, now: float) -> int | None:
        """The id that the first line of a data connection completes, or ``None``: answer FAILED and close."""
        digits = line.strip(b" \t")
        if not digits.isdigit() or len(digits) >= _MAX_ID_BYTES:
            return None
        expiry = self._expiry.get(int(digits))
        if expiry is None or now >= expiry:
            return None
        del self._expiry[int(digits)]
        return int(digits)

    def expired(self, now: float) -> list[int]:
        """The ids whose time is over, and which are forgotten: close their ack connections."""
        over: list[int] = []
        for client, expiry in self._expiry.items():
            if now < expiry and len(self._expiry) - len(over) <= MAX_PENDING:
                break
            over.append(client)
        for client in over:
            del self._expiry[client]
        return over

    def next_expiry(self) -> float | None:
        """When :meth:`expired` should be asked next, or ``None`` while nobody is connecting."""
        return next(iter(self._expiry.values()), None)


class FirstLine:
    """The first line of a connection: the client's id, unless told, and so not longer than one."""

    def __init__(self, limit_bytes: int = _MAX_ID_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._begun = b""

    def feed(self, data: bytes) -> tuple[bytes, bytes] | None:
        """The line and the bytes after it, or ``None`` while it is not complete.

        A line that is too long is complete at its limit, and means nothing. The bytes after it are the session's, though the
        original may lose them [R].
        """
        self._begun += data
        line, newline, rest = self._begun.partition(b"\n")
        if newline or len(line) >= self._limit_bytes:
            return line, rest
        return None

"""What goes on to other holders: to each in the order in which it came here, and to none behind what another one is sent.

    admitted ──behind what goes to the same holder──> its turn ──the holder is reached──> sent
                                                      └──it is not──> all that wait for it are told so, at once

A holder that is gone is called once for all that waits for it: a call may take seconds, and what waits may have another to go to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

import dht

from .errors import PeerUnreachable, Refused
from .exchange import Answer, Channel, Exchange
from .holders import Holders
from .messages import Message

WAITING_BYTES = 32 * 1024 * 1024
"""What may wait to go on, each message with MESSAGE_BYTES besides its own; beyond, a message is refused. What this peer itself
publishes has no length here: its callers wait for it."""
MESSAGE_BYTES = 1_000
"""What a message takes here, however short it was on its way."""

Sending: TypeAlias = "tuple[Channel, asyncio.Future[Answer]]"
"""A request that was sent, and its answer."""


class _Line:
    """What waits for one holder."""

    __slots__ = ("lock", "problem", "users")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        """Held while something is sent there; it keeps the order of those that wait."""
        self.users = 0
        self.problem: PeerUnreachable | None = None
        """Why the holder cannot be reached, once that is known."""


class Onward:
    """Sends on for one peer. ``full_s``: how long a link that takes no more is waited for, None to send all the same."""

    def __init__(self, holders: Holders, exchange: Exchange, *, full_s: float | None = None) -> None:
        self._holders = holders
        self._exchange = exchange
        self._full_s = full_s
        self._lines: dict[bytes, _Line] = {}
        """By holder. Bounded by the holders with something to send."""
        self._waiting_bytes = 0
        """Limit: WAITING_BYTES."""

    def check(self, size_bytes: int) -> None:
        """Raise Refused where a message of this length cannot wait as well."""
        if size_bytes and self._waiting_bytes + size_bytes + MESSAGE_BYTES > WAITING_BYTES:
            raise Refused(
                f"{self._waiting_bytes} bytes wait to go on to the holders of their keys, which change hands, and at most "
                f"{WAITING_BYTES} may; wait for answers before you send more"
            )

    def admit(self, size_bytes: int, parts: int) -> int:
        """A message of this length, which was checked, is to go on in parts: what to give :meth:`send` with each."""
        each = (size_bytes + MESSAGE_BYTES) // parts if size_bytes else 0
        self._waiting_bytes += each * parts
        return each

    async def send(self, holder: dht.Contact, make: Callable[[int], Message], admitted_bytes: int) -> Sending:
        """Send a request behind what goes to the same holder. Raises PeerUnreachable, of which ``holders`` have heard, and
        TimeoutError where a link that takes no more is not waited for any longer."""
        line = self._lines.setdefault(holder.id, _Line())
        line.users += 1
        try:
            async with line.lock:
                if line.problem is not None:
                    raise PeerUnreachable(str(line.problem))
                try:
                    channel = await self._exchange.channel(holder)
                except PeerUnreachable as error:
                    line.problem = error
                    self._holders.failed(holder.id, error)
                    raise
                if self._full_s is not None and channel.congested:
                    async with asyncio.timeout(self._full_s):
                        await channel.drained()
                return channel, channel.ask(make)
        finally:
            self._waiting_bytes -= admitted_bytes
            line.users -= 1
            # What comes from now on calls again where this failed.
            if (not line.users or line.problem is not None) and self._lines.get(holder.id) is line:
                del self._lines[holder.id]

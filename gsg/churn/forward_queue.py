"""What goes on to other holders: to each in the order in which it came here, and to none behind what another one is sent.

    admitted ──behind what goes to the same holder──> its turn ──the holder is reached, and its link takes it──> sent
                                                      └──it is not, or takes nothing for long──> all that wait are told so at once

A holder that is gone is called once for all that waits for it, and one that reads nothing is waited for once: that may take
seconds, and what waits may have another to go to. How much may wait is counted for each, so that one keeps nothing from the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeAlias

import dht

from ..errors import PeerUnreachable, Refused
from ..placement.holders import Holders
from ..wire.exchange import Answer, Exchange, PeerLink, show
from ..wire.messages import Message
from ..wire.waiting import ALL_BYTES, WAITING_BYTES, Room

Sending: TypeAlias = "tuple[PeerLink, asyncio.Future[Answer]]"
"""A request that was sent, and its answer."""


class _Line:
    """What waits for one holder."""

    __slots__ = ("lock", "problem", "room", "users")

    def __init__(self, all_lines: Room) -> None:
        self.lock = asyncio.Lock()
        """Held while something is sent there; it keeps the order of those that wait."""
        self.room = Room(WAITING_BYTES, all_lines)
        self.users = 0
        self.problem: PeerUnreachable | TimeoutError | None = None
        """Why the holder cannot be reached, or that it reads too slowly, once that is known."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """One holder's share of a message, which has its place in the line and is to be sent."""

    holder: dht.Contact
    line: _Line
    size_bytes: int


class ForwardQueue:
    """Sends on for one peer. ``full_s``: how long a link that takes no more is waited for, None to send all the same."""

    def __init__(self, holders: Holders, exchange: Exchange, *, full_s: float | None = None) -> None:
        self._holders = holders
        self._exchange = exchange
        self._full_s = full_s
        self._lines: dict[bytes, _Line] = {}
        """By holder. Bounded by the holders with something to send."""
        self._room = Room(ALL_BYTES)

    def check_room(self, size_bytes: int, holders: Collection[dht.Contact]) -> None:
        """Raise Refused where a message of this length, of which each of these holders gets a share, cannot wait as well."""
        part_bytes = _share_bytes(size_bytes, holders)
        rooms = {show(holder): self._lines[holder.id].room for holder in holders if holder.id in self._lines}
        for whom, room in [("the holders of their keys", self._room), *rooms.items()]:
            if not room.has(part_bytes):
                raise Refused(
                    f"{room.taken_bytes} bytes wait to go on to {whom}, as keys change hands, and at most {room.limit_bytes} may; "
                    "wait for answers before you send more"
                )

    def enqueue(self, size_bytes: int, holders: Collection[dht.Contact]) -> list[Admitted]:
        """A message that was checked is to go on: what :meth:`send` is to have for each of these holders."""
        part_bytes = _share_bytes(size_bytes, holders)
        admitted = [Admitted(holder, self._lines.setdefault(holder.id, _Line(self._room)), part_bytes) for holder in holders]
        for one in admitted:
            one.line.users += 1
            one.line.room.take(part_bytes)
        return admitted

    async def send(self, admitted: Admitted, make: Callable[[int], Message]) -> Sending:
        """Send a request behind what goes to the same holder. Raises PeerUnreachable, of which ``holders`` have heard, and
        TimeoutError where a link that takes no more is not waited for any longer."""
        holder, line = admitted.holder, admitted.line
        try:
            async with line.lock:
                if line.problem is not None:
                    raise TimeoutError if isinstance(line.problem, TimeoutError) else PeerUnreachable(str(line.problem))
                try:
                    link = await self._exchange.link(holder)
                except PeerUnreachable as error:
                    line.problem = error
                    self._holders.failed(holder.id, error)
                    raise
                if self._full_s is not None and link.congested:
                    try:
                        async with asyncio.timeout(self._full_s):
                            await link.drained()
                    except TimeoutError as error:
                        line.problem = error
                        raise
                return link, link.ask(make)
        finally:
            line.room.leave(admitted.size_bytes)
            line.users -= 1
            # What comes from now on calls again where this failed.
            if (not line.users or line.problem is not None) and self._lines.get(holder.id) is line:
                del self._lines[holder.id]


def _share_bytes(size_bytes: int, holders: Collection[dht.Contact]) -> int:
    return -(-size_bytes // len(holders))

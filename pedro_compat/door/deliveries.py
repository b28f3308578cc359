"""What is delivered to the clients of a door: gathered while lines are carried out, and given to each socket in one write.

Nobody waits for a client that does not read: it is cut off after SLOW_S, as the original does, and at once
where what it has left unread passes UNREAD_BYTES, or is the most where all of them together pass ALL_UNREAD_BYTES.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from dht.liveness.late_timers import Timer
from dht.log_rate import LogRate

_cut_off = LogRate(logging.getLogger(__name__))

SLOW_BYTES = 1024 * 1024
"""Unread deliveries from which a client is slow. Nobody waits for it."""
SLOW_S = 1.0
"""How long a client may stay slow without reading SLOW_BYTES meanwhile, before it is cut off."""
UNREAD_BYTES = 64 * 1024 * 1024
"""Unread deliveries at which a client is cut off at once, however fast it reads."""
ALL_UNREAD_BYTES = 256 * 1024 * 1024
"""Unread deliveries of all slow clients of a door together; beyond, the one with the most is cut off."""
WRITE_BYTES = 256 * 1024
"""Deliveries to one client that reach this size are written without waiting for the others."""


class DoorDeliveries:
    """Deliveries to all clients of a door: :meth:`write_all` writes them, at the latest when the event loop's turn ends."""

    __slots__ = ("_filled", "_slow", "_waiting", "cut_off", "delivered")

    def __init__(self) -> None:
        self.delivered = 0
        """Lines delivered since the start: what a line of a publisher causes is not known before."""
        self.cut_off = 0
        """Clients that were cut off because they did not read."""
        self._filled: list[Deliveries] = []
        self._slow: dict[Deliveries, int] = {}
        """Those of slow clients, with the bytes that they have left unread when they were written to."""
        self._waiting = False

    def schedule_write(self, of_client: Deliveries) -> None:
        """Deliveries of a client are no longer empty."""
        self._filled.append(of_client)
        if not self._waiting:
            self._waiting = True
            asyncio.get_running_loop().call_soon(self.write_all)

    def hold_writes(self) -> None:
        """Whoever has the turn calls :meth:`write_all` at its end, so the event loop need not."""
        self._waiting = True

    def note_unread(self, of_client: Deliveries, unread: int) -> None:
        """A slow client has left so many bytes unread, or is slow no more."""
        if unread <= SLOW_BYTES:
            self._slow.pop(of_client, None)
            return
        self._slow[of_client] = unread
        if sum(self._slow.values()) > ALL_UNREAD_BYTES:
            # Some have read since.
            self._slow = {each: each.unread_bytes for each in self._slow}
            if sum(self._slow.values()) > ALL_UNREAD_BYTES:
                slowest = max(self._slow, key=self._slow.__getitem__)
                unread = self._slow[slowest]
                slowest.cut_off_client(f"has left {unread} bytes unread, the most of all clients, who have too many together")

    def write_all(self) -> None:
        """Write everything that was delivered so far."""
        self._waiting = False
        filled, self._filled = self._filled, []
        for of_client in filled:
            of_client.write()


class Deliveries:
    """What is delivered to one client. ``cut_off`` ends its connection."""

    __slots__ = ("_cut_off", "_lines", "_of_door", "_sent_bytes", "_size", "_timer", "_transport")

    def __init__(self, transport: asyncio.Transport, of_door: DoorDeliveries, cut_off: Callable[[], None]) -> None:
        self._transport = transport
        self._of_door = of_door
        self._cut_off = cut_off
        self._lines: list[bytes] = []
        self._size = 0
        self._sent_bytes = 0
        self._timer: Timer | None = None

    def deliver(self, line: bytes) -> None:
        """One delivery, complete with its newline."""
        if not self._lines:
            self._of_door.schedule_write(self)
        self._lines.append(line)
        self._size += len(line)
        self._of_door.delivered += 1
        if self._size > WRITE_BYTES:
            self.write()

    def write(self) -> None:
        """Give the socket what there is."""
        if not self._lines:
            return
        lines, self._lines = self._lines, []
        self._sent_bytes += self._size
        self._size = 0
        transport = self._transport
        if transport.is_closing():
            return
        transport.write(b"".join(lines))
        unread = transport.get_write_buffer_size()
        if unread > SLOW_BYTES:
            if unread > UNREAD_BYTES:
                self.cut_off_client(f"has left {unread} bytes unread")
                return
            if self._timer is None:
                self._watch(unread)
            self._of_door.note_unread(self, unread)

    @property
    def unread_bytes(self) -> int:
        """Bytes that the socket has not taken."""
        return self._transport.get_write_buffer_size()

    def close(self) -> None:
        """The client is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._lines.clear()
        self._of_door.note_unread(self, 0)

    def _watch(self, unread: int) -> None:
        self._timer = Timer(SLOW_S, partial(self._still_slow, self._sent_bytes - unread))

    def _still_slow(self, read_before: int) -> None:
        self._timer = None
        unread = self._transport.get_write_buffer_size()
        if unread > SLOW_BYTES:
            if self._sent_bytes - unread - read_before < SLOW_BYTES:
                self.cut_off_client("does not read what is delivered to it")
            else:
                self._watch(unread)
        else:
            self._of_door.note_unread(self, 0)

    def cut_off_client(self, why: str) -> None:
        """Cut the client off."""
        _cut_off.warning("a pedro client at %s %s: cut off", self._transport.get_extra_info("peername"), why)
        self._of_door.cut_off += 1
        self.close()
        self._cut_off()

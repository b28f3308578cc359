"""The sockets of a simulated network: what asyncio's transports promise to protocols, over memory.

A stream holds at most ``net.window_bytes`` between a writer and the other side's protocol; while the reader is paused the rest
stays in the writer's transport, which then pauses its protocol, as TCP's window does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, cast

from ..errors import Address

if TYPE_CHECKING:
    from .net import SimNet

WINDOW_BYTES = 256 * 1024
"""What the two kernels would hold of one direction."""

_END = b""
_BYTES = (bytes, bytearray, memoryview)
"""What a stream takes. Made once: a union of types would be made at each write."""


class Datagrams(asyncio.DatagramTransport):
    """One bound datagram socket."""

    def __init__(self, net: SimNet, protocol: asyncio.DatagramProtocol, local: Address) -> None:
        super().__init__({"sockname": local})
        self.net = net
        self.context = copy_context()
        """In which the protocol is called: that of whoever has bound the socket."""
        self.protocol = protocol
        self.local = local
        self._closing = False

    def sendto(self, data: Any, addr: Any = None) -> None:  # Any: as asyncio has it
        """Send one datagram, which may be lost."""
        if not self._closing:
            self.net.send_datagram(self, bytes(data), (addr[0], addr[1]))

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self._closing

    def close(self) -> None:
        """Give the port back."""
        if not self._closing:
            self._closing = True
            self.net.unbind_datagrams(self)
            self.net.loop.call_soon(self.protocol.connection_lost, None, context=self.context)

    def abort(self) -> None:
        """The same."""
        self.close()


class Stream(asyncio.Transport):
    """One end of a connection, whose protocol is called in the context of whoever has connected, or listens."""

    def __init__(self, net: SimNet, protocol: asyncio.Protocol, local: Address, remote: Address, context: Context) -> None:
        super().__init__({"sockname": local, "peername": remote})
        self.net = net
        self._context = context
        self.local = local
        self.remote = remote
        self.other: Stream | None = None
        self._protocol = protocol
        self._high, self._low = 64 * 1024, 16 * 1024
        # Written, and waiting for a place in the window. Unbounded as asyncio's: pause_writing asks the protocol to stop.
        self._buffer: deque[bytes] = deque()
        self._buffered = 0
        self._in_window = 0
        # Under way to us, with the time of arrival, then arrived and not yet read. Bounded by the window together.
        self._wire: deque[tuple[float, bytes]] = deque()
        self._inbox: deque[bytes] = deque()
        self._writing_paused = False
        self._reading_paused = False
        self._ending = False
        self._end_sent = False
        self._closing = False
        self._lost = False

    # What asyncio.Transport promises

    def write(self, data: Any) -> None:  # Any: bytes, bytearray or memoryview
        """Send these bytes in order."""
        if not isinstance(data, _BYTES):
            raise TypeError(f"data must be bytes, not {type(data).__name__}")
        if self._ending and not self._closing:
            raise RuntimeError("cannot write after write_eof()")
        if data and not self._closing:
            size = len(data)
            if not self._buffer and self._in_window + size <= self.net.window_bytes:
                assert self.other is not None
                self._in_window += size
                self.other.carry(bytes(data))
                return
            self._buffer.append(bytes(data))
            self._buffered += size
            self._pump()
            if self._buffered > self._high and not self._writing_paused:
                self._writing_paused = True
                self._protocol.pause_writing()

    def writelines(self, list_of_data: Any) -> None:  # Any: an iterable of what write() takes
        """Send these pieces in order."""
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        """Yes."""
        return True

    def write_eof(self) -> None:
        """End this direction after what is buffered."""
        if not self._closing and not self._ending:
            self._ending = True
            self._pump()

    def close(self) -> None:
        """Send what is buffered, then end the connection."""
        if not self._closing:
            self._closing = self._ending = True
            self._inbox.clear()
            self._pump()

    def abort(self) -> None:
        """End the connection now."""
        if not self._lost:
            self._break(None)
            if self.other is not None:
                self.net.reset(self.other)

    def is_closing(self) -> bool:
        """Whether it is closed or being closed."""
        return self._closing

    def pause_reading(self) -> None:
        """Leave what arrives where it is."""
        self._reading_paused = True

    def resume_reading(self) -> None:
        """Read on."""
        if self._reading_paused:
            self._reading_paused = False
            # A copy, as the protocol is called in the context itself, which cannot be entered twice.
            self.net.loop.call_soon(self._read, context=self._context.copy())

    def is_reading(self) -> bool:
        """Whether it reads."""
        return not self._reading_paused and not self._closing

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """When to pause and resume the protocol, in bytes."""
        self._high = 64 * 1024 if high is None and low is None else (4 * cast(int, low) if high is None else high)
        self._low = self._high // 4 if low is None else low

    def get_write_buffer_size(self) -> int:
        """Bytes not yet under way."""
        return self._buffered

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Low and high."""
        return (self._low, self._high)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Let another protocol take over."""
        self._protocol = cast(asyncio.Protocol, protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Who is told."""
        return self._protocol

    # The way to the other end

    def _pump(self) -> None:
        other = self.other
        assert other is not None
        while self._buffer and self._in_window < self.net.window_bytes:
            piece = self._buffer.popleft()
            space = self.net.window_bytes - self._in_window
            if len(piece) > space:
                self._buffer.appendleft(piece[space:])
                piece = piece[:space]
            self._buffered -= len(piece)
            self._in_window += len(piece)
            other.carry(piece)
        if self._ending and not self._buffer and not self._end_sent:
            self._end_sent = True
            other.carry(_END)
        if self._closing and self._end_sent:
            self._break(None)

    def carry(self, piece: bytes) -> None:
        """Bytes, or the end, are on their way to us: they arrive in the order sent."""
        arrival_s = self.net.loop.time() + self.net.delay_s()
        if self._wire:
            arrival_s = max(arrival_s, self._wire[-1][0])
        self._wire.append((arrival_s, piece))
        if len(self._wire) == 1:
            self.net.call_at(arrival_s, self.arrive)

    def arrive(self) -> None:
        """What has arrived by now is read, unless the network is cut: then it waits for the network to heal."""
        if self.net.holds_back(self):
            return
        now_s = self.net.loop.time()
        while self._wire and self._wire[0][0] <= now_s + 1e-9:
            self._inbox.append(self._wire.popleft()[1])
        if self._wire:
            self.net.call_at(self._wire[0][0], self.arrive)
        self._read()

    def _read(self) -> None:
        while self._inbox and (self._closing or not self._reading_paused):
            if self._closing:
                self._refuse()
                return
            if self._inbox[0] is _END:
                self._inbox.popleft()
                if not self._context.run(self._protocol.eof_received):
                    self.close()
                return
            data = self._inbox.popleft()
            if self._inbox and self._inbox[0] is not _END:
                pieces = [data]
                while self._inbox and self._inbox[0] is not _END:
                    pieces.append(self._inbox.popleft())
                data = b"".join(pieces)
            self.net.note("read", self.remote, self.local, len(data))
            assert self.other is not None
            self.other.was_read(len(data))
            try:
                self._context.run(self._protocol.data_received, data)
            except Exception as error:
                self.net.loop.call_exception_handler({"message": "data_received failed", "exception": error})
                self.abort()

    def loses_what_is_under_way(self) -> None:
        """The other end is gone while the network is cut: nobody sends again what did not arrive."""
        self._wire.clear()

    def _refuse(self) -> None:
        """Bytes came to an end that is closed: the sender is told, as TCP does; its own end is no news."""
        bytes_came = any(piece is not _END for piece in self._inbox)
        self._inbox.clear()
        if bytes_came and self.other is not None:
            self.net.reset(self.other)

    def was_read(self, size: int) -> None:
        """The other end read so many bytes: there is space in the window, for what waits for it in the next turn."""
        if self._buffer or self._writing_paused:
            self.net.loop.call_soon(self._took, size, context=self._context)
        else:
            self._in_window -= size

    def _took(self, size: int) -> None:
        if self._lost:
            return
        self._in_window -= size
        self._pump()
        if self._writing_paused and self._buffered <= self._low and not self._lost:
            self._writing_paused = False
            self._protocol.resume_writing()

    def _break(self, error: Exception | None) -> None:
        if not self._lost:
            self._lost = self._closing = True
            self._buffer.clear()
            self._buffered = 0
            self.net.gone(self)
            self.net.loop.call_soon(self._protocol.connection_lost, error, context=self._context)

    def was_reset(self) -> None:
        """The other end is gone without a goodbye."""
        self._break(ConnectionResetError("connection reset by peer"))

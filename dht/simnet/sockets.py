"""The sockets of a simulated network: what asyncio's transports promise to protocols, over memory.

A stream holds at most ``net.window_bytes`` between a writer and the other side's protocol; while the reader is paused the rest
stays in the writer's transport, which then pauses its protocol, as TCP's window does. Nobody here half-closes a stream.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from enum import Enum
from types import SimpleNamespace
from typing import Any, Protocol, cast

from ..errors import Address

WINDOW_BYTES = 256 * 1024
"""What the two kernels would hold of one direction."""

_END = b""
_BYTES = (bytes, bytearray, memoryview)
"""What a stream takes. Made once: a union of types would be made at each write."""


class Network(Protocol):
    """What sockets ask of the network that carries their bytes."""

    window_bytes: int

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The virtual loop."""

    def record_event(self, kind: str, *facts: object, data: bytes = b"") -> None:
        """Note that something happened, with these bytes."""

    def call_at(self, when_s: float, callback: Callable[..., object], *args: object) -> None:
        """Call back in the context of the network itself."""

    def delay_s(self) -> float:
        """Draw how long the next message takes."""

    def send_datagram(self, sender: SimDatagrams, data: bytes, target: Address) -> None:
        """Carry one datagram, or lose it."""

    def unbind_datagrams(self, transport: SimDatagrams) -> None:
        """Free the port of a datagram socket."""

    def unlisten(self, server: SimServer) -> None:
        """Free the port of a server."""

    def holds_back(self, stream: SimStream) -> bool:
        """Whether what is under way to a stream cannot arrive now; if so, the network calls its ``arrive`` again later."""

    def reset_stream(self, stream: SimStream) -> None:
        """Tell a stream that its other end is gone."""

    def remove_stream(self, stream: SimStream) -> None:
        """Forget a stream that has ended."""


class SimServer(asyncio.AbstractServer):
    """A listening address."""

    def __init__(self, net: Network, factory: Callable[[], asyncio.Protocol], address: Address) -> None:
        self.factory = factory
        self.context = copy_context()
        """In which protocols are made, and called."""
        self.address = address
        self.sockets = (SimpleNamespace(getsockname=lambda: address),)
        self._net = net

    def close(self) -> None:
        """Stop listening; connections stay."""
        self._net.unlisten(self)

    async def wait_closed(self) -> None:
        """Return at once: :meth:`close` has done all."""


class SimDatagrams(asyncio.DatagramTransport):
    """One bound datagram socket."""

    def __init__(self, net: Network, protocol: asyncio.DatagramProtocol, local: Address) -> None:
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


class _State(Enum):
    """A stream's life: OPEN -> CLOSING -> ENDED; a reset or :meth:`SimStream.abort` ends it at once."""

    OPEN = 1
    CLOSING = 2
    """Closed by this side, with bytes in its buffer that still leave."""
    ENDED = 3


class SimStream(asyncio.Transport):
    """One end of a connection, whose protocol is called in the context of whoever has connected, or listens."""

    def __init__(self, net: Network, protocol: asyncio.Protocol, local: Address, remote: Address, context: Context) -> None:
        super().__init__({"sockname": local, "peername": remote})
        self.net = net
        self._context = context
        self.local = local
        self.remote = remote
        self.other: SimStream | None = None
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
        self._state = _State.OPEN

    # What asyncio.Transport promises

    def write(self, data: Any) -> None:  # Any: bytes, bytearray or memoryview
        """Send these bytes in order."""
        if not isinstance(data, _BYTES):
            raise TypeError(f"data must be bytes, not {type(data).__name__}")
        if data and self._state is _State.OPEN:
            size = len(data)
            if not self._buffer and self._in_window + size <= self.net.window_bytes:
                assert self.other is not None
                self._in_window += size
                self.other.put_on_wire(bytes(data))
                return
            self._buffer.append(bytes(data))
            self._buffered += size
            self._fill_window()
            if self._buffered > self._high and not self._writing_paused:
                self._writing_paused = True
                self._protocol.pause_writing()

    def close(self) -> None:
        """Send what is buffered, then end the connection."""
        if self._state is _State.OPEN:
            self._state = _State.CLOSING
            self._inbox.clear()
            self._fill_window()

    def abort(self) -> None:
        """End the connection now."""
        if self._state is not _State.ENDED:
            self._end(None)
            if self.other is not None:
                self.net.reset_stream(self.other)

    def is_closing(self) -> bool:
        """Whether it is closed or being closed."""
        return self._state is not _State.OPEN

    def pause_reading(self) -> None:
        """Leave what arrives where it is."""
        self._reading_paused = True

    def resume_reading(self) -> None:
        """Read on."""
        if self._reading_paused:
            self._reading_paused = False
            # A copy, as the protocol is called in the context itself, which cannot be entered twice.
            self.net.loop.call_soon(self._read_inbox, context=self._context.copy())

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """When to pause and resume the protocol, in bytes."""
        self._high = 64 * 1024 if high is None and low is None else (4 * cast(int, low) if high is None else high)
        self._low = self._high // 4 if low is None else low

    def get_write_buffer_size(self) -> int:
        """Bytes not yet under way."""
        return self._buffered

    # The way to the other end

    def _fill_window(self) -> None:
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
            other.put_on_wire(piece)
        if self._state is _State.CLOSING and not self._buffer:
            other.put_on_wire(_END)
            self._end(None)

    def put_on_wire(self, piece: bytes) -> None:
        """Bytes, or the end, leave for us: they arrive in the order sent."""
        arrival_s = self.net.loop.time() + self.net.delay_s()
        if self._wire:
            arrival_s = max(arrival_s, self._wire[-1][0])
        self._wire.append((arrival_s, piece))
        if len(self._wire) == 1:
            self.net.call_at(arrival_s, self.arrive)

    def arrive(self) -> None:
        """Read what has arrived by now, unless the network is cut: then it waits for the network to heal."""
        if self.net.holds_back(self):
            return
        now_s = self.net.loop.time()
        while self._wire and self._wire[0][0] <= now_s + 1e-9:
            self._inbox.append(self._wire.popleft()[1])
        if self._wire:
            self.net.call_at(self._wire[0][0], self.arrive)
        self._read_inbox()

    def _read_inbox(self) -> None:
        while self._inbox and (self._state is not _State.OPEN or not self._reading_paused):
            if self._state is not _State.OPEN:
                self._refuse_inbox()
                return
            if self._inbox[0] is _END:
                self._inbox.popleft()
                if not self._context.run(self._protocol.eof_received):
                    self.close()
                return
            pieces = []
            while self._inbox and self._inbox[0] is not _END:
                pieces.append(self._inbox.popleft())
            data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            self.net.record_event("read", self.remote, self.local, len(data))
            assert self.other is not None
            self.other.free_window(len(data))
            try:
                self._context.run(self._protocol.data_received, data)
            except Exception as error:
                self.net.loop.call_exception_handler({"message": "data_received failed", "exception": error})
                self.abort()

    def drop_incoming(self) -> None:
        """The other end is gone while the network is cut: nobody sends again what did not arrive."""
        self._wire.clear()

    def _refuse_inbox(self) -> None:
        """Bytes came to an end that is closed: the sender is told, as TCP does; its own end is no news."""
        bytes_came = any(piece is not _END for piece in self._inbox)
        self._inbox.clear()
        if bytes_came and self.other is not None:
            self.net.reset_stream(self.other)

    def free_window(self, size: int) -> None:
        """The other end read so many bytes: there is space in the window, for what waits for it in the next turn."""
        if self._buffer or self._writing_paused:
            self.net.loop.call_soon(self._write_on, size, context=self._context)
        else:
            self._in_window -= size

    def _write_on(self, size: int) -> None:
        if self._has_ended():
            return
        self._in_window -= size
        self._fill_window()
        if self._writing_paused and self._buffered <= self._low and not self._has_ended():
            self._writing_paused = False
            self._protocol.resume_writing()

    def _has_ended(self) -> bool:
        return self._state is _State.ENDED

    def _end(self, error: Exception | None) -> None:
        if self._state is not _State.ENDED:
            self._state = _State.ENDED
            self._buffer.clear()
            self._buffered = 0
            self.net.remove_stream(self)
            self.net.loop.call_soon(self._protocol.connection_lost, error, context=self._context)

    def reset_by_peer(self) -> None:
        """The other end is gone without a goodbye."""
        self._end(ConnectionResetError("connection reset by peer"))

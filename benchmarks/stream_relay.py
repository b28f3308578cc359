"""The floor for Python: a bare asyncio relay of frames. It cuts what publishers send into frames and writes those to subscribers.

The first byte of a connection says what it is: P a publisher, S a subscriber. A frame is a length of four bytes and a payload.
"""

from __future__ import annotations

import asyncio
import sys

import dht
from dht.links.frames import frame


class Relay(asyncio.Protocol):
    """One connection; ``subscribers`` holds those that what publishers send is written to."""

    def __init__(self, subscribers: list[asyncio.Transport]) -> None:
        self._subscribers = subscribers
        self._transport: asyncio.Transport | None = None
        self._framer = dht.Framer()
        self._known = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # a TCP server makes no other transports

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport in self._subscribers:
            self._subscribers.remove(self._transport)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        if not self._known:
            self._known = True
            if data[:1] == b"S":
                self._subscribers.append(self._transport)
                self._transport.write(frame(b"ready"))
            data = data[1:]
        relayed = b"".join([frame(payload) for payload in self._framer.feed(data)])
        for subscriber in self._subscribers:
            subscriber.write(relayed)


async def _serve() -> None:
    subscribers: list[asyncio.Transport] = []
    server = await asyncio.get_running_loop().create_server(lambda: Relay(subscribers), "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


def main() -> None:
    """Serve until killed, with the event loop that peers have."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(_serve())
    else:
        uvloop.run(_serve())


if __name__ == "__main__":
    main()

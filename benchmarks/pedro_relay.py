"""The floor for Python: a bare asyncio line relay. It answers each line 1 and passes it on with a rock, and does nothing else.

The first connection sends lines, the second hears the answers, the third the lines. Reads and writes are batched as the door's are.
"""

from __future__ import annotations

import asyncio
import sys


class Relay(asyncio.Protocol):
    """One of the three connections; ``roles`` holds them in the order in which they came."""

    def __init__(self, roles: list[asyncio.Transport]) -> None:
        self._roles = roles
        self._begun = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._roles.append(transport)  # type: ignore[arg-type]  # a TCP server makes no other transports
        self._roles[-1].write(b"ok\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self._roles.clear()

    def data_received(self, data: bytes) -> None:
        *lines, self._begun = (self._begun + data).split(b"\n")
        _, answers, deliveries = self._roles
        answers.write(b"".join([b"1\n" for _ in lines]))
        deliveries.write(b"".join([b"%d %b\n" % (7, line) for line in lines]))


async def _serve() -> None:
    roles: list[asyncio.Transport] = []
    server = await asyncio.get_running_loop().create_server(lambda: Relay(roles), "127.0.0.1", 0)
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

"""Pedro's door: the three sockets of the original server (facts, section 2), in front of a peer.

    info socket    the port that clients know: tells them the other two
    ack socket     gives a client its id, and later one answer a line
    data socket    takes the id, then lines; deliveries come back here

The rules of the handshake are in handshake.py, those of a connection in session.py; connection.py carries commands out.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from random import SystemRandom
from types import TracebackType
from typing import Self

from gsg.errors import DoorClosed, reason
from gsg.peer import Peer

from .connection import READ_BYTES, Connection
from .dialect import PAPER, Dialect
from .handshake import FAILED, OK, FirstLine, Handshakes, information
from .lines import DEFAULT_SIZE
from .session import Session, acknowledgement

log = logging.getLogger(__name__)

MAX_CLIENTS = 10_000
"""Sockets served at once: info and data connections, those that have not sent their id included. One more is closed at once. Ack
sockets whose client is still to come are bounded by the handshake (``MAX_PENDING`` there)."""
FIRST_LINE_S = 10.0
"""How long a data connection may take to send its id. Ids last a second, so whoever is later is answered FAILED or closed here."""
HELD_HOSTS = 1_000
"""Host names whose address is remembered; at the limit all are forgotten."""


class PedroDoor:
    """Serves Pedro clients; an async context manager.

    ``port`` is the info port, 0 takes a free one; the other two are always free ones. ``size`` limits a line to ``size - 1``
    bytes, its newline included. Entering raises DoorClosed when the port is taken.
    """

    def __init__(
        self, peer: Peer, host: str = "127.0.0.1", port: int = 4550, *, dialect: Dialect = PAPER, size: int = DEFAULT_SIZE
    ) -> None:
        self.host = host
        self.port = port
        self._peer = peer
        self._dialect = dialect
        self._size = size
        self._handshakes = Handshakes(SystemRandom())
        self._half_open: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        """Ack sockets of clients that have not sent their id yet; bounded by Handshakes, which says which to close."""
        self._expiry: asyncio.TimerHandle | None = None
        self._addresses: dict[str, str | None] = {}
        self._servers: list[asyncio.Server] = []
        self._clients: set[asyncio.Task[None]] = set()
        self._group = asyncio.TaskGroup()
        self._ports = (0, 0)

    @property
    def clients(self) -> int:
        """Info and data connections that are being served, those included that have not sent their id yet."""
        return len(self._clients)

    async def __aenter__(self) -> Self:
        try:
            info = await self._listen(self._tell, self.port)
            ack = await self._listen(self._acknowledge, 0)
            data = await self._listen(self._receive, 0)
        except OSError as error:
            for server in self._servers:
                server.close()
            raise DoorClosed(
                f"the pedro door cannot listen on {self.host}:{self.port}: {reason(error)}; "
                "stop the program that holds it or choose another port with --pedro"
            ) from None
        self.port = info
        self._ports = (ack, data)
        await self._group.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for server in self._servers:
            server.close()
        if self._expiry is not None:
            self._expiry.cancel()
        for _, writer in self._half_open.values():
            writer.close()
        for client in list(self._clients):
            client.cancel()
        await self._group.__aexit__(None, None, None)

    async def _listen(
        self, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]], port: int
    ) -> int:
        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if len(self._clients) >= MAX_CLIENTS:
                log.warning("a connection is refused: %d are served already", MAX_CLIENTS)
                writer.transport.abort()
                return
            task = self._group.create_task(self._logging_failure(serve(reader, writer), writer))
            self._clients.add(task)
            task.add_done_callback(self._clients.discard)

        server = await asyncio.start_server(accepted, self.host, port)
        self._servers.append(server)
        bound: int = server.sockets[0].getsockname()[1]
        return bound

    @staticmethod
    async def _logging_failure(work: Coroutine[None, None, None], writer: asyncio.StreamWriter) -> None:
        """One failing connection must not take the door with it."""
        try:
            await work
        except ConnectionError as error:
            log.info("a pedro client is gone: %s", error)
        except Exception:
            log.exception("a pedro connection failed")
            writer.transport.abort()

    async def _tell(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The address that the client dialled is one that it can reach, also where the door listens at all of them.
        writer.write(information(writer.get_extra_info("sockname")[0], *self._ports))
        writer.close()
        await writer.wait_closed()

    async def _acknowledge(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        now = asyncio.get_running_loop().time()
        client = self._handshakes.begin(now)
        self._half_open[client] = (reader, writer)
        self._expire()
        writer.write(acknowledgement(client))

    def _expire(self) -> None:
        """Close the ack sockets whose second is over, and wake up for the next."""
        loop = asyncio.get_running_loop()
        for client in self._handshakes.expired(loop.time()):
            self._half_open.pop(client)[1].close()
        soonest = self._handshakes.next_expiry()
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry = None if soonest is None else loop.call_at(soonest, self._expire)

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ack: asyncio.StreamWriter | None = None
        try:
            found = await self._first_line(reader)
            if found is None:
                return
            line, rest = found
            client = self._handshakes.finish(line, asyncio.get_running_loop().time())
            if client is not None:
                ack_reader, ack = self._half_open.pop(client)
            if ack is None or ack.is_closing():
                writer.write(FAILED)
                return
            writer.write(OK)
            session = Session(ack.get_extra_info("peername")[0], dialect=self._dialect, size=self._size)
            connection = Connection(session, self._peer, self._resolve, writer, ack)
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(_end_with(ack_reader, writer))
                await connection.serve(reader, rest)
                watching.cancel()
        finally:
            writer.close()
            if ack is not None:
                ack.close()

    @staticmethod
    async def _first_line(reader: asyncio.StreamReader) -> tuple[bytes, bytes] | None:
        """The id and the bytes after it, or None from a client that leaves or stays silent."""
        first = FirstLine()
        found: tuple[bytes, bytes] | None = None
        try:
            async with asyncio.timeout(FIRST_LINE_S):
                while found is None:
                    received = await reader.read(64)
                    if not received:
                        return None
                    found = first.feed(received)
        except TimeoutError:
            log.info("a pedro client has not sent its id within %g seconds: closed", FIRST_LINE_S)
        return found

    async def _resolve(self, host: str) -> str | None:
        """The address of a host name, asked of the system without blocking and remembered."""
        if host not in self._addresses:
            if len(self._addresses) >= HELD_HOSTS:
                self._addresses.clear()
            try:
                found = await asyncio.get_running_loop().getaddrinfo(host, None, family=socket.AF_INET, type=socket.SOCK_STREAM)
                self._addresses[host] = str(found[0][4][0])
            except (OSError, UnicodeError):
                self._addresses[host] = None
        return self._addresses[host]


async def _end_with(ack: asyncio.StreamReader, data: asyncio.StreamWriter) -> None:
    """Clients say nothing on their ack socket; when they close it, the data socket is closed too, which ends the connection."""
    try:
        while await ack.read(READ_BYTES):
            pass
    except ConnectionError:
        pass
    data.transport.abort()

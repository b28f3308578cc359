"""How a client reaches a door: the three sockets of the protocol, opened in their order.

A line knows when it has ended without being read from or written to: its sockets tell it, so that who waits for nothing else
may wait for that.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from dataclasses import dataclass
from ssl import SSLContext, SSLError
from typing import TypeAlias

from gsg.doors.refusals import why_no_tls
from gsg.errors import PeerMisbehaved, PeerUnreachable, Refused, reason

from ..door.access import checked_secret, secret_line
from .client_lines import Delivery, delivery_of

MAX_LINE_BYTES = 16 * 1024 * 1024
"""The longest delivery that is read."""
MAX_TOLD_BYTES = 64 * 1024
"""The longest line of the handshake, and the longest answer, that is read."""

CLOSE_S = 2.0
"""How long a door that speaks TLS may take to say that it has heard that a client leaves; its socket is cut off then."""

KEEP_ALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""A door whose machine vanished without a word is noticed after a minute, where the system lets a socket say so."""

_TOLD = re.compile(rb"([!-~]{1,253}) ([0-9]{1,5}) ([0-9]{1,5})\r?\n")


class _Watched(asyncio.StreamReaderProtocol):
    """A socket that says when its other side has left, or it is gone."""

    def __init__(self, reader: asyncio.StreamReader, ended: asyncio.Event) -> None:
        super().__init__(reader)
        self._ended = ended

    def eof_received(self) -> bool | None:
        self._ended.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended.set()
        super().connection_lost(exc)


def _keep_alive(raw: socket.socket) -> None:
    with contextlib.suppress(OSError):  # a socket that was closed as it came needs no keeping
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEP_ALIVE.items():
            if hasattr(socket, name):
                raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


_Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class ClientTls:
    """What a client speaks TLS with: whom it trusts, and the host that the door's certificate is to be of, which is the one that
    the caller has named: the address of the other two sockets comes from the door itself."""

    context: SSLContext
    host: str


async def _connect(
    host: str, port: int, ended: asyncio.Event, opened: list[_Streams], tls: ClientTls | None, *, limit: int = MAX_TOLD_BYTES
) -> _Streams:
    """Connect, and add the streams to those that were opened. Raises OSError."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit, loop=loop)
    transport, protocol = await loop.create_connection(
        lambda: _Watched(reader, ended),
        host,
        port,
        ssl=None if tls is None else tls.context,
        server_hostname=None if tls is None else tls.host,
    )
    raw = transport.get_extra_info("socket")
    if raw is not None:  # a simulated network has none
        _keep_alive(raw)
    opened.append((reader, asyncio.StreamWriter(transport, protocol, reader, loop)))
    return opened[-1]


def _leave(writer: asyncio.StreamWriter) -> None:
    """Close a socket on which nothing is to be said any more. One of TLS would wait for the door to take leave as well."""
    if writer.get_extra_info("sslcontext") is None:
        writer.close()
    else:
        writer.transport.abort()


class Line:
    """An open connection to a door: lines go out and are answered in order, deliveries come in."""

    def __init__(self, where: str, acks: _Streams, data: _Streams, ended: asyncio.Event) -> None:
        self._where = where
        self._acks, self._ack_writer = acks
        self._data, self._data_writer = data
        self.ended = ended
        """Set once either side has left; deliveries that came before may still be unread."""
        self.replaced = asyncio.Event()
        """Set by this line's owner, once it has another one in its place, or will have none."""
        self._answering = asyncio.Lock()
        """Answers carry no number: they come in the order of the lines, and asyncio's locks are given in the order asked for."""

    @property
    def own_host(self) -> str:
        """This end's address, as the door sees it: the host of a name that is registered here."""
        host: str = self._ack_writer.get_extra_info("sockname")[0]
        return host

    @property
    def is_read(self) -> bool:
        """Whether the door has left, and nothing that it delivered before is unread."""
        return self._data.at_eof()

    async def ask(self, text: str) -> int:
        """Send a line at once, and wait for its answer, which comes after those of the lines before it.

        Raises PeerUnreachable when the connection is lost before, PeerMisbehaved when the answer is no number. After either, and
        when it is cancelled, the line is closed: an answer that nobody waits for would be taken for that of the next line.
        """
        try:
            self._data_writer.write(text.encode() + b"\n")
            async with self._answering:
                await self._data_writer.drain()
                answer = await self._acks.readline()
            if not answer.endswith(b"\n"):
                raise ConnectionError("it has closed the connection")
            return int(answer)
        except BaseException as error:
            self.close()
            if isinstance(error, ConnectionError):
                raise PeerUnreachable(f"the pedro door at {self._where} is gone: {error}") from None
            if isinstance(error, ValueError):
                raise misbehaved(self._where, error) from None
            raise

    async def delivery(self) -> Delivery | None:
        """The next delivery; None when there will be none, because either side has left.

        Raises PeerMisbehaved for a line that is no delivery.
        """
        try:
            received = await self._data.readline()
            return delivery_of(received) if received.endswith(b"\n") else None
        except ConnectionError:
            return None
        except ValueError as error:
            raise misbehaved(self._where, error) from None

    def close(self) -> None:
        """Leave. Closing twice is allowed."""
        self.ended.set()
        self._data_writer.close()
        self._ack_writer.close()

    async def wait_closed(self) -> None:
        """Until both sides have taken leave, as TLS has it, CLOSE_S at most; at once without TLS, which has no leave to take."""
        for writer in (self._data_writer, self._ack_writer):
            if writer.get_extra_info("sslcontext") is None:
                continue
            try:
                async with asyncio.timeout(CLOSE_S):
                    await writer.wait_closed()
            except (OSError, TimeoutError):
                writer.transport.abort()


def misbehaved(where: str, error: Exception) -> PeerMisbehaved:
    """What answers there does not speak the protocol."""
    return PeerMisbehaved(f"the pedro door at {where} sent what is not Pedro's protocol: {error}")


def told_by(said: bytes, where: str) -> tuple[str, int, int]:
    """The host and the two ports that an info port tells. Raises PeerMisbehaved for what is something else, PeerUnreachable for
    nothing: a door that is full, or about to stop, leaves without a word.
    """
    if not said:
        raise PeerUnreachable(
            f"the pedro door at {where} has closed the connection without a word; try again when it "
            "serves fewer, or with a certificate where it speaks TLS and asks for one"
        )
    found = _TOLD.fullmatch(said)
    if found is None or not 0 < int(found[2]) < 65536 or not 0 < int(found[3]) < 65536:
        raise PeerMisbehaved(f"{where} said {said[:80]!r}; expected a host and two ports: is it a Pedro info port?")
    return found[1].decode(), int(found[2]), int(found[3])


async def dial(host: str, port: int, secret: str | None = None, *, connect_s: float, tls: SSLContext | None = None) -> Line:
    """Connect to the door whose info port this is, over TLS where that is given, and say the secret where one is.

    Raises PeerUnreachable when nobody answers there or the client is not accepted, PeerMisbehaved when what answers is no Pedro
    server, or leaves the client waiting for more than ``connect_s``, Refused when the secret is not that of the door, or the door
    asks for none.
    """
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    opened: list[_Streams] = []
    try:
        async with asyncio.timeout(connect_s) as limit:
            return await _dial(host, port, secret, where, opened, None if tls is None else ClientTls(tls, host))
    except BaseException as error:
        for _, writer in opened:
            _leave(writer)
        if isinstance(error, TimeoutError) and limit.expired():
            if not opened:
                raise PeerUnreachable(f"no pedro door answers at {where} within {connect_s:g} s") from None
            raise PeerMisbehaved(
                f"{where} accepts connections and has not said within {connect_s:g} s what a pedro door says; "
                "expected a host and two ports, a number and ok: is it a Pedro info port, and not one that speaks TLS (tls=)?"
            ) from None
        if isinstance(error, SSLError):
            raise PeerUnreachable(why_no_tls(where, error)) from None
        if isinstance(error, OSError):
            raise PeerUnreachable(f"no pedro door answers at {where}: {reason(error)}") from None
        if isinstance(error, ValueError | OverflowError):
            raise misbehaved(where, error) from None
        raise


async def _dial(host: str, port: int, secret: str | None, where: str, opened: list[_Streams], tls: ClientTls | None) -> Line:
    told, info_writer = await _connect(host, port, asyncio.Event(), opened, tls)
    server, ack_port, data_port = told_by(await told.readline(), where)
    _leave(info_writer)
    ended = asyncio.Event()
    try:
        acks = await _connect(server, ack_port, ended, opened, tls)
        client = await acks[0].readline()
        data = received, writer = await _connect(server, data_port, ended, opened, tls, limit=MAX_LINE_BYTES)
    except socket.gaierror:
        raise PeerMisbehaved(
            f"{where} names the host {server!r}, which has no address; expected one to connect to: is it a Pedro info port?"
        ) from None
    writer.write(client)
    said = await received.readline()
    if said != b"ok\n":
        raise PeerUnreachable(f"the pedro door at {where} did not accept this client: {said!r}")
    line = Line(where, acks, data, ended)
    if secret is not None and not await line.ask(secret_line(checked_secret(secret))):
        raise Refused(f"the pedro door at {where} does not take this secret: it has another one, or asks for none")
    return line

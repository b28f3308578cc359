"""Uvicorn as the HTTP door needs it: what it knows of each connection is told to connections.py, which ends some.

Uvicorn closes a connection by asking its transport to, which waits for the client to read; it has no time for the first request, no
limit to WebSockets, and does not say of whom it complains.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from dht.errors import show
from dht.links.handles import HANDLES
from dht.liveness.late_timers import late_s
from dht.log_rate import LogRate

from ...doors.handshakes import Handshakes, NoHandshakes
from .connections import Connection, Connections
from .gathered_writes import GatheredWrites

if TYPE_CHECKING:
    from websockets.frames import Frame

log = logging.getLogger(__name__)
_invalid = LogRate(log)
_refused = LogRate(log)

MAX_FRAGMENTS = 65_536
"""Frames of one message: their bytes do not bound them where they are empty. More end the connection."""
MAX_HEAD_BYTES = 64 * 1024
"""Of a request: a longer head is answered 431 (RFC 6585, section 5)."""
HEAD_TOO_LONG = f"its head is longer than {MAX_HEAD_BYTES:,} bytes; expected fewer or shorter headers"
_WHY = {"Receive buffer too long": HEAD_TOO_LONG}
"""What h11 says, where that is not understood by itself."""
REFUSAL = "refusal"
"""Under which name the state of a request has why it is not served."""


class Server(uvicorn.Server):
    """Leaves signals to the program that it runs in, and calls ``sweep`` once a second."""

    def __init__(self, config: uvicorn.Config, sweep: Callable[[], None]) -> None:
        super().__init__(config)
        self._sweep = sweep

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Captures none."""
        yield

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        if counter % 10 == 0:
            self._sweep()
        return await super().on_tick(counter)


def protocols(
    connections: Connections, handshakes: Handshakes | NoHandshakes
) -> tuple[type[asyncio.Protocol], type[asyncio.Protocol]]:
    """The protocols of HTTP and of WebSockets whose connections are these, once their handshakes are over."""

    class Http(_Http):
        watched = connections

    class WebSocket(_WebSocket):
        watched = connections

    def accept(**options: Any) -> asyncio.Protocol:  # Any: as in uvicorn
        return handshakes.protocol(lambda: Http(**options))

    # Uvicorn makes the protocol of each connection by calling this, and knows nothing of TLS.
    return cast(type[asyncio.Protocol], accept), WebSocket


class _Http(H11Protocol):
    """HTTP until a WebSocket takes over its transport."""

    watched: Connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self.connection = Connection(transport, self._end, _client(self))
        problem = self.watched.open(self.connection, handles_beyond=HANDLES.beyond(), no_handles=HANDLES.problem())
        if problem:
            _refused.warning(
                "the HTTP door cannot serve all who connect, now from %s: %s", _client(self), problem, client=_client(self)
            )
        if self.connection.refusal:
            self.app_state = {**self.app_state, REFUSAL: self.connection.refusal}

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and self.cycle is not None and not self.cycle.response_complete:
            self.watched.asked(self.connection)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self.watched.asked(self.connection)
        self.connection.is_websocket = True
        # What asyncio tells the WebSocket's protocol from now on is of the same connection.
        self.app_state = {**self.app_state, _CONNECTION: self.connection}
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        self.watched.answered(self.connection)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self.watched.closed(self.connection)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        # Uvicorn says the same of everything; h11, which raised this, knows what is wrong.
        problem = sys.exception()
        why = _WHY.get(str(problem), str(problem).lower()) if isinstance(problem, h11.RemoteProtocolError) else msg
        _invalid.warning("what comes from %s is no HTTP request: closed (%s)", _client(self), why, client=_client(self))
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            status = 431 if why == HEAD_TOO_LONG else 400
            self.transport.write(_response(status, f"no HTTP request: {why}"))
        self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        log.debug("%s asks for another upgrade than to a WebSocket: answered as if it had not", _client(self))

    def _end(self, status: int, reason: str) -> None:
        if self.transport.is_closing():
            return
        begun = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if self.cycle is None and (begun or status == 503):
            self.transport.write(_response(status, reason))
        self.transport.close()


_CONNECTION = "connection"
"""Under which name the state of a request has its connection."""


class _WebSocket(WebSocketsSansIOProtocol):
    """A WebSocket."""

    watched: Connections

    def __init__(self, config: uvicorn.Config, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        # Any: as in uvicorn
        self.connection: Connection = app_state.pop(_CONNECTION)
        super().__init__(config, server_state, app_state, _loop)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(cast(asyncio.Transport, GatheredWrites(transport)))

    def connection_lost(self, exc: Exception | None) -> None:
        self.watched.closed(self.connection)
        super().connection_lost(exc)

    def handle_ping(self) -> None:
        pong = b"".join(self.conn.data_to_send())
        # A client that asks without reading the answers gets none of them (RFC 6455, section 5.5.3, asks for the latest alone).
        if self.writable.is_set():
            self.transport.write(pong)

    def handle_cont(self, event: Frame) -> None:
        if self.close_sent:
            return
        if len(self.frames) >= MAX_FRAGMENTS:
            self.conn.fail(1009, f"a message of more than {MAX_FRAGMENTS} frames")
            self.handle_parser_exception()
            return
        super().handle_cont(event)

    def keepalive_timeout(self) -> None:
        # Its answer may wait to be read: this side was stopped, or has enough to do with what the client has asked for.
        if late_s(self.ping_sent_at + (self.ping_timeout or 0.0)) or (self.read_paused and self.writable.is_set()):
            self.pong_timer = None
            self.pending_ping_payload = None
            self.schedule_ping()
            return
        super().keepalive_timeout()

    def handle_parser_exception(self) -> None:
        sent = self.conn.close_sent
        client = _client(self)
        _invalid.warning(
            "what comes from the client at %s breaks the protocol of WebSockets: closed (%s)", client, sent, client=client
        )
        super().handle_parser_exception()


def _client(protocol: _Http | _WebSocket) -> str:
    return show(*protocol.client) if protocol.client else "nowhere"


def _response(status: int, reason: str) -> bytes:
    body = f"{reason}\n".encode()
    return (
        b"HTTP/1.1 %d %b\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        % (status, HTTPStatus(status).phrase.encode(), len(body))
    ) + body

"""The HTTP server of a peer; what it does is in the table of application.py, and what every request passes first in gate.py."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Iterable
from ipaddress import ip_address
from types import TracebackType
from typing import Self

import uvicorn
from starlette.websockets import WebSocket

from dht.errors import show
from dht.log_rate import LogRate

from ..doors.handshakes import handshakes_of
from ..doors.tls import DoorTls
from ..errors import DoorClosed, reason
from ..peer import Peer
from ..subscriptions.backlog import Pool
from ..wire.door_urls import check_advertised
from ..wire.status_messages import Count
from .access.authentication import Authentication
from .access.principals import principal_of
from .access.tokens import TokenFile
from .application import application, operations
from .gate import Gate
from .json.form import SUBPROTOCOL, Objects
from .json.streams import Streams
from .operations import Services, allowance_of, client_of
from .protocol import MAX_MESSAGE_BYTES
from .serving.bodies import Bodies
from .serving.clients import Clients
from .serving.connections import CLOSE_SWEEPS, Connection, Connections
from .serving.hosts import Hosts
from .serving.server import MAX_HEAD_BYTES, Server, protocols
from .websocket.channel_subscription import PeerChannel
from .websocket.session import Session

log = logging.getLogger(__name__)
_cut_off = LogRate(log)

BACKLOG = 128
MAX_CLIENTS = 1_000
"""WebSockets and streams served at once; one more is answered 503."""
UNREAD_BYTES = 256 * 1024 * 1024
"""Bytes of rows that wait for all clients together: beyond, the longest backlogs make room (:mod:`gsg.subscriptions.backlog`)."""
CLOSE_S = CLOSE_SWEEPS
"""How long leaving waits for clients to take what was sent before their connections are cut."""

PING_S = 20
"""How often a client is asked whether it lives, and how long it may take to answer: one that answers nothing is cut off, CLOSE_S
later at the latest."""


class _TrueAlarms(logging.Filter):
    """Drops what uvicorn says, as of an error, of a WebSocket that was answered with an HTTP response, although ASGI allows it, and
    of requests that it cancels CLOSE_S after the door has begun to close: their clients are told that the peer has stopped; and
    what it says of strangers without their address, as server.py says it with that."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log it."""
        if record.exc_info and record.exc_info[0] is asyncio.CancelledError:
            return False
        return not record.getMessage().startswith(("ASGI callable returned without completing handshake", "Cancel ", "Invalid "))


_TRUE_ALARMS = _TrueAlarms()


class HttpDoor:
    """Serves one peer; an async context manager. Port 0 takes a free one; entering raises DoorClosed when the port is taken.

    ``names``: what the peer's host is called besides its addresses, ``localhost`` and ``host``: no page by another name is served.
    ``advertise``: the URL that clients of other peers are told, where that is not the address that the door is bound to.
    ``tokens``: who may do what; without them anybody may do anything, which a door beyond loopback has to be told by
    ``open_to_all``, or entering raises DoorClosed. ``origins``: the pages of other hosts that may talk to it. ``tls``: what it
    speaks HTTPS with; without it, HTTP in plain text.
    Raises LocalError for a name, an origin or a URL that is none, and for files that hold no certificate.
    """

    def __init__(
        self,
        peer: Peer,
        host: str = "127.0.0.1",
        port: int = 8470,
        *,
        names: Iterable[str] = (),
        advertise: str | None = None,
        tokens: TokenFile | None = None,
        open_to_all: bool = False,
        origins: Iterable[str] = (),
        tls: DoorTls | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self._peer = peer
        self._tls = tls
        self._handshakes = handshakes_of(tls, "HTTP")
        hosts = Hosts(host, names, origins, scheme=self._scheme)
        self._advertise = None if advertise is None else check_advertised(advertise)
        self._connections = Connections(self._ended)
        unread = Pool(UNREAD_BYTES)
        self._tokens = tokens
        self._open_to_all = open_to_all
        self._authentication = Authentication(tokens, time.monotonic)
        self._services = Services(
            peer,
            PeerChannel(peer),
            unread,
            Clients(MAX_CLIENTS, self._authentication.check_still_valid),
            Bodies(),
            self._authentication,
            Streams(unread),
        )
        self._socket: socket.socket | None = None
        self._group = asyncio.TaskGroup()
        self._lost = 0
        """Clients that ended without a goodbye, or did not read."""
        self._gate = Gate(
            application(operations(self._services), self._serve_websocket),
            hosts,
            self._authentication,
            self._services.clients,
            peer,
        )
        http, websocket = protocols(self._connections, self._handshakes)
        config = uvicorn.Config(
            self._gate,
            log_config=None,
            http=http,
            ws=websocket,
            access_log=False,
            # Whoever connects is the client: what it says of others, as of a proxy before it, anybody could say.
            proxy_headers=False,
            lifespan="off",
            ws_max_size=MAX_MESSAGE_BYTES,
            h11_max_incomplete_event_size=MAX_HEAD_BYTES,
            # Tuples hardly shrink, and compressing them costs more than the rest of the door together.
            ws_per_message_deflate=False,
            ws_ping_interval=PING_S,
            ws_ping_timeout=PING_S,
            timeout_graceful_shutdown=CLOSE_S,
        )
        self._server = Server(config, self._sweep)
        logging.getLogger("uvicorn.error").addFilter(_TRUE_ALARMS)  # once, however many doors there are

    @property
    def _scheme(self) -> str:
        return "http" if self._tls is None else "https"

    @property
    def url(self) -> str:
        """Where clients find the door."""
        return f"{self._scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    async def __aenter__(self) -> Self:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((self.host, self.port))
            listening.listen(BACKLOG)
        except OSError as error:
            listening.close()
            raise DoorClosed(
                f"the HTTP door cannot listen on {show(self.host, self.port)}: {reason(error)}; "
                "stop the program that holds it or choose another port with --http"
            ) from None
        is_loopback = ip_address(listening.getsockname()[0]).is_loopback
        if not (is_loopback or self._is_locked or self._open_to_all):
            listening.close()
            raise DoorClosed(
                f"the HTTP door at {show(self.host, self.port)} would let all who reach it do what the peer may; say who may come "
                "with --http-token-file FILE or --http-client-ca FILE, or bind it to loopback with --http 127.0.0.1:PORT; with "
                "--http-open it serves everybody"
            )
        listening.setblocking(False)
        self.port = listening.getsockname()[1]
        self._authentication.cookie = f"gsg-{self.port}"
        self._socket = listening
        await self._group.__aenter__()
        await self._handshakes.__aenter__()
        self._group.create_task(self._server.serve(sockets=[listening]))
        self._peer.counters.add(self._counted)
        with contextlib.suppress(DoorClosed):  # of a peer that was stopped before, which the door then tells
            self._peer.known_doors.open(self._advertise or self.url)
        self._peer.doors.add("http", lambda: self._server.started)
        if not is_loopback:
            self._warn()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._socket is not None, "entered before left"
        self._server.should_exit = True
        self._services.clients.close_streams()
        with contextlib.suppress(DoorClosed):
            self._peer.known_doors.close(self._advertise or self.url)
        self._peer.doors.remove("http")
        with contextlib.suppress(ValueError):  # leaving twice is allowed
            self._peer.counters.remove(self._counted)
        try:
            await self._handshakes.__aexit__(None, None, None)
            # The caller's own error is the caller's: the group is to wait for the server, not to wrap it.
            await self._group.__aexit__(None, None, None)
        finally:
            self._connections.abort_all()
            self._socket.close()
            await self._services.streams.close_all()
            await self._services.channel.close()

    def _counted(self) -> list[Count]:
        return [
            Count("http_clients_lost", self._lost),
            Count("http_connections_refused", self._connections.refused),
            Count("http_handshakes_failed", self._handshakes.failed),
            Count("http_requests_refused", self._gate.refused),
            Count("http_token_file_stale", int(self._tokens is not None and self._tokens.is_stale)),
            Count("http_tokens_refused", self._authentication.refused),
        ]

    @property
    def _is_locked(self) -> bool:
        """Whether it knows whom it serves: by tokens, or by certificates."""
        return self._authentication.asks or (self._tls is not None and self._tls.client_ca is not None)

    def _warn(self) -> None:
        """Say what a door beyond loopback lacks."""
        if not self._is_locked:
            log.warning(
                "the HTTP door at %s serves whoever reaches it, without a token%s, all that the peer may do, as --http-open says; "
                "let a packet filter or a network of your own keep others out",
                show(self.host, self.port),
                " and in plain text" if self._tls is None else "",
            )
        elif self._tls is None:
            log.warning(
                "tokens and tuples go to the HTTP door at %s in plain text: whoever is on the way can read and use them; "
                "--http-cert and --http-key cipher them (`gsg cert DIR` makes both)",
                show(self.host, self.port),
            )

    def _sweep(self) -> None:
        """A second has passed."""
        self._connections.sweep()
        if self._tokens is not None:
            self._tokens.refresh()
            self._services.clients.end_where_invalid()

    def _ended(self, connection: Connection, died_of: str) -> None:
        """The sweep cuts a connection off. A WebSocket's session counts itself, as one that has ended without a goodbye."""
        self._lost += not connection.is_websocket
        _cut_off.warning("a client at %s is cut off: it %s", connection.client, died_of, client=connection.client)

    async def _serve_websocket(self, websocket: WebSocket) -> None:
        services, principal = self._services, principal_of(websocket.scope)
        with services.clients.one_more(principal, is_stream=False) as place:
            session = Session(
                services.peer,
                websocket,
                client_of(websocket),
                channel=services.channel,
                unread=services.unread,
                form=Objects() if SUBPROTOCOL in websocket.scope.get("subprotocols", ()) else None,
                principal=principal,
                allowance=allowance_of(services, websocket),
                place=place,
            )
            await session.serve()
            self._lost += session.lost

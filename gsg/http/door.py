"""The HTTP server of a peer: WebSocket at ``/v1``, status as JSON at ``/status``."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from dht.errors import show

from ..errors import DoorClosed, reason
from ..messages import Count
from ..peer import Peer
from .protocol import MAX_MESSAGE_BYTES
from .session import Session, report

log = logging.getLogger(__name__)

BACKLOG = 128
MAX_CLIENTS = 1_000
"""WebSockets served at once; one more is answered 503."""
CLOSE_S = 3
"""How long leaving waits for clients to take what was sent before their connections are cut."""

PING_S = 20
"""How often a client is asked whether it lives, and how long it may take to answer: one that answers nothing is cut off."""

_ABOUT = """A peer of the Global Semantic Graph router.

GET /status      how this peer and those it knows are doing, as JSON
WebSocket /v1    publish and subscribe; use the command gsg, or gsg.connect() in Python
"""


class _TrueAlarms(logging.Filter):
    """Drops what uvicorn says, as of an error, of a WebSocket that was answered with an HTTP response, although ASGI allows it, and
    of requests that it cancels CLOSE_S after the door has begun to close: their clients are told that the peer has stopped."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log it."""
        if record.exc_info and record.exc_info[0] is asyncio.CancelledError:
            return False
        return not record.getMessage().startswith(("ASGI callable returned without completing handshake", "Cancel "))


_TRUE_ALARMS = _TrueAlarms()


class _Server(uvicorn.Server):
    """Leaves signals to the program that it runs in."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpDoor:
    """Serves one peer; an async context manager. Port 0 takes a free one; entering raises DoorClosed when the port is taken."""

    def __init__(self, peer: Peer, host: str = "127.0.0.1", port: int = 8470) -> None:
        self.host = host
        self.port = port
        self._peer = peer
        self._socket: socket.socket | None = None
        self._group = asyncio.TaskGroup()
        self._clients = 0
        self._lost = 0
        """Clients that ended without a goodbye."""
        config = uvicorn.Config(
            self._application(),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws_max_size=MAX_MESSAGE_BYTES,
            # Tuples hardly shrink, and compressing them costs more than the rest of the door together.
            ws_per_message_deflate=False,
            ws_ping_interval=PING_S,
            ws_ping_timeout=PING_S,
            timeout_graceful_shutdown=CLOSE_S,
        )
        self._server = _Server(config)
        logging.getLogger("uvicorn.error").addFilter(_TRUE_ALARMS)  # once, however many doors there are

    @property
    def url(self) -> str:
        """Where clients find the door."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

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
        listening.setblocking(False)
        self.port = listening.getsockname()[1]
        self._socket = listening
        await self._group.__aenter__()
        self._group.create_task(self._server.serve(sockets=[listening]))
        self._peer.counters.add(self._counted)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._socket is not None, "entered before left"
        self._server.should_exit = True
        with contextlib.suppress(ValueError):  # leaving twice is allowed
            self._peer.counters.remove(self._counted)
        try:
            # The caller's own error is the caller's: the group is to wait for the server, not to wrap it.
            await self._group.__aexit__(None, None, None)
        finally:
            self._socket.close()

    def _counted(self) -> list[Count]:
        return [Count("http_clients_lost", self._lost)]

    def _refusal(self, websocket: WebSocket) -> Response | None:
        # Browsers let any page open a WebSocket to the loopback and say in Origin which it is (RFC 6455, section 10.2).
        origin = websocket.headers.get("origin")
        host = websocket.headers.get("host", "")
        if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            return PlainTextResponse(f"a page of {origin} may not talk to the peer at {host}\n", 403)
        if self._clients >= MAX_CLIENTS:
            return PlainTextResponse(f"{MAX_CLIENTS} clients are served already; try again later\n", 503)
        return None

    def _application(self) -> Starlette:
        async def about(_: Request) -> Response:
            return PlainTextResponse(_ABOUT)

        async def status(_: Request) -> Response:
            answer = await report(0, self._peer)
            return Response(msgspec.json.encode(answer.as_dict()), media_type="application/json")

        async def clients(websocket: WebSocket) -> None:
            refusal = self._refusal(websocket)
            if refusal is not None:
                log.warning("a client is refused: %s", bytes(refusal.body).decode().strip())
                with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it has left
                    await websocket.send_denial_response(refusal)
                return
            self._clients += 1
            try:
                caller = websocket.client
                client = "" if caller is None else f"{caller.host}:{caller.port}"
                session = Session(self._peer, websocket, client)
                await session.serve()
                self._lost += session.lost
            finally:
                self._clients -= 1

        return Starlette(
            routes=[Route("/", about), Route("/status", status), WebSocketRoute("/v1", clients)],
        )

"""The HTTP server of a peer: WebSocket at ``/v1``, status as JSON at ``/status``."""

from __future__ import annotations

import asyncio
import contextlib
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
from starlette.websockets import WebSocket

from ..errors import DoorClosed, reason
from ..peer import Peer
from .protocol import MAX_MESSAGE_BYTES
from .session import Session, report

BACKLOG = 128
CLOSE_S = 3
"""How long leaving waits for clients to take what was sent before their connections are cut."""

_ABOUT = """A peer of the Global Semantic Graph router.

GET /status      how this peer and those it knows are doing, as JSON
WebSocket /v1    publish and subscribe; use the command gsg, or gsg.connect() in Python
"""


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
        self._task: asyncio.Task[None] | None = None
        config = uvicorn.Config(
            self._application(),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws_max_size=MAX_MESSAGE_BYTES,
            # Tuples hardly shrink, and compressing them costs more than the rest of the door together.
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=CLOSE_S,
        )
        self._server = _Server(config)

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
                f"the HTTP door cannot listen on {self.host}:{self.port}: {reason(error)}; "
                "stop the program that holds it or choose another port with --http"
            ) from None
        listening.setblocking(False)
        self.port = listening.getsockname()[1]
        self._socket = listening
        self._task = asyncio.get_running_loop().create_task(self._server.serve(sockets=[listening]))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._task is not None, "entered before left"
        assert self._socket is not None, "entered before left"
        self._server.should_exit = True
        try:
            await self._task
        finally:
            self._socket.close()

    def _application(self) -> Starlette:
        async def about(_: Request) -> Response:
            return PlainTextResponse(_ABOUT)

        async def status(_: Request) -> Response:
            answer = await report(0, self._peer)
            return Response(msgspec.json.encode(answer.as_dict()), media_type="application/json")

        async def clients(websocket: WebSocket) -> None:
            await Session(self._peer, websocket).serve()

        return Starlette(
            routes=[Route("/", about), Route("/status", status), WebSocketRoute("/v1", clients)],
        )

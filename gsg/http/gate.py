"""What every request passes before it is answered: whether there is a place for it, whether it was meant for this peer
(serving/hosts.py), and who asks (access/authentication.py)."""

from __future__ import annotations

import contextlib
import logging

from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from dht.errors import show
from dht.log_rate import LogRate

from ..errors import AccessDenied
from ..peer import Peer
from .access.authentication import Authentication
from .access.principals import NOBODY, SHOW_ONE, set_principal
from .problems import problem_of
from .serving.clients import Clients
from .serving.hosts import Hosts, Refusal
from .serving.server import REFUSAL

log = logging.getLogger(__name__)


class Gate:
    """An ASGI application before another one, which serves only what is let in; ``refused`` counts what is not."""

    def __init__(self, application: ASGIApp, hosts: Hosts, authentication: Authentication, clients: Clients, peer: Peer) -> None:
        self._hosts = hosts
        self._authentication = authentication
        self._clients = clients
        self._peer = peer
        self._application = application
        self._served = self._for_pages(self._authenticated)
        self.refused = 0
        self._refusals = LogRate(log)
        self._denials = LogRate(log)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or say why not."""
        refusal = self._refusal(scope)
        if refusal is None:
            with self._within_trace(scope):
                await self._served(scope, receive, send)
            return
        self.refused += 1
        client = _client_of(scope)
        self._refusals.warning("a client at %s is refused: %s", client, refusal.reason, client=client)
        response = PlainTextResponse(f"{refusal.reason}\n", refusal.status, headers={"connection": "close"})
        await _answer_instead(response, scope, receive, send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        problem = scope["state"].get(REFUSAL)
        if problem is not None:
            return Refusal(503, problem)
        refusal = self._hosts.refusal(scope["raw_path"], scope["headers"])
        if refusal is None and scope["type"] == "websocket" and self._clients.refusal:
            return Refusal(503, self._clients.refusal)
        return refusal

    def _within_trace(self, scope: Scope) -> contextlib.AbstractContextManager[None]:
        """What a request publishes belongs to the trace that its headers name, if they do (https://www.w3.org/TR/trace-context/)."""
        if scope["type"] == "http" and (spans := self._peer.spans).are_made:
            headers = dict(scope["headers"])
            if (parent := headers.get(b"traceparent")) is not None:
                return spans.within(parent.decode("latin-1"), headers.get(b"tracestate", b"").decode("latin-1"))
        return contextlib.nullcontext()

    def _for_pages(self, application: ASGIApp) -> ASGIApp:
        """Tells browsers which pages of other origins may read answers (https://fetch.spec.whatwg.org/#http-cors-protocol). These
        are to show tokens, and no cookies."""
        if not self._hosts.origins:
            return application
        return CORSMiddleware(
            application,
            allow_origins=sorted(self._hosts.origins),
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["authorization", "content-type", "last-event-id"],
            expose_headers=["gsg-complete", "location", "retry-after"],
        )

    async def _authenticated(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve whoever shows no token, where none is needed, or a right one."""
        try:
            principal = self._authentication.principal(scope["headers"], scope.get("subprotocols", ()))
            if principal == NOBODY and scope["type"] == "websocket":
                raise AccessDenied(f"the WebSocket takes a token, and none was shown; {SHOW_ONE}", needs_token=True)
        except AccessDenied as error:
            client = _client_of(scope)
            self._denials.warning("a client at %s is not let in: %s", client, error, client=client)
            await _answer_instead(problem_of(error), scope, receive, send)
            return
        set_principal(scope, principal)
        await self._application(scope, receive, send)


def _client_of(scope: Scope) -> str:
    return show(*(scope.get("client") or ("nowhere", 0)))


async def _answer_instead(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request, or refuse a WebSocket, with this."""
    if scope["type"] == "http":
        await response(scope, receive, send)
        return
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it has left
        await WebSocket(scope, receive, send).send_denial_response(response)

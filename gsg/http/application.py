"""The table of what the door does, by path: operations over HTTP, and the WebSocket."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeAlias

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from .json.endpoints import AS_JSON, documents, json_operations
from .metrics import metrics
from .operations import Endpoint, Operation, Services
from .probes import probes
from .serving.principals import Principal, Role, principal_of
from .sparql.endpoint import sparql_operations
from .websocket.session import report

ServeWebSocket: TypeAlias = Callable[[WebSocket], Awaitable[None]]

_WEBSOCKET = "publish and subscribe; use the command gsg, or gsg.connect() in Python"


def operations(services: Services) -> list[Operation]:
    """All that the door does over HTTP."""
    table = [
        Operation("GET", "/status", Role.READ, "how this peer and those it knows are doing, as JSON", _status(services), AS_JSON),
        *sparql_operations(services),
        *json_operations(services),
        *probes(services),
        metrics(services),
    ]
    return [*table, *documents(table)]


def application(table: Iterable[Operation], serve_websocket: ServeWebSocket) -> Starlette:
    """The application that carries out these operations, and serves WebSockets at ``/v1``."""
    by_path: dict[str, dict[str, Operation]] = defaultdict(dict)
    for operation in table:
        by_path[operation.path][operation.method] = operation
    routes: list[BaseRoute] = [Route(path, _dispatch(methods), methods=list(methods)) for path, methods in by_path.items()]
    routes.append(Route("/", _about(by_path), methods=["GET"]))
    return Starlette(routes=[*routes, WebSocketRoute("/v1", serve_websocket)])


def _about(by_path: Mapping[str, Mapping[str, Operation]]) -> Endpoint:
    """What is served here, for people."""
    lines = [
        f"{method:<10}{path:<12}{operation.summary}" for path, methods in by_path.items() for method, operation in methods.items()
    ]
    text = "\n".join(["A peer of the Global Semantic Graph router.", "", *lines, f"{'WebSocket':<10}{'/v1':<12}{_WEBSOCKET}", ""])

    async def about(_: Request) -> Response:
        return PlainTextResponse(text)

    return about


def _dispatch(methods: dict[str, Operation]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        # HEAD is GET without what is answered (RFC 9110, section 9.3.2), which the server leaves out.
        operation = methods["GET" if request.method == "HEAD" else request.method]
        refusal = None if operation.role is None else _refusal(principal_of(request.scope), operation.role)
        return await operation.endpoint(request) if refusal is None else refusal

    return endpoint


def _refusal(principal: Principal, role: Role) -> Response | None:
    if principal.has(role):
        return None
    return PlainTextResponse(f"this takes the role {role.value}, which {principal.name or 'nobody'} does not have\n", 403)


def _status(services: Services) -> Endpoint:
    async def status(_: Request) -> Response:
        answer = await report(0, services.peer)
        return Response(msgspec.json.encode(answer.as_dict()), media_type="application/json")

    return status

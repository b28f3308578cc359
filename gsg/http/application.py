"""The table of what the door does, by path: operations over HTTP, and the WebSocket."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TypeAlias

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from ..errors import AccessDenied
from .access.login import login_operations
from .access.principals import Role, principal_of
from .json.endpoints import AS_JSON, documents, json_operations
from .log import log
from .metrics import metrics
from .operations import Endpoint, Operation, Services, template_of
from .page.serving import page_operations, page_or
from .probes import probes
from .problems import answering, problem, problem_of
from .sparql.endpoint import sparql_operations
from .websocket.session import report

ServeWebSocket: TypeAlias = Callable[[WebSocket], Awaitable[None]]

_WEBSOCKET = "publish [publish] and subscribe [read]; use the command gsg, gsg.connect() in Python, or clients/js"


def operations(services: Services) -> list[Operation]:
    """All that the door does over HTTP."""
    table = [
        Operation(
            "GET",
            "/status",
            Role.READ,
            "how this peer and those it knows are doing, as JSON",
            answering(_status(services)),
            AS_JSON,
        ),
        *sparql_operations(services),
        *json_operations(services),
        *login_operations(services),
        *probes(services),
        metrics(services),
        log(),
        *page_operations(),
    ]
    return [*table, *documents(services, table)]


def application(table: Iterable[Operation], serve_websocket: ServeWebSocket) -> Starlette:
    """The application that carries out these operations, and serves WebSockets at ``/v1``."""
    by_path: dict[str, dict[str, Operation]] = defaultdict(dict)
    for operation in table:
        by_path[operation.path][operation.method] = operation
    routes: list[BaseRoute] = [Route(path, _dispatch(methods), methods=list(methods)) for path, methods in by_path.items()]
    routes.append(Route("/", page_or(_about(by_path)), methods=["GET"]))
    routes.append(WebSocketRoute("/v1", serve_websocket))
    return Starlette(routes=routes, exception_handlers={HTTPException: _no_operation})


async def _no_operation(request: Request, error: Exception) -> Response:
    """404 and 405, which Starlette raises."""
    assert isinstance(error, HTTPException), "it is registered for these"
    detail = f"no operation is called {request.method} {request.url.path[:200]}; GET / lists those that there are"
    return problem(HTTPStatus(error.status_code), detail, error.headers)


def _about(by_path: Mapping[str, Mapping[str, Operation]]) -> Endpoint:
    """What is served here, for people."""
    rows = [
        (method, template_of(path), operation.summary + (f" [{operation.role.value}]" if operation.role is not None else ""))
        for path, methods in by_path.items()
        for method, operation in methods.items()
    ]
    rows.append(("WebSocket", "/v1", _WEBSOCKET))
    width = max(len(path) for _, path, _ in rows) + 2
    lines = [f"{method:<10}{path:<{width}}{summary}" for method, path, summary in rows]
    roles = "In brackets is the role that a token needs, where this peer asks for one."
    text = "\n".join(["A peer of the Global Semantic Graph router.", "", *lines, "", roles, ""])

    async def about(_: Request) -> Response:
        return PlainTextResponse(text)

    return about


def _dispatch(methods: dict[str, Operation]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        # HEAD is GET without what is answered (RFC 9110, section 9.3.2), which the server leaves out.
        operation = methods["GET" if request.method == "HEAD" else request.method]
        if operation.role is not None:
            try:
                principal_of(request.scope).check(operation.role)
            except AccessDenied as error:
                return problem_of(error)
        return await operation.endpoint(request)

    return endpoint


def _status(services: Services) -> Endpoint:
    async def status(_: Request) -> Response:
        answer = await report(0, services.peer)
        return Response(msgspec.json.encode(answer.as_dict()), media_type="application/json")

    return status

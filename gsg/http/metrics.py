"""``/metrics``: this peer's own figures for Prometheus (:mod:`gsg.monitoring.exposition`)."""

from __future__ import annotations

from functools import cache

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from ..errors import DoorClosed, Refused
from ..monitoring.exposition import Exposition
from .access.principals import Role
from .operations import NOT_DESCRIBED, Described, Operation, Services

UNAVAILABLE = 503
DESCRIBED = Described(
    answers={"text/plain": None, "application/openmetrics-text": None}, failures={"text/plain": None, **NOT_DESCRIBED.failures}
)


def metrics(services: Services) -> Operation:
    """The operation."""

    @cache
    def exposition() -> Exposition:
        return Exposition(services.peer.vitals)

    async def scrape(request: Request) -> Response:
        try:
            body, media_type = await exposition().scrape(request.headers.get("accept", ""))
        except (DoorClosed, Refused) as error:
            return PlainTextResponse(f"{error}\n", UNAVAILABLE)
        return Response(body, media_type=media_type)

    return Operation("GET", "/metrics", Role.READ, "this peer's figures for Prometheus, or as OpenMetrics", scrape, DESCRIBED)

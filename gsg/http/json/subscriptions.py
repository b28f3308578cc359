"""``/subscriptions``: those of this peer, of all its clients, and the end of one of them."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ...errors import LocalError
from ..access.principals import principal_of
from ..operations import Endpoint, Services
from ..problems import answering, problem


def listed(services: Services) -> Endpoint:
    """Tells them."""

    async def endpoint(_: Request) -> Response:
        inside = services.peer.inside
        await inside.until_free()
        return Response(msgspec.json.encode(inside.subscriptions()), media_type="application/json")

    return answering(endpoint)


def ended(services: Services) -> Endpoint:
    """Ends one; its client is told who did."""

    async def endpoint(request: Request) -> Response:
        try:
            number = int(said := request.path_params["number"])
        except ValueError:
            return problem(HTTPStatus.BAD_REQUEST, f"{said!r:.80} is no number of a subscription; GET /subscriptions lists them")
        who = principal_of(request.scope).name or "an administrator"
        try:
            services.peer.registry.end_one(number, LocalError(f"subscription {number} was ended by {who} at this peer"))
        except LocalError as error:
            return problem(HTTPStatus.NOT_FOUND, str(error))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return answering(endpoint)

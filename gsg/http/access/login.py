"""``/login``: a page gives its token once, and is known by a cookie from then on.

The cookie is for this host alone, unseen by scripts, and not sent with what other sites ask for (RFC 6265, section 4.1.2; SameSite
as in its successor's draft). It names a login that this peer keeps, for LOGIN_S, and not the token.
"""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from ..operations import Described, Operation, Services
from ..problems import answering
from .authentication import LOGIN_S

DESCRIBED = Described(statuses={HTTPStatus.NO_CONTENT: "done"})


def login_operations(services: Services) -> list[Operation]:
    """To log in, and out."""
    authentication = services.authentication

    async def log_in(request: Request) -> Response:
        response = Response(status_code=HTTPStatus.NO_CONTENT)
        if authentication.asks:
            response.set_cookie(
                authentication.cookie,
                authentication.log_in(request.scope["headers"]),
                max_age=LOGIN_S,
                httponly=True,
                samesite="strict",
                secure=request.url.scheme == "https",
            )
        return response

    async def log_out(request: Request) -> Response:
        authentication.log_out(request.scope["headers"])
        response = Response(status_code=HTTPStatus.NO_CONTENT)
        response.delete_cookie(authentication.cookie, httponly=True, samesite="strict")
        return response

    return [
        Operation("POST", "/login", None, "a cookie for a page that shows its token", answering(log_in), DESCRIBED),
        Operation("DELETE", "/login", None, "end what that cookie is for", answering(log_out), DESCRIBED),
    ]

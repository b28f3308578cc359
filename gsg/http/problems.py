"""What goes wrong over HTTP, as problem details in JSON (RFC 9457), for every endpoint of the door.

The type is always "about:blank": ``title`` is the status in words, ``detail`` what happened and what to do, and besides stand the
fields that errors have on the WebSocket too: ``kind``, ``line``, ``column``, ``source_line``...
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from math import ceil
from typing import Final

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from .. import errors
from .failures import failed

log = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"

CHALLENGE: Final = 'Bearer realm="gsg", Basic realm="gsg"'
"""What an answer of 401 asks for (RFC 9110, section 11.6.1): a token, for some as a password."""
AGAIN_S: Final = 1
"""When what failed because of the network may be tried again."""

_STATUS: Final[tuple[tuple[type[errors.GsgError], HTTPStatus], ...]] = (
    (errors.TooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (errors.Refused, HTTPStatus.TOO_MANY_REQUESTS),
    (errors.AccessDenied, HTTPStatus.FORBIDDEN),
    (errors.DoorClosed, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.LocalError, HTTPStatus.BAD_REQUEST),
    (errors.RemoteError, HTTPStatus.SERVICE_UNAVAILABLE),
)
"""The first class that fits says which status; LocalError is whoever asked, RemoteError the network."""


class ProblemDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """What has gone wrong (RFC 9457, section 3.1). Fields of which there is nothing to say are left out."""

    title: str
    status: int
    detail: str
    kind: str = ""
    """The class of gsg.errors."""
    line: int = 0
    """From 1, of the text that is wrong: of a query, or of what was sent."""
    column: int = 0
    source_line: str = ""
    what: str = ""
    """Which text it is."""
    tuples: int = 0
    """How many were published before it."""


def status_of(error: errors.GsgError) -> HTTPStatus:
    """The status that an error is answered with (RFC 9110, section 15; 429: RFC 6585)."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def problem_of(error: errors.GsgError, *, line: int = 0, tuples: int = 0) -> Response:
    """The answer that tells of an error; with Retry-After (RFC 9110, section 10.2.3) where trying again later helps.

    ``line``: of what was sent, where the error itself does not say one; ``tuples``: what was published before.
    """
    told = failed(0, error)
    status = status_of(error)
    headers: dict[str, str] = {}
    if isinstance(error, errors.AccessDenied) and error.needs_token:
        status, headers["www-authenticate"] = HTTPStatus.UNAUTHORIZED, CHALLENGE
    elif isinstance(error, errors.Refused):
        if error.again_s is not None:
            headers["retry-after"] = str(ceil(error.again_s))
    elif status is HTTPStatus.SERVICE_UNAVAILABLE:
        headers["retry-after"] = str(AGAIN_S)
    details = ProblemDetails(
        status.phrase,
        status,
        told.problem,
        told.kind,
        told.line or line,
        told.column,
        told.source_line,
        told.what,
        tuples,
    )
    return _response(details, headers)


def problem(status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """The answer that tells of what is no error of ours: a wrong media type, a method, a missing parameter."""
    return _response(ProblemDetails(status.phrase, status, detail), headers or {})


def answering(endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint whose errors are answered as problems: ours, a body that does not come, and a defect, which is logged."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except errors.GsgError as error:
            return problem_of(error)
        except TimeoutError:
            return problem(HTTPStatus.REQUEST_TIMEOUT, "the body of the request has not come in time; send less of it at once")
        except ClientDisconnect:
            return Response(status_code=HTTPStatus.BAD_REQUEST)  # nobody is there to read it
        except Exception:
            # A defect of ours costs this request its answer, and not the door, which serves everybody else.
            log.exception("%s %s failed", request.method, request.url.path)
            return problem(
                HTTPStatus.INTERNAL_SERVER_ERROR, "this peer failed at the request, and its log says how: please report that"
            )

    return answer


def _response(details: ProblemDetails, headers: Mapping[str, str]) -> Response:
    return Response(msgspec.json.encode(details), details.status, headers, media_type=MEDIA_TYPE)

"""Errors as HTTP has them: a status, and the problem as JSON (RFC 9457, Problem Details for HTTP APIs).

What a program may want to know is a member of its own: ``kind`` (the class of :mod:`gsg.errors`), and what the error has besides,
such as ``line`` and ``column``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.responses import Response

from ..errors import DoorClosed, GsgError, LocalError, PeerUnreachable, Refused, TooLarge
from .protocol import attributes_of

MEDIA_TYPE = "application/problem+json"
AGAIN_S = 1
"""What Retry-After says where nobody knows better."""


def problem(status: int, detail: str, *, headers: Mapping[str, str] | None = None, **members: object) -> Response:
    """An answer that says what is wrong. ``members`` are told besides."""
    said = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail, **members}
    return Response(msgspec.json.encode(said), status, headers, media_type=MEDIA_TYPE)


def problem_of(error: GsgError) -> Response:
    """The answer for an error of ours."""
    status, headers = _status(error)
    return problem(status, str(error), headers=headers, kind=type(error).__name__, **attributes_of(error))


def _status(error: GsgError) -> tuple[int, dict[str, str]]:
    if isinstance(error, Refused):
        again = {} if error.again_s is None else {"Retry-After": str(math.ceil(error.again_s))}
        return (429 if again else 503), again or {"Retry-After": str(AGAIN_S)}
    if isinstance(error, TooLarge):
        return 413, {}
    if isinstance(error, DoorClosed | PeerUnreachable):
        return 503, {"Retry-After": str(AGAIN_S)}
    return (400, {}) if isinstance(error, LocalError) else (502, {})

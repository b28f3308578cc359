"""Sends the page: ``/`` to browsers, and what it loads under ``/page/``, whose names change with what is in them.

It takes no role, as nothing of a peer is in it: whoever has no token sees the field for one.
"""

from __future__ import annotations

import re
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ..negotiation import accepted
from ..operations import Described, Endpoint, Operation
from ..problems import problem

FILES: Final = Path(__file__).with_name("files")
INDEX: Final = "index.html"
_TYPES: Final = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
_NAME: Final = re.compile(r"[\w-]+\.(?:js|css|svg|json)")
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What a browser lets the page do (https://www.w3.org/TR/CSP3/): nothing inline, and nothing from elsewhere."""
_HEADERS: Final = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}


def page_operations() -> list[Operation]:
    """Its files."""
    described = Described(answers={kind.partition(";")[0]: None for kind in _TYPES.values()})
    return [Operation("GET", "/page/{name}", None, "what the page at / loads", _file, described)]


def page_or(text: Endpoint) -> Endpoint:
    """The page for who likes HTML best, and otherwise what ``text`` answers."""

    async def endpoint(request: Request) -> Response:
        if accepted(request.headers.get("accept", ""), ["text/plain", "text/html"]) != "text/html":
            answer = await text(request)
            answer.headers["vary"] = "accept"
            return answer
        headers = {**_HEADERS, "content-security-policy": POLICY, "cache-control": "no-cache", "vary": "accept"}
        return Response(_content(INDEX), headers=headers, media_type="text/html")

    return endpoint


async def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if not _NAME.fullmatch(name) or not (FILES / name).is_file():
        return problem(HTTPStatus.NOT_FOUND, "the page has no such file; it is another version's, so load / again")
    headers = {**_HEADERS, "cache-control": "public, max-age=31536000, immutable"}
    return Response(_content(name), headers=headers, media_type=_TYPES[Path(name).suffix])


@cache
def _content(name: str) -> bytes:
    """Some hundred KiB in all, each read once."""
    return (FILES / name).read_bytes()

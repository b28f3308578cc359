"""The body of a request, as far as it may be long."""

from __future__ import annotations

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from .problems import problem


async def read_body(request: Request, most_bytes: int) -> bytes | Response:
    """The whole body; where it is longer than it may be, or its client is gone before it has sent it, the answer that says so."""
    said = request.headers.get("content-length", "")
    if said.isdecimal() and int(said) > most_bytes:
        return _too_long(most_bytes)
    parts, size_bytes = [], 0
    try:
        async for part in request.stream():
            size_bytes += len(part)
            if size_bytes > most_bytes:
                return _too_long(most_bytes)
            parts.append(part)
    except ClientDisconnect:
        return problem(400, "the request ends before its body does")
    return b"".join(parts)


def _too_long(most_bytes: int) -> Response:
    # What is still to come is not read (RFC 9110, section 15.5.14).
    return problem(413, f"a body of more than {most_bytes:,} bytes; cut it into several requests", headers={"connection": "close"})

"""What operations on queries and graphs share: at which address they are, and answers in parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


class Sent(StreamingResponse):
    """An answer on its way; what it holds is given up however it ends."""

    def __init__(self, content: AsyncIterator[bytes], held: AsyncExitStack, *, headers: Mapping[str, str], media_type: str) -> None:
        super().__init__(content, 200, headers, media_type)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._held:
            await super().__call__(scope, receive, send)


def address_of(request: Request) -> str:
    """The address that was asked, without parameters: what relative IRIs are resolved against (RFC 3986, section 5.1.3)."""
    path = request.scope["raw_path"].decode("ascii", "replace")
    # The path as it was sent: once its percent-encoding is resolved it may be no part of an IRI.
    return str(request.url.replace(path=path, query="", fragment=""))

"""What operations on queries and graphs share: at which address they are, how much may be published, and answers in parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ..operations import Services, allowance_of


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


def admission(request: Request, services: Services, size_bytes: int) -> Callable[[int], None]:
    """What counts tuples that a request is about to publish, of so many bytes; it raises Refused where these are too many."""
    allowance = allowance_of(services, request)

    def admit(tuples: int) -> None:
        allowance.publish(tuples, size_bytes, asyncio.get_running_loop().time())

    return admit

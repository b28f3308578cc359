"""``GET /watch``: a standing query as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

:func:`event_stream` makes the response for any endpoint that answers ``Accept: text/event-stream``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ...errors import GsgError, LocalError
from ...subscriptions.live import LiveSubscription
from ..access.principals import principal_of
from ..operations import Endpoint, Services, allowance_of, client_of
from ..problems import answering, problem_of
from ..protocol import Subscribe
from ..serving.clients import ended
from ..subscribing import check_subscribe, subscribe
from .event_text import Place, place_of
from .messages import REQUESTS, request_of
from .streams import ENDED, RETRY_MS, Stream, ended_because
from .terms import TermForm, form_of

MEDIA_TYPE: Final = "text/event-stream"
_HEADERS: Final = {
    "content-type": f"{MEDIA_TYPE}; charset=utf-8",
    "cache-control": "no-store",
    # nginx gathers what it is sent otherwise.
    "x-accel-buffering": "no",
}
_EXPECTED: Final = "expected ?query=..., such as /watch?query=(?x, on, ?y) with its signs URL-encoded, and perhaps {}"


def watch(services: Services) -> Endpoint:
    """Tells the rows of a query, and their changes."""

    async def endpoint(request: Request) -> Response:
        asked = asked_by(request.query_params)
        check_subscribe(asked)

        async def make() -> LiveSubscription:
            return await subscribe(services.peer, asked, client_of(request))

        return await event_stream(request, services, asked, make, form_of(asked.terms))

    return answering(endpoint)


def asked_by(parameters: Mapping[str, str]) -> Subscribe:
    """The subscription that parameters of a URL ask for: they are the fields of the WebSocket's subscribe. Raises LocalError."""
    try:
        if not PARAMETERS.keys() >= parameters.keys():
            raise msgspec.ValidationError(f"no parameter is called {', '.join(parameters.keys() - PARAMETERS.keys()):.80}")
        asked = request_of(msgspec.convert({**parameters, "type": "subscribe", "id": 0}, REQUESTS[Subscribe], strict=False))
    except msgspec.ValidationError as error:
        others = ", ".join(name for name in PARAMETERS if name != "query")
        raise LocalError(f"{error}; {_EXPECTED.format(others)}") from None
    assert isinstance(asked, Subscribe), "as its type says"
    return asked


PARAMETERS: Final = {field.encode_name: field for field in msgspec.structs.fields(REQUESTS[Subscribe]) if field.name != "request"}
"""Those of a subscription in a URL, by name."""


async def event_stream(
    request: Request,
    services: Services,
    question: Hashable,
    make: Callable[[], Awaitable[LiveSubscription]],
    terms: TermForm,
) -> Response:
    """The response that tells a subscription as events.

    ``question`` is what is asked, the same for the same query and options: a client that comes back with ``Last-Event-ID`` has the
    differences to what it holds where it asks the same. ``make()`` subscribes, where that is not so. Raises what that raises,
    RemoteError where too many clients are served, and Refused where this one has as many subscriptions as it may.
    """
    last = request.headers.get("last-event-id", "")
    if last == ENDED:
        # Browsers come back until they are told not to.
        return Response(status_code=HTTPStatus.NO_CONTENT)
    if request.method == "HEAD":
        return Response(headers=_HEADERS)
    services.clients.check()
    with services.clients.one_more(principal_of(request.scope)):
        question = (question, terms, principal_of(request.scope).name)
        stream, first = await _begin(services, question, make, terms, place_of(last), came_back=bool(last), request=request)
    return _Events(services, stream, first)


async def _begin(
    services: Services,
    question: Hashable,
    make: Callable[[], Awaitable[LiveSubscription]],
    terms: TermForm,
    place: Place | None,
    *,
    came_back: bool,
    request: Request,
) -> tuple[Stream, list[bytes]]:
    """The stream, and what it begins with for this client."""
    known = None if place is None else await services.streams.find(place, question)
    if known is not None and place is not None:
        missed = known.since(place.number)
        if missed is not None:
            return known, [known.resumed(), *missed]
        await services.streams.close(known)
    allowance = allowance_of(services, request)
    allowance.subscribe()
    try:
        stream = services.streams.begin(question, await make(), terms, allowance.unsubscribe)
    except BaseException:
        allowance.unsubscribe()
        raise
    because = "this peer does not know any more what you were told; the answer follows from its beginning" if came_back else ""
    return stream, [f"retry: {RETRY_MS}\n".encode() + stream.snapshot(because)]


class _Events(Response):
    """A response that goes on until its client leaves, the subscription ends or the door closes."""

    def __init__(self, services: Services, stream: Stream, first: list[bytes]) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._services = services
        self._stream = stream
        self._first = first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        clients = self._services.clients
        with clients.one_more(principal_of(scope)) as place:
            try:
                place.check()
            except GsgError as error:
                # While the subscription was made.
                await self._services.streams.close(self._stream)
                await problem_of(error)(scope, receive, send)
                return
            writing = self._stream.reader = asyncio.ensure_future(self._write(send))
            leaving, sent_away = asyncio.ensure_future(_left(receive)), asyncio.ensure_future(place.leaves())
            try:
                await asyncio.wait((writing, leaving, sent_away), return_when=asyncio.FIRST_COMPLETED)
                if leaving.done():
                    return
                last = b""
                if writing.done():
                    # Cancelled where its client has come back by another connection.
                    if not writing.cancelled():
                        writing.result()
                else:
                    await ended(writing)
                    last = ended_because(sent_away.result())
                await send({"type": "http.response.body", "body": last, "more_body": False})
            finally:
                await ended(writing, leaving, sent_away)
                await self._services.streams.leave(self._stream, writing)
                if place.is_denied:
                    await self._services.streams.close(self._stream)

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": b"".join(self._first), "more_body": True})
        async for part in self._stream.parts():
            await send({"type": "http.response.body", "body": part, "more_body": True})


async def _left(receive: Receive) -> None:
    """Until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass

"""``POST /facts``, ``DELETE /facts`` and ``POST /events``: tuples as JSON, whole or line by line.

A body of application/json is published as one, all of it or, where something in it is no tuple, nothing. Lines of
application/x-ndjson, a tuple each, are published as they come; where one is none, the answer says which, and that those before it
were published. A quota slows lines down for PAUSE_S at most before it refuses: a stream is to have its rate, and not to begin anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Final, TypeAlias

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ...errors import BadText, GsgError, LocalError, Refused
from ...quotas import Allowance
from ...tuples.audiences import Audience
from ...tuples.terms import Tuple
from ..access.principals import principal_of
from ..operations import Endpoint, Services, allowance_of
from ..problems import answering, problem, problem_of
from ..protocol import MAX_MESSAGE_BYTES
from ..serving.bodies import Lines
from ..serving.clients import Place
from ..websocket.decoding import UNREADABLE, NotARequest
from ..websocket.decoding import problem_of as decoding_problem
from .decoding import decode_batch, place_of, read_fact

JSON: Final = "application/json"
LINES: Final = "application/x-ndjson"
_LINES: Final = {LINES, "application/ndjson", "application/jsonl"}
"""One format under several names (https://github.com/ndjson/ndjson-spec, https://jsonlines.org)."""
KEY_HEADER: Final = "Idempotency-Key"
"""Names the events of a body, which are not told again under it (draft-ietf-httpapi-idempotency-key-header, section 2.1). Whoever
sends it with facts is refused: a fact that is said once more changes nothing, unless another one has done the contrary meanwhile,
and then the key is taken for a promise that nobody keeps."""
_QUOTED: Final = re.compile(r'"(?:[ !#-\[\]-~]|\\["\\])*"')
_BARE: Final = re.compile(r"[!#-~][ !#-~]*|")
"""HTTP says of its headers' bytes beyond ASCII no more than that they are opaque (RFC 9110, section 5.5)."""
IDLE_S: Final = 600.0
"""How long a client that publishes line by line may say nothing; then it is answered 408, with what was published."""
PAUSE_S: Final = 5.0
"""How long the quota lets a client that publishes line by line wait before it is refused."""
DRAIN_S: Final = 1.0
"""How long what a client still sends behind a line that failed is read and thrown away: whoever sends reads no answer."""

Publish: TypeAlias = Callable[[Sequence[Sequence[object]], Audience | None], Awaitable[int]]


class Published(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was published."""

    count: int
    """Facts that have changed, or events."""
    lines: int | None = None
    """How many have come, where they came line by line."""


class _Line(GsgError):
    """A line at which publishing stops: ``number`` from 1, ``why`` it does."""

    def __init__(self, number: int, why: GsgError) -> None:
        super().__init__(str(why))
        self.number = number
        self.why = why


def insert(services: Services) -> Endpoint:
    """Makes facts true."""
    return _endpoint(services, partial(_begin_facts, services, 1))


def retract(services: Services) -> Endpoint:
    """Makes facts untrue."""
    return _endpoint(services, partial(_begin_facts, services, -1))


def _begin_facts(services: Services, sign: int, request: Request) -> Publish:
    if KEY_HEADER in request.headers:
        raise LocalError(
            f"{KEY_HEADER} with facts; expected it with POST /events alone: leave it out, as facts are a set, and one that is said "
            "once more changes nothing"
        )
    return partial(services.peer.caller().facts, sign)


def notify(services: Services) -> Endpoint:
    """Events; a header Idempotency-Key names those of one body of JSON."""

    def begin(request: Request) -> Publish:
        return partial(services.peer.caller().events, key=_key_of(request), owner=principal_of(request.scope).name)

    return _endpoint(services, begin)


def _key_of(request: Request) -> str | None:
    """The key that a request has, if any: a string of structured fields (RFC 9651, section 3.3.3), or a text without quotes as it
    is. Raises LocalError for several, and for what is neither: it would be another key than the same text is elsewhere."""
    keys = request.headers.getlist(KEY_HEADER)
    if len(keys) > 1:
        raise LocalError(f"{len(keys)} headers {KEY_HEADER}; expected one, which names all events of the request")
    if not keys:
        return None
    if not (_QUOTED if keys[0].startswith('"') else _BARE).fullmatch(keys[0]):
        raise LocalError(
            f'the header {KEY_HEADER}: {keys[0]!r:.80}; expected a text of printable ASCII between quotes, such as "a-1", with '
            '\\" for a quote within it; other texts are keys in the body of a request of JSON over the WebSocket'
        )
    return re.sub(r"\\(.)", r"\1", keys[0][1:-1]) if keys[0].startswith('"') else keys[0]


def _endpoint(services: Services, begin: Callable[[Request], Publish]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        named, principal = request.query_params.getlist("audience") or None, principal_of(request.scope)
        allowance, publish = allowance_of(services, request), begin(request)
        if media_type == JSON:
            async with services.bodies.whole(request, MAX_MESSAGE_BYTES) as body:
                try:
                    tuples, readers = decode_batch(body)
                except NotARequest as error:
                    raise error.told() from None
                audience = principal.audience_for(readers or named)
                services.authentication.check_still_valid(principal)
                allowance.publish(len(tuples), len(body), asyncio.get_running_loop().time())
                try:
                    count = await publish(tuples, audience)
                except NotARequest as error:
                    raise error.told() from None
                return _answer(Published(count))
        if media_type in _LINES:
            if KEY_HEADER in request.headers:
                raise LocalError(
                    f"{KEY_HEADER} with lines, which are published as they come; expected Content-Type: {JSON} with it"
                )
            services.clients.check()
            audience = principal.audience_for(named)
            with services.clients.one_more(principal) as place:
                return await _LineByLine(request, place, allowance, publish, audience).answer()
        return problem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"a body of {media_type or 'no media type'!r:.80}; expected Content-Type: {JSON} (an array of tuples) or {LINES} "
            "(a tuple a line), as `curl --json` says the first",
            {"accept-post": f"{JSON}, {LINES}"},
        )

    return answering(endpoint)


class _LineByLine:
    """One request whose tuples come line by line."""

    def __init__(self, request: Request, place: Place, allowance: Allowance, publish: Publish, audience: Audience | None) -> None:
        self._place = place
        self._parts = request.stream()
        self._allowance = allowance
        self._publish_tuples = publish
        self._audience = audience
        self._lines = Lines()
        self._number = 0
        """Of lines that were read."""
        self._tuples = 0
        """That were published."""
        self._count = 0
        """What that has changed."""

    async def answer(self) -> Response:
        """Publish until the body ends; what has become of it."""
        try:
            async for part in self._received():
                await self._publish(self._lines.feed(part))
            await self._publish(self._lines.end())
        except _Line as failed:
            await self._drain()
            return problem_of(failed.why, line=failed.number, tuples=self._tuples)
        except GsgError as error:
            await self._drain()
            return problem_of(error, line=self._number + 1, tuples=self._tuples)
        except TimeoutError:
            silent = f"no line has come for {IDLE_S:.0f} s; {self._tuples:,} tuples were published before"
            return problem(HTTPStatus.REQUEST_TIMEOUT, silent)
        return _answer(Published(self._count, self._number))

    async def _received(self) -> AsyncIterator[bytes]:
        while True:
            async with asyncio.timeout(IDLE_S):
                part = await self._place.unless_ended(anext(self._parts, None))
            if part is None:
                return
            yield part

    async def _publish(self, lines: list[bytes]) -> None:
        """Publish these lines, up to the first that is no tuple, for which _Line is raised."""
        first = self._number + 1
        tuples: list[Tuple] = []
        wrong: _Line | None = None
        for line in lines:
            self._number += 1
            if not line.strip():
                continue
            try:
                tuples.append(read_fact(line))
            except GsgError as error:
                wrong = _Line(self._number, error)
                break
            except UNREADABLE as error:
                wrong = _Line(self._number, _no_tuple(line, self._number, error))
                break
        if tuples:
            try:
                await self._allow(len(tuples), sum(map(len, lines)))
                self._count += await self._publish_tuples(tuples, self._audience)
            except GsgError as error:
                raise _Line(first, error) from None
            self._tuples += len(tuples)
        if wrong is not None:
            raise wrong

    async def _allow(self, tuples: int, size_bytes: int) -> None:
        """Wait until the quota takes so many. Raises Refused where that is too long."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + PAUSE_S
        while True:
            try:
                return self._allowance.publish(tuples, size_bytes, loop.time())
            except Refused as refused:
                if refused.again_s is None or loop.time() + refused.again_s > until_s:
                    raise
                await asyncio.sleep(refused.again_s)

    async def _drain(self) -> None:
        with contextlib.suppress(TimeoutError, ClientDisconnect):
            async with asyncio.timeout(DRAIN_S):
                async for _ in self._parts:
                    pass


def _no_tuple(line: bytes, number: int, error: Exception) -> BadText:
    _, column = place_of(line.decode("utf-8", "replace"), error)
    expected = 'expected an array of terms, such as ["kitchen", "is at", 21.5]'
    return BadText(f"no tuple: {decoding_problem(error)}; {expected}", line=number, column=column or 1, what="body")


def _answer(published: Published) -> Response:
    return Response(msgspec.json.encode(published), media_type=JSON)

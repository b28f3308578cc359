"""``/sparql``: queries and updates of clients of others (SPARQL 1.1 Protocol).

A query is answered once, in the format that the client likes best; where it likes ``text/event-stream`` best the query stands, and
its rows come as they change.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ...background import in_turns
from ...errors import GsgError
from ...languages import read_once
from ...languages.results.formats import BOOLEANS, SOLUTIONS, Format
from ..bodies import read_body
from ..negotiation import accepted
from ..operations import Operation, Services
from ..problems import problem, problem_of
from ..serving.principals import Role, principal_of
from .answering import Answer, Questions
from .description import description
from .requests import AskedDescription, AskedQuery, AskedUpdate, BadRequest, asked_by_get, asked_by_post

if TYPE_CHECKING:
    from ...languages.query import Query

MAX_BODY_BYTES = 16 * 1024 * 1024
"""The longest body of a query or an update; a longer one is refused."""
ROWS_AT_ONCE = 500
"""Rows that are written while others wait, some two milliseconds."""


def sparql_operations(services: Services) -> list[Operation]:
    """What the endpoint does."""
    endpoint = SparqlEndpoint(services)
    return [
        Operation("GET", "/sparql", Role.READ, "a SPARQL query, answered once, or as its rows change", endpoint.get),
        Operation("POST", "/sparql", None, "a SPARQL query or update", endpoint.post),
    ]


class SparqlEndpoint:
    """Answers queries of HTTP clients."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._questions = Questions(services.peer)

    async def get(self, request: Request) -> Response:
        """GET."""
        try:
            asked = asked_by_get(request.url.query)
        except BadRequest as error:
            return problem(error.status, error.detail)
        if isinstance(asked, AskedDescription):
            return description(str(request.url.replace(query="")), request.headers.get("accept", ""))
        return await self._answer(asked, request)

    async def post(self, request: Request) -> Response:
        """POST."""
        body = await read_body(request, MAX_BODY_BYTES)
        if isinstance(body, Response):
            return body
        try:
            asked = asked_by_post(request.headers.get("content-type", ""), request.url.query, body)
        except BadRequest as error:
            return problem(error.status, error.detail)
        role = Role.PUBLISH if isinstance(asked, AskedUpdate) else Role.READ
        if not principal_of(request.scope).has(role):
            return problem(403, f"this takes the role {role.value}")
        if isinstance(asked, AskedUpdate):
            return problem(501, "updates")
        return await self._answer(asked, request)

    async def _answer(self, asked: AskedQuery, request: Request) -> Response:
        try:
            query = await read_once(asked.text)
            assert query.result is not None, "read to be asked once"
            offered = list(BOOLEANS if query.result.kind == "ASK" else SOLUTIONS)
            media_type = accepted(request.headers.get("accept", ""), offered)
            if media_type is None:
                return problem(406, f"{request.headers['accept'][:200]!r} is asked for; expected one of {', '.join(offered)}")
            return await self._told(asked, query, media_type, request)
        except GsgError as error:
            return problem_of(error)

    async def _told(self, asked: AskedQuery, query: Query, media_type: str, request: Request) -> Response:
        client = request.client
        address = "" if client is None else f"{client.host}:{client.port}"
        answer = await self._questions.ask(query, asked.text, timeout_s=asked.timeout_s, client=address)
        headers = {"vary": "accept"} | ({} if answer.is_complete else {"gsg-complete": "false"})
        if answer.form.kind == "ASK":
            answer.release()
            return Response(BOOLEANS[media_type](bool(answer.rows)), 200, headers, media_type=media_type)
        return _Answered(_written(SOLUTIONS[media_type](answer.form.names), answer), answer, headers=headers, media_type=media_type)


class _Answered(StreamingResponse):
    """An answer on its way; what it holds is released however it ends."""

    def __init__(self, content: AsyncIterator[bytes], answer: Answer, *, headers: dict[str, str], media_type: str) -> None:
        super().__init__(content, 200, headers, media_type)
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._answer.release()


async def _written(form: Format, answer: Answer) -> AsyncIterator[bytes]:
    def parts() -> Iterator[bytes]:
        rows = answer.rows
        first = form.head + form.rows(rows[:ROWS_AT_ONCE])
        if len(rows) <= ROWS_AT_ONCE:
            yield first + form.tail
            return
        yield first
        for begin in range(ROWS_AT_ONCE, len(rows), ROWS_AT_ONCE):
            yield form.rows(rows[begin : begin + ROWS_AT_ONCE])
        yield form.tail

    async for part in in_turns(parts()):
        yield part

"""``/sparql``: queries and updates of clients of others (SPARQL 1.1 Protocol).

A query is answered once, in the format that the client likes best; where it likes ``text/event-stream`` best the query stands, and
its rows come as they change.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from ...background import in_turns
from ...languages import read_query
from ...languages.result_form import Solution
from ...languages.results.formats import BOOLEANS, SOLUTIONS, Format
from ...subscriptions.live import LiveSubscription
from ..access.principals import Role, principal_of
from ..json.terms import TermForm
from ..json.watching import MEDIA_TYPE as EVENTS
from ..json.watching import event_stream
from ..negotiation import accepted
from ..operations import Operation, Services, asker_of, client_of
from ..problems import answering, problem
from .answering import Questions, solutions_of
from .described import GET_SPARQL, POST_SPARQL
from .description import description
from .graph_store import graph_operations
from .graphs import GRAPH_TYPES, written
from .requests import AskedDescription, AskedQuery, AskedUpdate, BadRequest, asked_by_get, asked_by_post
from .sending import Sent, address_of
from .updating import Updates

if TYPE_CHECKING:
    from ...languages.query import Query

MAX_BODY_BYTES = 16 * 1024 * 1024
"""The longest body of a query or an update; a longer one is refused."""
ROWS_AT_ONCE = 500
"""Rows that are written while others wait, some two milliseconds."""

_OFFERED: Mapping[str, Collection[str]] = {
    "SELECT": SOLUTIONS,
    "ASK": BOOLEANS,
    "CONSTRUCT": GRAPH_TYPES,
    "DESCRIBE": GRAPH_TYPES,
}


def sparql_operations(services: Services) -> list[Operation]:
    """What the endpoint does."""
    questions = Questions(services.peer)
    updates = Updates(services.peer, questions)
    endpoint = SparqlEndpoint(services, questions, updates)
    return [
        Operation(
            "GET",
            "/sparql",
            Role.READ,
            "a SPARQL query, answered once, or as its rows change",
            answering(endpoint.get),
            GET_SPARQL,
        ),
        Operation("POST", "/sparql", None, "a SPARQL query or update", answering(endpoint.post), POST_SPARQL),
        *graph_operations(services, questions, updates),
    ]


class SparqlEndpoint:
    """Answers queries of HTTP clients."""

    def __init__(self, services: Services, questions: Questions, updates: Updates) -> None:
        self._services = services
        self._questions = questions
        self._updates = updates

    async def get(self, request: Request) -> Response:
        """GET."""
        try:
            asked = asked_by_get(request.url.query)
        except BadRequest as error:
            return problem(error.status, error.detail)
        if isinstance(asked, AskedDescription):
            return description(address_of(request), request.headers.get("accept", ""))
        return await self._answer(asked, request)

    async def post(self, request: Request) -> Response:
        """POST."""
        principal = principal_of(request.scope)
        if not principal.has(Role.PUBLISH):
            # Which it takes is known by its body, but nobody is to send one who has neither.
            principal.check(Role.READ)
        async with self._services.bodies.whole(request, MAX_BODY_BYTES) as body:
            try:
                asked = asked_by_post(request.headers.get("content-type", ""), request.url.query, body)
            except BadRequest as error:
                return problem(error.status, error.detail)
            principal.check(Role.PUBLISH if isinstance(asked, AskedUpdate) else Role.READ)
            if isinstance(asked, AskedQuery):
                return await self._answer(asked, request)
            asker = asker_of(self._services, request)
            await self._updates.carry_out(asked, asker, base=address_of(request), size_bytes=len(body))
            return Response(status_code=HTTPStatus.NO_CONTENT)

    async def _answer(self, asked: AskedQuery, request: Request) -> Response:
        accept = request.headers.get("accept", "")
        query = await self._read(asked, once=True)
        assert query.result is not None, "read to be asked once"
        offered = [*_OFFERED[query.result.kind], EVENTS]
        media_type = accepted(accept, offered)
        if media_type == EVENTS:
            return await self._stand(asked, request)
        if media_type is None:
            return problem(HTTPStatus.NOT_ACCEPTABLE, f"{accept[:200]!r} is asked for; expected one of {', '.join(offered)}")
        return await self._told(asked, query, media_type, request)

    async def _read(self, asked: AskedQuery, *, once: bool) -> Query:
        return await read_query(
            asked.text, "sparql", default_graphs=asked.default_graphs, named_graphs=asked.named_graphs, once=once
        )

    async def _stand(self, asked: AskedQuery, request: Request) -> Response:
        """Tell the rows as they change."""
        query = await self._read(asked, once=False)
        client = client_of(request)

        async def make() -> LiveSubscription:
            return await self._services.peer.registry.subscribe(query, text=asked.text, language="sparql", client=client)

        return await event_stream(request, self._services, asked, make, TermForm.SPARQL)

    async def _told(self, asked: AskedQuery, query: Query, media_type: str, request: Request) -> Response:
        form = query.result
        assert form is not None, "read to be asked once"
        async with AsyncExitStack() as under_way:
            asking = self._questions.ask(query, asked.text, timeout_s=asked.timeout_s, asker=asker_of(self._services, request))
            found = await under_way.enter_async_context(asking)
            headers = {"vary": "accept"} | ({} if found.is_complete else {"gsg-complete": "false"})
            if form.kind == "ASK":
                return Response(BOOLEANS[media_type](bool(found.rows)), 200, headers, media_type=media_type)
            rows = await solutions_of(form, found)
            if form.kind in ("CONSTRUCT", "DESCRIBE"):
                told = written([row for row in rows if None not in row], GRAPH_TYPES[media_type])  # type: ignore[misc]  # as it says
            else:
                told = _rows(SOLUTIONS[media_type](form.names), rows)
            return Sent(told, under_way.pop_all(), headers=headers, media_type=media_type)


async def _rows(form: Format, rows: list[Solution]) -> AsyncIterator[bytes]:
    def parts() -> Iterator[bytes]:
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

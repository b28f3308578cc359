"""``/graph``: graphs that are read, replaced, added to and deleted as wholes (SPARQL 1.1 Graph Store HTTP Protocol).

A graph is there while something is in it, so an empty one that is put is none. What a client replaces is asked first, and the
difference published as one batch; changes of others in between stay. Tuples of other doors that only look like triples, such as
(kitchen, temperature, 21.5), are none of the default graph: they stay, as in an update.
"""

from __future__ import annotations

import secrets
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

import rete
from rete import algebra

from ...languages.query import Query
from ...languages.sparql.updates import Changes, is_triple
from ...tuples.terms import IRI, Tuple
from ..access.principals import Role
from ..negotiation import accepted
from ..operations import Operation, Services, asker_of
from ..problems import answering, problem
from .answering import Found, Questions
from .described import of_graph_operation
from .graph_requests import PATH, Graph, graph_of
from .graphs import DATASET_TYPES, GRAPH_TYPES, of_graph, read_graph, written
from .requests import TIMEOUT_S, BadRequest
from .sending import Sent, address_of
from .updating import Updates

MAX_BODY_BYTES = 64 * 1024 * 1024
"""The longest graph that is taken at once; a longer one is refused: post it in parts, or use ``gsg publish``."""

_TRIPLE = tuple(map(rete.Variable, ("subject", "predicate", "object")))
_GRAPH = rete.Variable("graph")


def graph_operations(services: Services, questions: Questions, updates: Updates) -> list[Operation]:
    """What the graph store does."""
    store = GraphStore(services, questions, updates)
    what = "a graph, in any format of RDF"
    return [
        Operation(method, path, role, summary, answering(endpoint), of_graph_operation(method, is_named=path != PATH))
        for path in (PATH, PATH + "/{name:path}")
        for method, role, summary, endpoint in (
            ("GET", Role.READ, what, store.get),
            ("PUT", Role.PUBLISH, f"replace {what}", store.put),
            ("POST", Role.PUBLISH, f"add to {what}", store.post),
            ("DELETE", Role.PUBLISH, "delete a graph", store.delete),
        )
    ]


class GraphStore:
    """The graphs of the space."""

    def __init__(self, services: Services, questions: Questions, updates: Updates) -> None:
        self._services = services
        self._questions = questions
        self._updates = updates

    async def get(self, request: Request) -> Response:
        """A graph; without a name all of them, in a format that has graphs."""
        try:
            graph = _asked(request)
        except BadRequest as error:
            return problem(error.status, error.detail)
        offered = DATASET_TYPES if graph is None else GRAPH_TYPES
        accept = request.headers.get("accept", "")
        media_type = accepted(accept, list(offered))
        if media_type is None:
            return problem(HTTPStatus.NOT_ACCEPTABLE, f"{accept[:200]!r} is asked for; expected one of {', '.join(offered)}")
        async with AsyncExitStack() as under_way:
            found = await under_way.enter_async_context(self._ask(graph, request))
            tuples = _tuples_of(graph, found)
            if not tuples and graph is not None and graph.name is not None:
                return _nowhere(graph)
            # The graph is the answer itself, and its triples have no graph.
            triples = tuples if graph is None else [items[:3] for items in tuples]
            headers = {"vary": "accept"} | ({} if found.is_complete else {"gsg-complete": "false"})
            return Sent(written(triples, offered[media_type]), under_way.pop_all(), headers=headers, media_type=media_type)

    async def put(self, request: Request) -> Response:
        """Replace a graph by what is sent."""
        return await self._change(request, replaces=True)

    async def post(self, request: Request) -> Response:
        """Add what is sent to a graph; where none is named, load the graphs that are sent, or give the one that is sent a name."""
        return await self._change(request, replaces=False)

    async def delete(self, request: Request) -> Response:
        """Delete a graph."""
        try:
            graph = _asked(request)
        except BadRequest as error:
            return problem(error.status, error.detail)
        if graph is None:
            return problem(HTTPStatus.BAD_REQUEST, f"no graph is named; expected {PATH}?default or {PATH}?graph=IRI")
        async with self._ask(graph, request) as found:
            found.check_complete()
            tuples = _tuples_of(graph, found)
            if not tuples and graph.name is not None:
                return _nowhere(graph)
            await self._updates.publish(Changes(tuple(tuples), ()), asker_of(self._services, request), 0)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def _change(self, request: Request, *, replaces: bool) -> Response:
        async with self._services.bodies.whole(request, MAX_BODY_BYTES) as body:
            asker = asker_of(self._services, request)
            try:
                graph = _asked(request)
                base = address_of(request) if graph is None or graph.name is None else graph.name
                sent = await read_graph(request.headers.get("content-type", ""), body, base=base)
            except BadRequest as error:
                return problem(error.status, error.detail)
            if graph is None:
                if replaces:
                    return problem(HTTPStatus.BAD_REQUEST, f"no graph is named; expected {PATH}?default or {PATH}?graph=IRI")
                if any(len(items) == 4 for items in sent):
                    await self._updates.publish(Changes((), tuple(dict.fromkeys(sent))), asker, len(body))
                    return Response(status_code=HTTPStatus.NO_CONTENT)
                graph = Graph(f"{address_of(request).rstrip('/')}/{secrets.token_urlsafe(12)}")
                location = {"location": str(graph.name)}
            else:
                location = {}
            tuples = dict.fromkeys(of_graph(sent, _name_of(graph)))
            async with self._ask(graph, request) as found:
                if replaces:
                    found.check_complete()
                there = dict.fromkeys(_tuples_of(graph, found))
                gone = tuple(items for items in there if items not in tuples) if replaces else ()
                changes = Changes(gone, tuple(items for items in tuples if items not in there))
                await self._updates.publish(changes, asker, len(body))
            created = bool(tuples) and not there and graph.name is not None
            return Response(status_code=HTTPStatus.CREATED if created else HTTPStatus.NO_CONTENT, headers=location)

    def _ask(self, graph: Graph | None, request: Request) -> AbstractAsyncContextManager[Found]:
        return self._questions.ask(_query(graph), "", timeout_s=TIMEOUT_S, asker=asker_of(self._services, request))


def _asked(request: Request) -> Graph | None:
    return graph_of(f"{address_of(request)}?{request.url.query}")


def _query(graph: Graph | None) -> Query:
    """The triples of a graph; of all graphs, each triple with its graph, which those of the default graph leave unbound."""
    if graph is not None:
        return Query(rete.Group((rete.Condition((*_TRIPLE, *_name_of(graph))),)), tuple(item.name for item in _TRIPLE))
    every = algebra.Union(algebra.Basic((rete.Condition(_TRIPLE),)), algebra.Basic((rete.Condition((*_TRIPLE, _GRAPH)),)))
    return Query.of_tree(every, tuple(item.name for item in (*_TRIPLE, _GRAPH)))


def _tuples_of(graph: Graph | None, found: Found) -> list[Tuple]:
    name = () if graph is None else _name_of(graph)
    made = [(*(value for value in values if value is not None), *name) for values, _ in found.rows]
    return [items for items in made if is_triple(items)]


def _name_of(graph: Graph) -> tuple[IRI, ...]:
    return () if graph.name is None else (IRI(graph.name),)


def _nowhere(graph: Graph) -> Response:
    return problem(HTTPStatus.NOT_FOUND, f"no graph {str(graph.name)[:200]} is there: nothing is in it")

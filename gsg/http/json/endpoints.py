"""The operations of this room, for the table of application.py, and the documents that are made from the whole table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ...explain.explanations import Holding
from ...monitoring.vocabulary import DEFAULT_MOST
from ..access.principals import Role
from ..operations import MISSING, Described, Endpoint, Operation, Services
from .asyncapi import asyncapi
from .messages import Batch, VocabularyDocument
from .openapi import openapi
from .publishing import JSON, KEY_HEADER, LINES, Published, insert, notify, retract
from .subscriptions import ended, listed
from .terms import SaidInJson, TermForm
from .vocabulary import vocabulary
from .watching import MEDIA_TYPE, PARAMETERS, watch

AS_JSON: Final = Described(answers={JSON: dict[str, Any]})
"""Of what answers an object of JSON that has no type of its own."""


LISTED: Final = Described(answers={JSON: list[Holding]})
COUNTED: Final = Described({"most": (int, DEFAULT_MOST)}, answers={JSON: VocabularyDocument})
ENDED: Final = Described(statuses={204: "done"})


def json_operations(services: Services) -> list[Operation]:
    """Publishing, and watching."""
    published = Described(
        {"audience": (list[str], [])},
        bodies={JSON: Batch | list[list[SaidInJson]], LINES: list[SaidInJson]},
        answers={JSON: Published},
    )
    notified = published._replace(headers={KEY_HEADER: "names the events of a body of JSON, which are not told again under it"})
    watched = Described(
        {name: _parameter(name, field) for name, field in PARAMETERS.items()},
        answers={MEDIA_TYPE: None},
    )
    return [
        Operation("POST", "/facts", Role.PUBLISH, "make tuples true", insert(services), published),
        Operation("DELETE", "/facts", Role.PUBLISH, "make tuples untrue", retract(services), published),
        Operation("POST", "/events", Role.PUBLISH, "publish events", notify(services), notified),
        Operation("GET", "/subscriptions", Role.READ, "the subscriptions of this peer", listed(services), LISTED),
        Operation("DELETE", "/subscriptions/{number}", Role.ADMIN, "end a subscription", ended(services), ENDED),
        Operation("GET", "/vocabulary", Role.READ, "which constants facts have, at all peers", vocabulary(services), COUNTED),
        Operation("GET", "/watch", Role.READ, "a query's rows and their changes, as server-sent events", watch(services), watched),
    ]


def _parameter(name: str, field: msgspec.structs.FieldInfo) -> tuple[Any, object]:  # Any: a type
    kind = TermForm if name == "terms" else field.type
    return kind, MISSING if field.default is msgspec.NODEFAULT else field.default


def documents(services: Services, table: Sequence[Operation]) -> list[Operation]:
    """The operations that describe all of these, and the WebSocket, to programs. Everybody may ask: nothing of a peer is told."""

    def described() -> dict[str, Any]:  # Any: JSON
        return openapi([*table, *made], services.authentication.cookie)

    made = [
        Operation("GET", "/openapi.json", None, "this table, as OpenAPI", _document(described), AS_JSON),
        Operation("GET", "/asyncapi.json", None, "the WebSocket and the streams, as AsyncAPI", _document(asyncapi), AS_JSON),
    ]
    return made


def _document(make: Callable[[], dict[str, Any]]) -> Endpoint:  # Any: JSON
    # Some milliseconds, once, when the first asks.
    encoded = cache(lambda: msgspec.json.encode(make()))

    async def endpoint(_: Request) -> Response:
        return Response(encoded(), media_type=JSON)

    return endpoint

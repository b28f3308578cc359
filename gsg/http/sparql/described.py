"""What programs read of ``/sparql`` and ``/graph`` (gsg/http/json/openapi.py): their parameters, bodies and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ...languages.files.writing import MEDIA_TYPES
from ...languages.results.formats import SOLUTIONS
from ..access.principals import Role
from ..json.watching import MEDIA_TYPE as EVENTS
from ..operations import OPTIONAL, Described
from .graphs import DATASET_TYPES, GRAPH_TYPES
from .requests import FORM, QUERY, TIMEOUT_S, UPDATE


class SparqlForm(msgspec.Struct, rename="kebab"):
    """The fields of a form that is posted: those of a query, or those of an update."""

    query: str = ""
    default_graph_uri: list[str] = []
    named_graph_uri: list[str] = []
    timeout: float = TIMEOUT_S
    """In seconds; of an update, for the WHERE of each operation, and then UPDATE_TIMEOUT_S where it is not there."""
    update: str = ""
    using_graph_uri: list[str] = []
    using_named_graph_uri: list[str] = []


_DATASET: Final[Mapping[str, tuple[Any, object]]] = {  # Any: a type
    "default-graph-uri": (list[str], []),
    "named-graph-uri": (list[str], []),
    "timeout": (float, TIMEOUT_S),
}
_USING: Final[Mapping[str, tuple[Any, object]]] = {  # Any: a type
    "using-graph-uri": (list[str], []),
    "using-named-graph-uri": (list[str], []),
}
_ANSWERED: Final = dict.fromkeys([*SOLUTIONS, *GRAPH_TYPES, EVENTS])
"""Formats have their own specifications, and no schema here."""
_SENT: Final = {**dict.fromkeys(MEDIA_TYPES.values()), "multipart/form-data": dict[str, str]}
"""Of a form, the files by any names."""
_CHANGED: Final = {204: "all of it is acknowledged"}
_CREATED: Final = {201: "the graph is new; Location is its name where the peer chose it", **_CHANGED}

GET_SPARQL: Final = Described({"query": (str, OPTIONAL), **_DATASET}, answers=_ANSWERED)
POST_SPARQL: Final = Described(
    {**_DATASET, **_USING},
    {FORM: SparqlForm, QUERY: None, UPDATE: None},
    _ANSWERED,
    {200: "of a query: its rows, or its graph", 204: "of an update: all of it is acknowledged"},
    roles=f"{Role.READ.value} for a query, {Role.PUBLISH.value} for an update",
)


def of_graph_operation(method: str, *, is_named: bool) -> Described:
    """Of an operation at a graph; ``is_named``: the address of the request is its name."""
    parameters: Mapping[str, tuple[Any, object]] = (  # Any: a type
        {} if is_named else {"graph": (str, OPTIONAL), "default": (str, OPTIONAL)}
    )
    match method:
        case "GET":
            return Described(parameters, answers=dict.fromkeys([*GRAPH_TYPES, *({} if is_named else DATASET_TYPES)]))
        case "DELETE":
            return Described(parameters, statuses=_CHANGED)
        case _:
            return Described(parameters, _SENT, statuses=_CREATED)

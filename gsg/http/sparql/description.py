"""What the endpoint says of itself (SPARQL 1.1 Service Description)."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.responses import Response

from ...languages.files.writing import MEDIA_TYPES
from ...languages.results.formats import SOLUTIONS
from ..negotiation import accepted
from ..problems import problem
from .graphs import GRAPH_TYPES

if TYPE_CHECKING:
    import pyoxigraph as rdf

_SD = "http://www.w3.org/ns/sparql-service-description#"
_FORMATS = "http://www.w3.org/ns/formats/"


def description(url: str, accept: str) -> Response:
    """The description of the endpoint at a URL, in the format that the client likes best."""
    import pyoxigraph as rdf

    media_type = accepted(accept, [*GRAPH_TYPES, "text/html"])
    if media_type is None:
        return problem(HTTPStatus.NOT_ACCEPTABLE, f"{accept[:200]!r} is asked for; expected one of {', '.join(GRAPH_TYPES)}")
    if media_type == "text/html":
        media_type = "text/turtle"

    def sd(name: str) -> rdf.NamedNode:
        return rdf.NamedNode(_SD + name)

    service, a = rdf.BlankNode(), rdf.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    results = [rdf.QueryResultsFormat.from_media_type(each) for each in SOLUTIONS]
    said = [
        (a, sd("Service")),
        (sd("endpoint"), rdf.NamedNode(url)),
        *((sd("supportedLanguage"), sd(language)) for language in ("SPARQL11Query", "SPARQL11Update")),
        *((sd("resultFormat"), name) for name in _names([*results, *map(rdf.RdfFormat.from_media_type, GRAPH_TYPES)])),
        *((sd("inputFormat"), name) for name in _names(map(rdf.RdfFormat.from_media_type, MEDIA_TYPES.values()))),
    ]
    triples = [rdf.Triple(service, predicate, value) for predicate, value in said]
    format = rdf.RdfFormat.from_media_type(media_type)
    body = rdf.serialize(triples, format=format, prefixes={"sd": _SD, "formats": _FORMATS})
    assert body is not None
    return Response(body, media_type=media_type, headers={"vary": "accept"})


def _names(formats: Iterable[rdf.RdfFormat | rdf.QueryResultsFormat | None]) -> list[rdf.NamedNode]:
    """The names of formats in the W3C's list of them, each once. pyoxigraph has another one of JSON-LD, with the same ending."""
    import pyoxigraph as rdf

    endings = dict.fromkeys(each.iri.rpartition("/")[2] for each in formats if each is not None)
    return [rdf.NamedNode(_FORMATS + ending) for ending in endings]

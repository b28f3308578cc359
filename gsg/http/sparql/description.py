"""What the endpoint says of itself (SPARQL 1.1 Service Description)."""

from __future__ import annotations

from http import HTTPStatus

from starlette.responses import Response

from ..negotiation import accepted
from ..problems import problem

_SD = "http://www.w3.org/ns/sparql-service-description#"
_FORMATS = "http://www.w3.org/ns/formats/"
_RESULT_FORMATS = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV")
_GRAPH_FORMATS = ("Turtle", "N-Triples", "RDF_XML", "JSON-LD", "N3")
_DATASET_FORMATS = ("N-Quads", "TriG")
_OFFERED = {"text/turtle": "TURTLE", "application/n-triples": "N_TRIPLES", "application/rdf+xml": "RDF_XML"}


def description(url: str, accept: str) -> Response:
    """The description of the endpoint at a URL, in the format that the client likes best."""
    import pyoxigraph as rdf

    media_type = accepted(accept, [*_OFFERED, "text/html"])
    if media_type is None:
        return problem(HTTPStatus.NOT_ACCEPTABLE, f"{accept[:200]!r} is asked for; expected one of {', '.join(_OFFERED)}")
    if media_type == "text/html":
        media_type = "text/turtle"

    def sd(name: str) -> rdf.NamedNode:
        return rdf.NamedNode(_SD + name)

    service, a = rdf.BlankNode(), rdf.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    said = [
        (a, sd("Service")),
        (sd("endpoint"), rdf.NamedNode(url)),
        *((sd("supportedLanguage"), sd(language)) for language in ("SPARQL11Query", "SPARQL11Update")),
        *((sd("resultFormat"), rdf.NamedNode(_FORMATS + name)) for name in (*_RESULT_FORMATS, *_GRAPH_FORMATS)),
        *((sd("inputFormat"), rdf.NamedNode(_FORMATS + name)) for name in (*_GRAPH_FORMATS, *_DATASET_FORMATS)),
    ]
    triples = [rdf.Triple(service, predicate, value) for predicate, value in said]
    body = rdf.serialize(triples, format=getattr(rdf.RdfFormat, _OFFERED[media_type]), prefixes={"sd": _SD, "formats": _FORMATS})
    assert body is not None
    return Response(body, media_type=media_type, headers={"vary": "accept"})

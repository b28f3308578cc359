"""Which graph an HTTP request of the Graph Store Protocol is about (SPARQL 1.1 Graph Store HTTP Protocol, section 4).

/graph?default           the default graph
/graph?graph=IRI         the graph of this name; a relative one is resolved against the address of the request
/graph/some/name         the graph whose name is this address (direct identification)
/graph                   all graphs: GET in a format that has graphs; POST creates a graph, or loads what has graphs
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...languages.expressions.iris import resolve
from .requests import BadRequest, parameters_of

PATH = "/graph"

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\]*")
"""An absolute IRI, as SPARQL and Turtle take it between angle brackets (SPARQL 1.1, IRIREF in section 19.8)."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph. ``name`` is its IRI; None for the default graph."""

    name: str | None


def graph_of(url: str) -> Graph | None:
    """The graph that a URL is about, whose path is as it was sent; None for all of them. Raises BadRequest."""
    address, _, url_query = url.partition("?")
    fields = dict(parameters_of(url_query))
    path = "/" + address.partition("://")[2].partition("/")[2]
    if path.rstrip("/") != PATH:
        if fields:
            raise BadRequest(400, f"parameters behind the address of a graph; expected {PATH}?graph=IRI, or the address alone")
        return _named(address, address)
    named = fields.pop("graph", [])
    default = fields.pop("default", [])
    if fields:
        raise BadRequest(400, f"the parameter {next(iter(fields))[:100]!r}; expected default, or graph=IRI")
    if len(named) + len(default) > 1:
        raise BadRequest(400, "several graphs in one request; expected default, or graph=IRI, once")
    if default:
        return Graph(None)
    return _named(address, named[0]) if named else None


def _named(address: str, reference: str) -> Graph:
    # As SPARQL resolves it, so that a name is the same at both: urllib's urljoin takes the last # of a name away.
    name = resolve(address, reference)
    if not reference or not _IRI.fullmatch(name):
        raise BadRequest(400, f"graph={reference[:100]!r} is no IRI; expected one such as http://example.org/graph")
    return Graph(name)

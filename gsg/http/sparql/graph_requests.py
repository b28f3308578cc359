"""Which graph an HTTP request of the Graph Store Protocol is about (SPARQL 1.1 Graph Store HTTP Protocol, section 4).

/graph?default           the default graph
/graph?graph=IRI         the graph of this name; a relative one is resolved against the address of the request
/graph/some/name         the graph whose name is this address (direct identification)
/graph                   all graphs: GET in a format that has graphs; POST creates a graph, or loads what has graphs
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, urljoin, urlsplit

from .requests import BadRequest

PATH = "/graph"


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph. ``name`` is its IRI; None for the default graph."""

    name: str | None


def graph_of(url: str) -> Graph | None:
    """The graph that a URL is about; None for all of them. Raises BadRequest."""
    parts = urlsplit(url)
    fields = parse_qs(parts.query, keep_blank_values=True)
    address = url.partition("?")[0]
    if parts.path.rstrip("/") != PATH:
        if fields:
            raise BadRequest(400, f"parameters behind the address of a graph; expected {PATH}?graph=IRI, or the address alone")
        return Graph(address)
    named = fields.pop("graph", [])
    default = fields.pop("default", [])
    if fields:
        raise BadRequest(400, f"the parameter {next(iter(fields))[:100]!r}; expected default, or graph=IRI")
    if len(named) + len(default) > 1:
        raise BadRequest(400, "several graphs in one request; expected default, or graph=IRI, once")
    if default:
        return Graph(None)
    if not named:
        return None
    name = urljoin(address, named[0])
    if not named[0] or not urlsplit(name).scheme:
        raise BadRequest(400, f"graph={named[0][:100]!r} is no IRI; expected one such as http://example.org/graph")
    return Graph(name)

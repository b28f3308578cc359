"""Which graph a request of the Graph Store Protocol is about."""

from __future__ import annotations

import pytest

from gsg.http.sparql.graph_requests import Graph, graph_of
from gsg.http.sparql.requests import BadRequest


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h:1/graph?default", Graph(None)),
        ("http://h:1/graph?graph=http%3A%2F%2Fx%2Fa", Graph("http://x/a")),
        ("http://h:1/graph?graph=employee/1", Graph("http://h:1/employee/1")),
        ("http://h:1/graph?graph=urn:a", Graph("urn:a")),
        ("http://h:1/graph?graph=http://x/ns%23", Graph("http://x/ns#")),
        ("http://h:1/graph?graph=http://x/a/../b", Graph("http://x/a/../b")),
        ("http://h:1/graph/?default=", Graph(None)),
        ("http://h:1/graph/a%20b", Graph("http://h:1/graph/a%20b")),
        ("http://h:1/graph/person/1.ttl", Graph("http://h:1/graph/person/1.ttl")),
        ("http://h:1/graph", None),
    ],
)
def test_a_url_says_which_graph_it_is_about(url: str, expected: Graph | None) -> None:
    assert graph_of(url) == expected


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://h:1/graph?default&graph=urn:a", "several graphs"),
        ("http://h:1/graph?graph=urn:a&graph=urn:b", "several graphs"),
        ("http://h:1/graph?graph=", "no IRI"),
        ("http://h:1/graph?grpah=urn:a", "'grpah'"),
        ("http://h:1/graph?graph=http://x/a%20b", "'http://x/a b' is no IRI"),
        ("http://h:1/graph?graph=%FF", "no UTF-8"),
        ("http://h:1/graph/a?default", "behind the address"),
    ],
)
def test_what_names_no_graph_is_refused(url: str, said: str) -> None:
    with pytest.raises(BadRequest, match=said) as refused:
        graph_of(url)

    assert refused.value.status == 400

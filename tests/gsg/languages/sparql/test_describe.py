"""DESCRIBE: the triples whose subject is described, while they are there."""

from __future__ import annotations

import pytest

from gsg import IRI, Space
from gsg.errors import BadQuery, BadText
from gsg.languages.sparql import parse_query


def x(name: str) -> IRI:
    return IRI(f"http://x/{name}")


FACTS = [(x("a"), x("p"), 1), (x("a"), x("q"), x("b")), (x("b"), x("p"), 2), (x("c"), x("p"), x("a"))]
OF_A, OF_B = FACTS[:2], FACTS[2:3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DESCRIBE :a", OF_A),
        ("DESCRIBE :a :b", OF_A + OF_B),
        ("DESCRIBE ?x { :a :q ?x }", OF_B),
        ("DESCRIBE :a ?x { ?x :p 2 }", OF_A + OF_B),
        ("DESCRIBE * { ?subject :p 2 }", OF_B),
        ("DESCRIBE ?x { ?x :p ?n } ORDER BY DESC(?n) LIMIT 1", OF_B),
        ("DESCRIBE :nowhere", []),
    ],
)
def test_a_description_is_what_is_said_of_something(text: str, expected: list[tuple[object, ...]]) -> None:
    with Space() as space:
        live = space.subscribe(f"PREFIX : <http://x/> {text}", "sparql")
        space.insert(FACTS)

        assert {tuple(row.values()): count for row, count in live.rows().items()} == dict.fromkeys(expected, 1)

        space.retract(FACTS)
        assert not live.rows()


def test_a_graph_is_described_from_its_dataset() -> None:
    with Space() as space:
        space.insert([(x("a"), x("p"), 1, x("g")), (x("a"), x("p"), 2)])

        live = space.subscribe("DESCRIBE <http://x/a> FROM <http://x/g>", "sparql")

        assert [tuple(row.values()) for row in live.rows()] == [(x("a"), x("p"), 1)]


@pytest.mark.parametrize("text", ["DESCRIBE ?x", "DESCRIBE *", "DESCRIBE * { <urn:a> <urn:p> 1 }"])
def test_what_describes_nothing_is_refused(text: str) -> None:
    with pytest.raises(BadQuery, match="expected IRIs"):
        parse_query(text)


def test_a_description_is_no_part_of_a_query() -> None:
    with pytest.raises(BadText):
        parse_query("SELECT * { { DESCRIBE ?c { ?c ?d ?e } } }")

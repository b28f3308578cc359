"""Whoever reads a name that nothing binds is told, and nobody else is."""

from __future__ import annotations

import pytest

import gsg

PREFIX = "PREFIX : <http://example.org/> "


def warnings(query: str) -> list[str]:
    return list(gsg.Space().subscribe(PREFIX + query, "sparql").warnings)


@pytest.mark.parametrize(
    ("query", "name", "place"),
    [
        (
            "SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x HAVING (?n > 1)",
            "n",
            "HAVING: what ?n stands for is computed later; write the expression itself, such as COUNT(*)",
        ),
        ("SELECT ?x { ?x :p ?y } GROUP BY ?x HAVING (SUM(?q) > 1)", "q", "the aggregate SUM"),
        ("SELECT ?x { ?x :p ?value FILTER(?valeu > 1) }", "valeu", "a FILTER; did you mean ?value?"),
        ("SELECT ?x { ?x :p ?y { FILTER(?y > 1) } }", "y", "a FILTER"),
        ("SELECT ?x { ?x :p ?y MINUS { ?x :q ?z FILTER(?w = ?z) } }", "w", "a FILTER"),
        ("SELECT ?x { ?x :p ?y OPTIONAL { ?x :q ?z FILTER(?w = ?z) } }", "w", "the FILTER of an OPTIONAL"),
        ("SELECT ?x { ?x :p ?y OPTIONAL { { ?x :q ?z FILTER(?y = ?z) } } }", "y", "a FILTER"),
        ("SELECT ?x { ?x :p ?y OPTIONAL { ?x :q ?z OPTIONAL { ?z :q ?w FILTER(?y = ?w) } } }", "y", "the FILTER of an OPTIONAL"),
        ("SELECT ?x { ?x :p ?y OPTIONAL { ?x :q ?z BIND(?y + ?z AS ?w) } }", "y", "what ?w is computed from"),
        ("SELECT ?x { ?x :p ?y FILTER(?y = 1 || EXISTS { ?x :q ?z FILTER(?w = ?z) }) }", "w", "a FILTER"),
        ("SELECT ?x { ?x :p ?y BIND(?z + 1 AS ?k) }", "z", "what ?k is computed from"),
        ("SELECT ?x (?z + 1 AS ?k) { ?x :p ?y }", "z", "what ?k is computed from"),
        ("SELECT (SUM(?z) AS ?k) { ?x :p ?y }", "z", "the aggregate SUM"),
        ("SELECT (COUNT(*) AS ?k) { ?x :p ?y } GROUP BY ?z", "z", "GROUP BY"),
        ("SELECT ?x { ?x :p ?y } ORDER BY ?z LIMIT 1", "z", "ORDER BY"),
        ("SELECT ?x ?z { ?x :p ?y }", "z", "what is selected"),
        ("CONSTRUCT { ?x :p ?z } WHERE { ?x :p ?y }", "z", "what is selected"),
        ("ASK { ?x :p ?y FILTER(!BOUND(?z)) }", "z", "a FILTER"),
        (
            "SELECT ?x { GRAPH ?g { ?x :p ?y FILTER(?g = :h) } }",
            "g",
            "a FILTER: GRAPH ?g gives it a value outside of its braces alone",
        ),
    ],
)
def test_a_name_that_nothing_binds_is_told_with_its_place(query: str, name: str, place: str) -> None:
    (warning,) = warnings(query)

    assert warning.startswith(f"nothing binds ?{name}, so it has no value in {place}")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?x { ?x :p ?y FILTER(?k > 1) BIND(?y AS ?k) }",
        "SELECT ?x { { ?x :p ?y } UNION { ?x :q ?z } FILTER(?z > 1) }",
        "SELECT ?x { ?x :p ?y OPTIONAL { ?x :q ?z FILTER(?y < ?z) } FILTER(!BOUND(?z)) }",
        "SELECT ?x { ?x :p ?y OPTIONAL { ?x :q ?z FILTER(?z > 1 && ?y < 2 && ?y < ?z) OPTIONAL { ?z :q ?w FILTER(?w < ?z) } } }",
        "SELECT ?x { ?x :p ?y OPTIONAL { ?x :q ?z FILTER(?z > 1 && EXISTS { ?z :p ?k FILTER(?k = ?y) }) } }",
        "SELECT ?x { ?x :p ?y FILTER EXISTS { ?x :q ?z OPTIONAL { ?z :q ?w FILTER(?y = ?w) } } }",
        "SELECT ?x { ?x :p ?y FILTER NOT EXISTS { ?x :q ?z FILTER(?z > ?y) } }",
        "SELECT ?x (?y + 1 AS ?k) (?k + 1 AS ?m) { ?x :p ?y } ORDER BY ?m LIMIT 2",
        "SELECT ?x (SUM(?y) AS ?s) { ?x :p ?y } GROUP BY ?x HAVING (SUM(?y) > 1 && ?y > 2) ORDER BY ?s LIMIT 1",
        "SELECT (SUM(IF(EXISTS { ?x :q ?k }, ?y, 0)) AS ?s) { ?x :p ?y }",
        "SELECT DISTINCT ?x { ?x :p ?y } ORDER BY ?y LIMIT 2",
        "SELECT ?z { VALUES (?x ?z) { (UNDEF UNDEF) } ?x :p ?y FILTER(?z = 1) }",
        "CONSTRUCT { ?x :p [ :q ?y ] } WHERE { ?x :p* ?y }",
        "ASK { ?x :p ?y }",
    ],
)
def test_names_that_may_have_a_value_are_not_told(query: str) -> None:
    assert [warning for warning in warnings(query) if warning.startswith("nothing binds")] == []


def test_many_such_names_are_counted() -> None:
    names = ", ".join(f"?u{number}" for number in range(25))

    told = warnings(f"SELECT ?x (COALESCE({names}) AS ?c) {{ ?x :p ?y }}")

    assert len(told) == 11
    assert told[-1] == "nothing binds 15 other names that are read"

"""Long flat texts are read, however long, and deep ones refused by what is too deep in them."""

from __future__ import annotations

import gc
from types import FrameType

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gsg
from gsg.errors import BadText
from gsg.languages.sparql import parse_query
from gsg.languages.sparql.placeholders import TOKEN, read

E = "http://example.org/"
PREFIXES = f"PREFIX : <{E}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "


def rows(text: str) -> list[dict[str, object]]:
    space = gsg.Space()
    space.insert([(gsg.IRI(E + "a"), gsg.IRI(E + "p"), 1)])
    return [dict(row) for row in space.subscribe(PREFIXES + text, "sparql").rows()]


@pytest.mark.parametrize("triples", ["?x :r{} ?y . ", "[ :r{} ?y ] . ", "_:b{} :q ?y . "])
def test_a_template_may_have_as_many_triples_as_one_likes(triples: str) -> None:
    template = "".join(triples.format(number) for number in range(200))

    assert len(rows(f"CONSTRUCT {{ {template} }} WHERE {{ ?x :p ?y }}")) == 200


def test_a_block_of_triples_is_as_long_as_a_query_may_be() -> None:
    block = " . ".join("?x :p ?y" for _ in range(127))

    assert rows(f"SELECT ?y {{ {block} }}") == [{"y": 1}]
    assert rows(f"SELECT ?y {{ {block} . }}") == [{"y": 1}]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (" + ".join(["?y"] * 2_000), 2_000),
        (" - ".join(["?y"] * 300), -298),
        (" * ".join(["?y"] * 300), 1),
        (" + ".join(f"?y * {number} - {number}" for number in range(150)), 0),
        ("+".join(str(number) for number in range(500)), 124_750),
        ("IF(" + " || ".join(f"?y = {number}" for number in range(300, 0, -1)) + ", 5, 6)", 5),
        ("IF(" + " && ".join(f"?y != {number}" for number in range(2, 300)) + ", 5, 6)", 5),
        (f"IF(?y IN ({', '.join(map(str, range(600)))}), 5, 6)", 5),
        (f"COALESCE({', '.join(f'?unbound{number}' for number in range(300))}, 5)", 5),
    ],
    ids=["sum", "difference", "product", "sum of products", "digits", "or", "and", "in", "coalesce"],
)
def test_a_chain_of_an_expression_may_be_long(expression: str, expected: int) -> None:
    assert rows(f"SELECT ({expression} AS ?z) {{ ?x :p ?y }}") == [{"z": expected}]
    assert rows(f"SELECT ?y {{ ?x :p ?y FILTER({expression} = {expected}) }}") == [{"y": 1}]


@pytest.mark.parametrize(
    "pattern",
    [
        " UNION ".join(f"{{ ?x :p{number} ?y }}" for number in range(200)) + " UNION { ?x :p ?y }",
        "?x " + "|".join(f":p{number}" for number in range(200)) + "|:p ?y",
        "?x :p ?y " + " ".join(f"FILTER(?y != {number})" for number in range(2, 200)),
        "?x :p ?y OPTIONAL { ?x :p ?z " + " ".join(f"FILTER(?z != {number} && ?x != ?z)" for number in range(200)) + " }",
        "?x :p ?y VALUES ?z { " + " ".join(map(str, range(200))) + " } FILTER(?z = ?y)",
    ],
    ids=["union", "path", "filters", "optional", "values"],
)
def test_a_group_may_be_long(pattern: str) -> None:
    assert [row["y"] for row in rows(f"SELECT * {{ {pattern} }}")] == [1]


@pytest.mark.parametrize(
    ("opening", "inside", "closing"),
    [
        ("FILTER(", "(", ")"),
        ("", "{ ", "}"),
        ("", "OPTIONAL { ?x :p ?y ", "}"),
        ("FILTER", "(IF(true, ", "1, 2))"),
        ("?x :p ", "[ :p ", "]"),
        ("?x ", "(", ")+"),
    ],
)
def test_what_is_too_deep_is_told_at_the_bracket_that_is(opening: str, inside: str, closing: str) -> None:
    with pytest.raises(BadText, match="brackets are nested more than 40 deep"):
        parse_query(f"{PREFIXES} SELECT * {{ {opening}{inside * 60} 1 {closing * 60} }}")


GAPS = st.sampled_from([" ", "\n", " # a comment\n", "\t", " #\n # again \r\n "])
TEXTS = [
    'SELECT ?y { ?x :p "1"^^xsd:integer , "a"@en , \'\'\'b\'\'\' ; :q ?y FILTER(?y > -1 && STR(?y) IN ("1", "2"@de)) }',
    "SELECT * { ?x :p*/:q? ?y . ?y (:p|^:q)+ ?z . ?z !(:p|^:q) ?w OPTIONAL { ?x a/:p* _:b }"
    ' VALUES (?x) { (:a) ("1"^^<http://e/t>) } }',
    "SELECT (SUM(DISTINCT ?y * 2 + 1) AS ?n) { ?x :p ?y, +5, -7.5e1 } GROUP BY ?x HAVING(COUNT(*) >= 1) ORDER BY DESC(?n) LIMIT 5",
    'CONSTRUCT { ?x :p [ :q "x"@en-GB ] , ( 1 2 ) } '
    'WHERE { ?x :p ?y BIND(xsd:integer("1"^^xsd:string) + 1 AS ?k) MINUS { ?x ?k ?y } }',
]


@settings(max_examples=30)
@given(st.sampled_from(TEXTS), st.lists(GAPS, min_size=1, max_size=8))
def test_blanks_and_comments_between_tokens_change_nothing(text: str, gaps: list[str]) -> None:
    tokens = [token.text for token in read(text).tokens]
    # A sign belongs to the number that follows it.
    tight = {at for at, token in enumerate(tokens) if token in ("+", "-") and TOKEN.match(tokens[at + 1])["number"]}  # type: ignore[index]
    spaced = "".join(token + ("" if at in tight else gaps[at % len(gaps)]) for at, token in enumerate(tokens))
    pyoxigraph.Store().query(PREFIXES + spaced)

    assert parse_query(PREFIXES + spaced, seed=lambda: "").body == parse_query(PREFIXES + text, seed=lambda: "").body


def frames_left(text: str) -> int:
    """The frames of calls that wait for the cyclic collector when a text was read."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        parse_query(text)
        gc.collect()
        return sum(isinstance(left, FrameType) for left in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_a_longer_text_leaves_no_more_calls_for_the_cyclic_collector() -> None:
    short, long = ("SELECT * { ?x <x:p> ?y FILTER(" + " && ".join(["?y > 1"] * count) + ") }" for count in (10, 100))

    assert frames_left(long) <= frames_left(short) + 10

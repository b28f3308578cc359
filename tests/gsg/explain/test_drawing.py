"""Networks as pictures: valid, with every node once, and none over another."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import pytest

import gsg.explain.network_view
from gsg import LocalError, Space
from gsg.explain.drawing import draw
from gsg.explain.explain import draw_query, tree_of
from gsg.explain.network_view import Shown, view_of
from gsg.languages import parse_query

SVG = "{http://www.w3.org/2000/svg}"
TEXTS = [
    ("gsg", "(?x, ^on, ?y), (?y, ^left-of, ?z), NOT { (?z, ^color, red), NOT { (?z, ^color, blue) } }"),
    ("gsg", "(?x, ^on, ?y), (?y, ^color, ?c)"),
    (
        "sparql",
        "SELECT ?p (COUNT(*) AS ?n) { ?p <x:knows> ?q . ?q <x:age> ?a FILTER(?a > 18 && ?a < 99) OPTIONAL { ?q <x:nick> ?k } "
        "FILTER NOT EXISTS { ?q <x:dead> true } } GROUP BY ?p HAVING (COUNT(*) > 1)",
    ),
    (
        "sparql",
        "SELECT * { ?p <x:knows>+ ?q { ?s <http://example.org/a/very/long/name/that/does/not/fit/into/a/line> ?p } UNION "
        "{ ?s <x:b> ?q } MINUS { ?p <x:no> ?q } VALUES ?p { 1 2 } } ORDER BY ?p LIMIT 3",
    ),
]


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    root = ElementTree.fromstring(svg)
    rects = [node.find(f"{SVG}rect") for node in root.iter(f"{SVG}g")]
    return [tuple(float(rect.attrib[name]) for name in ("x", "y", "width", "height")) for rect in rects if rect is not None]  # type: ignore[misc]


def overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    apart = (
        one[0] + one[2] <= other[0] or other[0] + other[2] <= one[0] or one[1] + one[3] <= other[1] or other[1] + other[3] <= one[1]
    )
    return not apart


def test_every_node_is_drawn_once_and_over_no_other() -> None:
    space = Space()
    for language, text in TEXTS:
        space.subscribe(text, language)
    graph = space.graph()

    svg = draw(view_of(graph))

    ids = [node.attrib["id"] for node in ElementTree.fromstring(svg).iter(f"{SVG}g")]
    assert sorted(ids) == sorted(f"n{number}" for number in graph)
    assert not any(overlap(one, other) for one, other in combinations(boxes(svg), 2))


@pytest.mark.parametrize(("language", "text"), TEXTS)
def test_a_query_is_drawn_without_a_peer(language: str, text: str) -> None:
    svg = draw_query(parse_query(text, language))

    root = ElementTree.fromstring(svg)
    kinds = [node.attrib["data-kind"] for node in root.iter(f"{SVG}g")]
    assert kinds.count("Query") == 1
    assert "AlphaMemory" in kinds
    assert " tokens" not in "".join(root.itertext())
    x, y, width, height = map(float, root.attrib["viewBox"].split())
    assert all(x <= left and left + wide <= width and y <= top and top + high <= height for left, top, wide, high in boxes(svg))


def test_texts_stay_inside_their_boxes_and_are_escaped() -> None:
    svg = draw_query(parse_query('(?x, "a < b & c", ?y), (?y, ^is, "]]>")'))

    root = ElementTree.fromstring(svg)
    assert '(?x, "a < b & c", ?y)' in [text.text for text in root.iter(f"{SVG}text")]
    for node in root.iter(f"{SVG}g"):
        rect = node.find(f"{SVG}rect")
        assert rect is not None
        assert all(len(text.text or "") * 7.2 < float(rect.attrib["width"]) for text in node.iter(f"{SVG}text"))


def test_a_query_shown_alone_has_its_own_names_and_all_of_its_constants() -> None:
    long = "http://example.org/film/"
    text = f"SELECT ?a {{ ?f <{long}directedBy> ?a . ?f <{long}starring> ?b FILTER(?b != 7) ?f <{long}starring> ?c }}"
    root = ElementTree.fromstring(draw_query(parse_query(text, "sparql")))

    nodes = ["".join(text.text or "" for text in node.iter(f"{SVG}text")) for node in root.iter(f"{SVG}g")]
    assert f"alpha memory(?f,<{long}directedBy>,?a)" in [
        node.replace(" ", "").replace("alphamemory", "alpha memory") for node in nodes
    ]
    # Two conditions look into one memory, so it has the names of neither.
    assert any(f"(*,<{long}starring>,*)" in node.replace(" ", "") for node in nodes)


def test_characters_that_xml_does_not_have_are_shown_as_scripts_write_them() -> None:
    svg = draw_query(parse_query('(?x, at, ?y) FILTER(?y != "a\x1b[31m\x00\\n\u202eb\uffff")'))

    texts = "".join(text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}title"))
    assert "\\u001B" in texts
    assert not set("\x1b\u202e\uffff") & set(svg)


def test_a_node_that_keeps_no_tokens_shows_no_count_and_a_group_its_aggregates() -> None:
    space = Space()
    space.subscribe("SUBSCRIBE ?y, COUNT(?x) AS ?n { (?x, ^on, ?y) } HAVING ?n > 2")

    svg = draw(view_of(space.graph()))

    nodes = ElementTree.fromstring(svg).iter(f"{SVG}g")
    shown = {node.attrib["data-kind"]: [text.text for text in node.iter(f"{SVG}text")] for node in nodes}
    assert shown["Root"] == ["the beginning"]
    assert shown["Selection"] == ["FILTER", "?n > 2"]
    assert shown["Groups"] == ["group", "COUNT(?x)", "0 tokens"]


def test_a_picture_of_several_subscriptions_says_whose_rows_are_whose_and_names_what_each_computes() -> None:
    # The languages make up the same names for both, and mean another aggregate by them.
    space = Space()
    texts = [
        "SELECT ?p { ?p <x:knows> ?q } GROUP BY ?p HAVING (COUNT(?q) > 1)",
        "SELECT ?p (MAX(?a) + 1 AS ?m) { ?p <x:age> ?a } GROUP BY ?p HAVING (SUM(?a) < 9)",
    ]
    made = [space.subscribe(text, "sparql") for text in texts]
    shown = [
        Shown(one._production, number, text, tree_of(one._query))
        for number, (text, one) in enumerate(zip(texts, made, strict=True), 7)
        if one._production is not None
    ]

    root = ElementTree.fromstring(draw(view_of(space.graph(), shown)))

    nodes = [(node.attrib["data-kind"], [text.text for text in node.iter(f"{SVG}text")]) for node in root.iter(f"{SVG}g")]
    assert sorted(str(lines[1]) for kind, lines in nodes if kind == "Selection") == ["COUNT(?q) > 1", "SUM(?a) < 9"]
    assert ["BIND", "MAX(?a) + 1"] in [lines for kind, lines in nodes if kind == "Extension"]
    assert sorted(str(lines[0]) for kind, lines in nodes if kind == "Query") == ["subscription 7", "subscription 8"]
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert f"subscription 7 {texts[0]}" in titles


def test_what_nobody_could_read_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.explain.network_view, "MAX_NODES", 3)

    with pytest.raises(LocalError, match="more nodes than a picture shows, 3; name a subscription, or a query"):
        draw_query(parse_query("(?x, ^on, ?y)"))


def test_a_space_without_subscriptions_is_an_empty_picture() -> None:
    assert boxes(draw(view_of(Space().graph()))) == []

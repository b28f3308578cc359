"""Where the queries of a network come in and go out."""

from __future__ import annotations

import pytest

import rete
from gsg.errors import BadQuery
from gsg.languages import parse_query
from gsg.languages.query import Query, enter
from gsg.storage.facts_by_template import FactsByTemplate
from gsg.subscriptions.entrance import SHARE_FROM, Entrance
from rete.operators.join import Node

HUTS = rete.Group((rete.Condition((rete.Variable("x"), "in", rete.Parameter(0))),))


def in_place(place: str) -> Query:
    return Query(HUTS, ("x",), (place,))


def entrance() -> tuple[rete.Network, Entrance]:
    store = FactsByTemplate()
    store.add(("hut", "in", "Alps"))
    network = rete.Network(lambda alpha: store.matching(alpha.template), lambda alpha: store.count(alpha.template))
    return network, Entrance(network)


def test_few_queries_of_a_template_are_entered_each_by_itself() -> None:
    network, door = entrance()

    entered = [door.enter(in_place("Alps"), lambda _: None) for _ in range(SHARE_FROM - 1)]

    assert network.alphas() == [rete.AlphaSpec(rete.Template((None, "in", "Alps")))]
    assert all(rows == [(("hut",), 1)] for _, rows in entered)


def test_many_queries_of_a_template_share_a_network() -> None:
    network, door = entrance()

    entered = [door.enter(in_place(place), lambda _: None) for place in ["Jura"] * SHARE_FROM + ["Alps"]]

    assert len(network.alphas()) == 2
    assert [rows for _, rows in entered] == [[]] * SHARE_FROM + [[(("hut",), 1)]]


def test_a_template_is_forgotten_with_its_queries() -> None:
    network, door = entrance()
    entered = [door.enter(in_place("Alps"), lambda _: None) for _ in range(2 * SHARE_FROM)]

    for production, _ in entered:
        door.leave(production)
    door.enter(in_place("Alps"), lambda _: None)

    assert network.alphas() == [rete.AlphaSpec(rete.Template((None, "in", "Alps")))]


def test_a_refused_query_leaves_nothing_and_is_not_counted() -> None:
    network, door = entrance()
    selecting_nobody = Query(HUTS, ("nobody",), ("Alps",))

    for _ in range(SHARE_FROM):
        with pytest.raises(BadQuery, match="selected"):
            door.enter(selecting_nobody, lambda _: None)

    assert network.is_empty


def parsed(text: str, language: str, constants: list[str]) -> list[Query]:
    """With arguments, which the first ones of a text have not."""
    for number in range(2 * SHARE_FROM):
        parse_query(text.replace("%", f"first{number}"), language)
    return [parse_query(text.replace("%", constant), language) for constant in constants]


WAYS = {
    "as it is": ("(?f, by, %), (?f, in, ?c) FILTER ?c != x", "gsg"),
    "in another order": ("(?f, in, ?c), (?f, by, %) FILTER ?c != x", "gsg"),
    "by other names": ("(?film, by, %), (?film, in, ?city) FILTER ?city != x", "gsg"),
    "both": ("(?b, in, ?a), (?b, by, %) FILTER ?a != x", "gsg"),
}


@pytest.mark.parametrize("way", WAYS)
def test_queries_share_a_network_however_they_are_written(way: str) -> None:
    network, door = entrance()
    constants = [f"a{n}" for n in range(3 * SHARE_FROM)]
    for query in parsed(*WAYS["as it is"], constants):
        door.enter(query, lambda _: None)
    another = parsed(*WAYS[way], constants)[0]
    memories, count = len(network.alphas()), door.count_sharing(another)

    door.enter(another, lambda _: None)

    assert count == len(constants) - SHARE_FROM + 1
    assert (len(network.alphas()), door.count_sharing(another)) == (memories, count + 1)


def test_a_script_and_sparql_that_say_the_same_share_a_network() -> None:
    _, door = entrance()
    script = "SUBSCRIBE ?f, ?c { (?f, <urn:by>, <urn:%>), (?f, <urn:in>, ?c), NOT { (?c, <urn:is>, ?k) } }"
    sparql = "SELECT ?f ?town { ?f <urn:in> ?town ; <urn:by> <urn:%> FILTER NOT EXISTS { ?town <urn:is> ?old } }"
    constants = [f"a{n}" for n in range(3 * SHARE_FROM)]
    for query in parsed(script, "gsg", constants):
        door.enter(query, lambda _: None)

    assert door.count_sharing(parsed(sparql, "sparql", constants)[0]) == len(constants) - SHARE_FROM + 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(?f, by, %), (?f, in, ?c)", "(?f, by, %), (?c, in, ?f)"),
        ("(?f, by, %), (?f, in, ?c) FILTER ?c != x", "(?f, by, %), (?f, in, ?c) FILTER ?f != x"),
        ("SUBSCRIBE ?f, ?c { (?f, by, %), (?f, in, ?c) }", "SUBSCRIBE ?c, ?f { (?f, by, %), (?f, in, ?c) }"),
        ("(?f, by, %), (?f, in, ?c)", "(?f, by, %), NOT { (?f, in, ?c) }"),
    ],
)
def test_queries_that_mean_something_else_do_not(one: str, other: str) -> None:
    _, door = entrance()
    constants = [f"a{n}" for n in range(3 * SHARE_FROM)]
    for query in parsed(one, "gsg", constants):
        door.enter(query, lambda _: None)

    assert door.count_sharing(parsed(other, "gsg", constants)[0]) == 0


def test_nodes_of_functions_that_differ_in_names_are_one() -> None:
    network = rete.Network(lambda _: [])

    for name in ("t", "temperature"):
        text = f"SUBSCRIBE MAX(?{name}) AS ?m {{ (?r, temp, ?{name}) FILTER ?{name} > 3 }} HAVING ?m < 9"
        enter(network, parse_query(text, "gsg"), lambda _: None)

    assert len(network.alphas()) == 1
    kinds = [type(node).__name__ for top in network.tops() for node in below(top)]
    assert sorted(kinds) == ["Extension", "Groups", "Join", "Projection", "Root", "Selection"]


def below(node: Node) -> list[Node]:
    return [node, *(found for child in node.children if isinstance(child, Node) for found in below(child))]


def test_a_constant_that_cannot_be_looked_up_keeps_no_others_from_sharing() -> None:
    _, door = entrance()
    text = '(temp, ?r, ?t), (?r, room, ?u) FILTER ?t > "2026-01-%"^^<http://www.w3.org/2001/XMLSchema#date>'

    door.enter(parsed(text, "gsg", ["99"])[0], lambda _: None)
    good = parsed(text, "gsg", [f"{day:02}" for day in range(1, 29)])
    for query in good:
        door.enter(query, lambda _: None)

    assert door.count_sharing(good[0]) == len(good) - SHARE_FROM + 1

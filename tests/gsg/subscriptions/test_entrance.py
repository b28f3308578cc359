"""Where the queries of a network come in and go out."""

from __future__ import annotations

import pytest

import rete
from gsg.errors import BadQuery
from gsg.languages.query import Query
from gsg.storage.facts_by_template import FactsByTemplate
from gsg.subscriptions.entrance import SHARE_FROM, Entrance

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

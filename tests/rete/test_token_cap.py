"""The cap on what a query may hold: it ends alone, in time, and nothing of it stays."""

from __future__ import annotations

from itertools import product

import pytest
from notation import basic, condition, fact, group, none_of

import rete
from rete import algebra as a
from rete.token_cap import nodes_above

CROSS = ("?x p ?a", "?y q ?b")


class Held:
    """A network with its facts, and what its owner heard."""

    def __init__(self, *texts: str) -> None:
        self.facts = dict.fromkeys(map(fact, texts))
        self.network = rete.Network(self.facts_of, on_end=lambda production, why: self.ended.append((production, why)))
        self.ended: list[tuple[rete.Production, rete.TooManyTokens]] = []
        self.told: dict[str, dict[tuple[str, ...], int]] = {}

    def facts_of(self, alpha: rete.AlphaSpec) -> list[tuple[str, ...]]:
        return [items for items in self.facts if alpha.template.matches(items)]

    def change(self, sign: int, *texts: str) -> None:
        changes = [(fact(text), sign) for text in texts]
        for items, _ in changes:
            if sign > 0:
                self.facts[items] = None
            else:
                del self.facts[items]
        self.network.change(changes)

    def listener(self, name: str) -> object:
        rows = self.told.setdefault(name, {})

        def listen(changes: list[tuple[tuple[str, ...], int]]) -> None:
            for row, weight in changes:
                rows[row] = rows.get(row, 0) + weight

        return listen

    def watch(self, name: str, query: rete.Group | a.Algebra, *select: str, max_tokens: int) -> rete.Production:
        if isinstance(query, rete.Group):
            return self.network.subscribe(query, select, self.listener(name), max_tokens=max_tokens)
        return self.network.subscribe_algebra(query, select, self.listener(name), max_tokens=max_tokens)


def many(predicate: str, number: int) -> list[str]:
    return [f"{predicate}{at} {predicate} v{at}" for at in range(number)]


TREES = {
    "conditions": group(*CROSS),
    "a basic pattern": basic(*CROSS),
    "three": group(*CROSS, "?z r ?c"),
    "a join of streams": a.Join(a.Distinct(basic(CROSS[0])), a.Distinct(basic(CROSS[1]))),
    "an optional": a.LeftJoin(a.Distinct(basic(CROSS[0])), a.Slice(basic(CROSS[1]), None, 0, 100_000)),
    "distinct": a.Distinct(basic(*CROSS)),
    "inside EXISTS": a.Exists(basic("?w p ?d"), a.Distinct(basic(*CROSS))),
}


@pytest.mark.parametrize("name", TREES)
def test_a_product_ends_in_the_middle_of_a_transaction_and_nothing_of_it_stays(name: str) -> None:
    held = Held()
    query = TREES[name]
    ending = held.watch("product", query, "x", max_tokens=10_000)

    held.change(1, *many("p", 2_000), *many("q", 2_000), *many("r", 2_000))

    assert [production for production, _ in held.ended] == [ending]
    assert 10_000 < held.ended[0][1].tokens < 30_000
    assert held.told["product"] == {}
    assert held.network.is_empty


@pytest.mark.parametrize("name", TREES)
def test_a_product_is_refused_where_its_facts_are_there_already(name: str) -> None:
    held = Held(*many("p", 200), *many("q", 200), *many("r", 200))

    with pytest.raises(rete.TooManyTokens, match=r"at most [\d,]+ are allowed"):
        held.watch("product", TREES[name], "x", max_tokens=10_000)

    assert held.network.is_empty


def test_tokens_inside_a_negated_group_count() -> None:
    held = Held(*many("q", 50), *many("r", 50), "a p b")
    query = group("?x p ?a", none_of("?y q ?c", "?z r ?d"))

    held.watch("not", query, "x", max_tokens=100)
    with pytest.raises(rete.TooManyTokens):
        held.watch("less", query, "x", max_tokens=40)

    held.change(-1, *many("q", 50))
    assert held.told["not"] == {("a",): 1}
    held.change(1, *many("q", 200))
    assert [why.limit for _, why in held.ended] == [100]
    assert held.network.is_empty


def test_neighbours_that_share_its_nodes_go_on_with_right_rows() -> None:
    held = Held()
    first = held.watch("neighbour", group("?x p ?a"), "x", max_tokens=1_000_000)
    product_ = held.watch("product", group(*CROSS), "x", "y", max_tokens=500)
    larger = held.watch("larger", group(*CROSS), "x", "y", max_tokens=1_000_000)

    held.change(1, *many("p", 100), *many("q", 100))

    assert [production for production, _ in held.ended] == [product_]
    assert held.told["neighbour"] == {(f"p{at}",): 1 for at in range(100)} == dict(first.rows())
    assert held.told["larger"] == {(f"p{one}", f"q{two}"): 1 for one, two in product(range(100), repeat=2)}
    held.change(-1, *many("p", 100), *many("q", 100))
    assert not any(held.told["larger"].values())
    held.network.unsubscribe(larger)
    held.network.unsubscribe(product_)
    held.network.unsubscribe(first)
    assert held.network.is_empty


def test_a_query_within_its_cap_stays_and_grows_up_to_it() -> None:
    held = Held()
    watch = held.watch("pairs", group("?x p ?y", "?y q ?z"), "x", max_tokens=64)

    for at in range(21):
        held.change(1, f"a{at} p b{at}", f"b{at} q c{at}")
    assert sum(node.held for node in nodes_above(watch.node)) + watch.count <= 64  # type: ignore[attr-defined]
    assert held.ended == []
    for at in range(21, 40):
        held.change(1, f"a{at} p b{at}", f"b{at} q c{at}")

    assert [why.limit for _, why in held.ended] == [64]
    assert held.network.is_empty


def test_what_goes_makes_room() -> None:
    held = Held()
    held.watch("pairs", group("?x p ?y", "?y q ?z"), "x", max_tokens=64)

    for at in range(500):
        held.change(1, f"a{at} p b{at}", f"b{at} q c{at}")
        held.change(-1, f"a{at} p b{at}", f"b{at} q c{at}")

    assert held.ended == []


def test_an_event_ends_a_query_as_a_fact_does() -> None:
    held = Held()
    held.watch("product", group(*CROSS), "x", max_tokens=100)
    held.change(1, *many("q", 150))

    assert held.network.flash(("e", "p", "f")) == []

    assert [why.limit for _, why in held.ended] == [100]
    assert held.network.is_empty


def test_of_many_queries_in_one_network_only_the_one_that_holds_too_much_ends() -> None:
    held = Held()
    template = rete.Group((rete.Condition((rete.Parameter(0), "p", rete.Variable("x"))), condition("?x q ?y")))
    watching = {
        name: held.network.subscribe_template(template, (name,), ("x", "y"), held.listener(name), max_tokens=30)[0]
        for name in ("a", "b", "c")
    }

    held.change(1, *(f"a p x{at}" for at in range(40)), "b p x1", "x1 q y", "x2 q y")

    assert [production for production, _ in held.ended] == [watching["a"]]
    assert held.told["b"] == {("x1", "y"): 1}
    held.network.unsubscribe(watching["b"])
    held.network.unsubscribe(watching["c"])
    assert held.network.is_empty


def test_one_of_many_queries_ends_by_the_tokens_of_its_joins_though_nobody_has_a_row() -> None:
    held = Held()
    template = rete.Group((rete.Condition((rete.Parameter(0), "p", rete.Variable("x"))), condition("?x q ?y")))
    large, _ = held.network.subscribe_template(template, ("a",), ("x",), held.listener("a"), max_tokens=30)
    held.network.subscribe_template(template, ("b",), ("x",), held.listener("b"), max_tokens=30)

    held.change(1, *(f"a p x{at}" for at in range(60)))

    assert [production for production, _ in held.ended] == [large]


def test_a_query_with_too_many_rows_is_refused_by_a_network_that_it_would_share() -> None:
    held = Held(*(f"a p x{at}" for at in range(40)), "b p x1")
    template = rete.Group((rete.Condition((rete.Parameter(0), "p", rete.Variable("x"))),))
    kept, rows = held.network.subscribe_template(template, ("b",), ("x",), held.listener("b"), max_tokens=30)

    with pytest.raises(rete.TooManyTokens):
        held.network.subscribe_template(template, ("a",), ("x",), held.listener("a"), max_tokens=30)

    assert rows == [(("x1",), 1)]
    held.change(-1, "b p x1")
    assert held.told == {"b": {("x1",): -1}, "a": {}}
    held.network.unsubscribe(kept)
    assert held.network.is_empty

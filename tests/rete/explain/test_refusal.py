"""Why a solution does not hold: the part that leaves nothing of it is named."""

from __future__ import annotations

import naive_algebra as naive
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive import Fact
from naive_algebra import Count, Equals
from notation import basic, fact
from test_algebra_equivalence import facts as some_facts
from test_algebra_equivalence import trees
from world import World

import rete
from rete import BadQuery
from rete import algebra as a
from rete.explain.refusal import Examiner, Finding, culprits


def examined(tree: a.Algebra, values: dict[str, str], facts: list[Fact]) -> Finding:
    return Examiner(lambda condition, values: facts).examine(tree, values)


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(trees, st.lists(some_facts, max_size=8, unique=True), st.dictionaries(st.sampled_from("uvwx"), st.sampled_from("abc")))
def test_something_is_to_blame_exactly_where_no_row_has_the_values(
    tree: a.Algebra, facts: list[Fact], values: dict[str, str]
) -> None:
    try:
        World().network.subscribe_algebra(tree, (), lambda _: None)
    except BadQuery:
        return
    select = naive.scope(tree)
    values = {name: value for name, value in values.items() if name in select}
    rows = [dict(zip(select, row, strict=True)) for row in naive.rows(tree, select, facts)]

    blamed = culprits(examined(tree, values, facts))

    # A name that a row leaves unbound has no value: neither this one nor any.
    exactly = [row for row in rows if all(row[name] == value for name, value in values.items())]
    assert bool(blamed) == (not exactly)


CHAIN = basic("?x on ?y", "?y left ?z", "?z hue ?c")
BLOCKS = ["A on B", "D on E", "B left C", "E left F", "F hue red"]


def blame(tree: a.Algebra, values: dict[str, str], *texts: str) -> list[str]:
    def shown(finding: Finding) -> str:
        what = finding.what
        if isinstance(what, rete.Condition):
            words = " ".join("?" + one.name if isinstance(one, rete.Variable) else str(one) for one in what.pattern)
            return f"{words}: {finding.alone} facts, {finding.bound} with the values"
        return type(what).__name__

    return list(map(shown, culprits(examined(tree, values, list(map(fact, texts))))))


@pytest.mark.parametrize(
    ("tree", "values", "expected"),
    [
        (CHAIN, {"x": "D"}, []),
        (CHAIN, {"x": "A"}, ["?z hue ?c: 1 facts, 1 with the values"]),
        (CHAIN, {"x": "Z"}, ["?x on ?y: 2 facts, 0 with the values"]),
        (CHAIN, {"x": "D", "c": "blue"}, ["?z hue ?c: 1 facts, 0 with the values"]),
        (a.Filter(basic("?x on ?y"), Equals("y", "E")), {"x": "A"}, ["Filter"]),
        (a.Filter(basic("?x on ?y"), Equals("y", "E")), {"x": "Z"}, ["?x on ?y: 2 facts, 0 with the values"]),
        (a.Exists(basic("?x on ?y"), basic("?y left ?z"), negated=True), {"x": "A"}, ["Exists"]),
        (
            a.Exists(basic("?x on ?y"), basic("?y hue ?z")),
            {"x": "A"},
            ["Exists", "?y hue ?z: 1 facts, 0 with the values"],
        ),
        (a.Minus(basic("?x on ?y"), basic("?y left ?z")), {"x": "A"}, ["Minus"]),
        (a.LeftJoin(basic("?x on ?y"), basic("?y left ?z")), {"x": "A", "z": "F"}, ["LeftJoin"]),
        (
            a.Union(basic("?x left ?y"), basic("?x hue ?y")),
            {"x": "A"},
            ["?x left ?y: 2 facts, 0 with the values", "?x hue ?y: 1 facts, 0 with the values"],
        ),
        (a.Grouped(basic("?x on ?y"), ("x",), (("n", Count()),)), {"x": "A", "n": "2"}, ["Grouped"]),
        (a.Slice(basic("?x on ?y"), None, 0, 1), {"x": "D"}, ["Slice"]),
        (a.Join(a.Distinct(basic("?x on ?y")), a.Distinct(basic("?y hue ?z"))), {}, ["Join"]),
    ],
)
def test_the_part_that_fails_is_named(tree: a.Algebra, values: dict[str, str], expected: list[str]) -> None:
    assert blame(tree, values, *BLOCKS) == expected


def test_examples_show_what_there_was_before() -> None:
    found = examined(a.Filter(basic("?x on ?y"), Equals("y", "E")), {"x": "A"}, list(map(fact, BLOCKS)))

    assert [one.values for one in found.examples] == [{"x": "A", "y": "B"}]


def test_what_is_too_much_to_look_at_blames_nobody() -> None:
    many = [("a", "p", str(number)) for number in range(1_500)]

    found = examined(basic("?x p ?y", "?z p ?w", "?y q ?w"), {}, many)

    assert [blamed.alone for blamed in culprits(found)] == [0]
    crossing = examined(a.Join(basic("?x p ?y", "?z p ?w"), a.Distinct(basic("?w p ?y"))), {}, many)
    assert crossing.given_up or culprits(crossing)

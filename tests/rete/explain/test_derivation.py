"""Why a solution holds: the reasons given are right, and are all that there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import naive_algebra as naive
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive import Fact
from naive_algebra import Count, Equals
from notation import basic, condition, fact
from test_algebra_equivalence import facts as some_facts
from test_algebra_equivalence import trees
from world import World

import rete
from rete import BadQuery
from rete import algebra as a
from rete.explain.derivation import Derivation, Evidence, GivenUp, Solver


def solver(facts: list[Fact], steps: int = 100_000) -> Solver:
    return Solver(lambda condition, values: facts, steps=steps)


def facts_in(derivation: Derivation) -> Iterator[Fact]:
    for evidence in derivation.evidence:
        if evidence.fact is not None:
            yield evidence.fact
        for inner in evidence.inner:
            yield from facts_in(inner)


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(trees, st.lists(some_facts, max_size=8, unique=True))
def test_there_is_a_derivation_for_each_copy_of_each_row_and_for_no_other(tree: a.Algebra, facts: list[Fact]) -> None:
    try:
        World().network.subscribe_algebra(tree, (), lambda _: None)
    except BadQuery:
        return
    select = naive.scope(tree)
    expected = naive.rows(tree, select, facts)

    found = Counter(tuple(one.values.get(name) for name in select) for one in solver(facts).solve(tree, {}))

    assert found == expected
    for row, times in expected.items():
        known = {name: value for name, value in zip(select, row, strict=True) if value is not None}
        derivations = [one for one in solver(facts).solve(tree, known) if one.values == known]
        assert len(derivations) == times
        assert all(used in facts for one in derivations for used in facts_in(one))


@pytest.mark.parametrize(("fact", "found"), [(("a", "p", "a", "g"), []), (("g", "p", "a", "g"), [{"u": "g"}])])
def test_a_path_from_a_graph_to_itself_begins_at_a_node_of_the_graph(fact: Fact, found: list[dict[str, str]]) -> None:
    u = rete.Variable("u")
    path = a.Path(u, a.Closure(a.Link("p", False), True, True), u, u)

    assert [one.values for one in solver([fact]).solve(path, {})] == found
    assert naive.rows(path, ("u",), [fact]) == Counter(("g",) for _ in found)


def why(tree: a.Algebra, values: dict[str, str], *texts: str) -> list[list[str]]:
    """The evidence of each derivation: facts as they are, operators by their names with what is said of them."""

    def shown(evidence: Evidence) -> str:
        if evidence.fact is not None:
            return " ".join(evidence.fact)
        inner = "; ".join(" & ".join(map(shown, one.evidence)) for one in evidence.inner)
        total = f" {evidence.total}" if evidence.total else ""
        return f"{type(evidence.what).__name__}{total}: {evidence.said}{inner and f' [{inner}]'}"

    return [list(map(shown, one.evidence)) for one in solver(list(map(fact, texts))).solve(tree, values)]


WALK = a.Path(rete.Variable("x"), a.Closure(a.Link("to"), False, True), rete.Variable("y"))


@pytest.mark.parametrize(
    ("tree", "values", "texts", "expected"),
    [
        (basic("?x on ?y", "?y left ?z"), {"x": "A"}, ["A on B", "B left C", "Z on B"], [["A on B", "B left C"]]),
        (basic("?x on *"), {"x": "A"}, ["A on B", "A on C"], [["A on B"], ["A on C"]]),
        (a.LeftJoin(basic("?x on ?y"), basic("?y hue ?c")), {"x": "A"}, ["A on B"], [["A on B", "LeftJoin: there is no match"]]),
        (a.Union(basic("?x on ?y"), basic("?y on ?x")), {"x": "A"}, ["A on B"], [["A on B", "Union: first side"]]),
        (
            a.Exists(basic("?x on ?y"), basic("?y hue ?c")),
            {"x": "A"},
            ["A on B", "B hue red"],
            [["A on B", "Exists: there is a solution [B hue red]"]],
        ),
        (
            a.Exists(basic("?x on ?y"), basic("?y hue ?c"), negated=True),
            {"x": "A"},
            ["A on B"],
            [["A on B", "Exists: there is no solution"]],
        ),
        (
            a.Minus(basic("?x on ?y"), basic("?y hue ?c")),
            {"x": "A"},
            ["A on B"],
            [["A on B", "Minus: nothing is taken away"]],
        ),
        (
            a.Grouped(basic("?x on ?y"), ("x",), (("n", Count()),)),
            {"x": "A"},
            ["A on B", "A on C", "D on C"],
            [["Grouped 2:  [A on B; A on C]"]],
        ),
        (WALK, {"x": "A", "y": "C"}, ["A to B", "B to C", "C to A", "A to D"], [["A to B", "B to C"]]),
        (WALK, {"y": "C"}, ["A to B", "B to C"], [["B to C"], ["A to B", "B to C"]]),
        (a.Filter(basic("?x on ?y"), Equals("y", "B")), {}, ["A on B", "A on C"], [["A on B"]]),
    ],
)
def test_the_reasons_are_named(tree: a.Algebra, values: dict[str, str], texts: list[str], expected: list[list[str]]) -> None:
    assert [sorted(one) for one in why(tree, values, *texts)] == [sorted(one) for one in expected]


def test_it_gives_up_rather_than_look_at_all() -> None:
    many = [("a", "p", str(number)) for number in range(100)]

    with pytest.raises(GivenUp):
        list(solver(many, steps=1_000).solve(basic("?x p ?y", "?z p ?w"), {}))


def test_a_condition_is_matched_under_values() -> None:
    found = list(solver([("A", "on", "B"), ("A", "on", "A")]).matching(condition("?x on ?x"), {"x": "A"}))

    assert found == [(("A", "on", "A"), {"x": "A"})]

"""The alpha memories of a query are told without its network where it is conditions with tests."""

from __future__ import annotations

import pytest
from notation import basic, condition, group, none_of

import rete
from gsg.languages.expressions.operators import Computed, Holds
from gsg.languages.expressions.tree import Call, Constant, Name
from rete import algebra as a
from rete.conditions import MAX_CONDITIONS

HOT = Holds(Call(">", (Name("t"), Constant(20))))
APART = Holds(Call("!=", (Name("x"), Name("y"))))
TWO = basic("?x temp ?t", "?y temp ?u")
LONG = a.Basic(tuple(condition(f"?x p{number} ?t") for number in range(MAX_CONDITIONS)))
WINDOWED = a.Basic((rete.Condition((rete.Variable("t"), "on"), rete.Window(count=3)), rete.Condition(("on", rete.Variable("t")))))


def of_network(query: rete.Group | a.Algebra, select: tuple[str, ...]) -> list[rete.AlphaSpec]:
    hollow = rete.Network(lambda _: (), is_hollow=True)
    hollow.subscribe(query, select, lambda _: None)
    return hollow.alphas()


@pytest.mark.parametrize(
    ("query", "select"),
    [
        pytest.param(group("?x temp ?t", "?x temp ?t", "?x in *"), ("x",), id="group"),
        pytest.param(TWO, ("x", "u"), id="conditions"),
        pytest.param(a.Filter(a.Filter(TWO, HOT), APART), ("t",), id="tests of one condition and of both"),
        pytest.param(a.Project(a.Filter(TWO, HOT), ("t", "u")), ("t",), id="shown names of tested conditions"),
        pytest.param(a.Project(a.Project(TWO, ("t", "u")), ("t",)), ("t",), id="names shown twice"),
        pytest.param(a.Filter(WINDOWED, HOT), ("t",), id="window of events that takes no tests"),
    ],
)
def test_memories_are_those_of_the_network(query: rete.Group | a.Algebra, select: tuple[str, ...]) -> None:
    told = rete.memories_of(query, select)

    assert told is not None
    assert len(told) == len(set(told))
    assert set(told) == set(of_network(query, select))


@pytest.mark.parametrize(
    ("query", "select"),
    [
        pytest.param(group("?x temp ?t", none_of("?x in ?y")), ("x",), id="negated group"),
        pytest.param(a.Filter(a.Project(TWO, ("t",)), HOT), ("t",), id="test outside of what is shown"),
        pytest.param(a.Extend(TWO, "z", Computed(Name("t"))), ("z",), id="computation"),
        pytest.param(a.Project(TWO, ("t", "z")), ("t",), id="name that nothing binds"),
        pytest.param(TWO, ("z",), id="selected name that nothing binds"),
        pytest.param(a.Basic(()), (), id="no conditions"),
        pytest.param(a.Filter(LONG, HOT), ("x",), id="too deep"),
        pytest.param(rete.Group(()), (), id="group of nothing"),
    ],
)
def test_of_other_queries_a_network_tells(query: rete.Group | a.Algebra, select: tuple[str, ...]) -> None:
    assert rete.memories_of(query, select) is None

"""Tokens and rows that are counted are those that the real engine keeps and tells."""

from __future__ import annotations

import numpy as np
import pytest

import rete
from rete.inspect import held_by, nodes_of
from rete.operators.join import Join
from simulations.engine.randomness import Stream
from simulations.subscribers.join_shapes import FactTable, Pattern, Shape, conditions_of, counted, in_order, subscriptions
from simulations.workload.workload import Synthetic

WORKLOAD = Synthetic(1_200, (60, 5, 60), seed=11)
TABLE = FactTable(WORKLOAD.chunk(0, 1_200))
COUNT = 25


def asked(shape: Shape, constant: float = 0.5) -> list[list[Pattern]]:
    """Some of a shape."""
    predicates = WORKLOAD.laws[1].draw(Stream(7, "predicates"), 0, COUNT * conditions_of(shape))
    return subscriptions(shape, COUNT, TABLE, predicates, constant, 7)


@pytest.mark.parametrize("shape", list(Shape))
def test_tokens_and_rows_are_those_of_the_real_engine(shape: Shape) -> None:
    number = {code: place for place, code in enumerate(TABLE.codes.tolist())}
    subject, predicate, object_ = (column.tolist() for column in WORKLOAD.chunk(0, WORKLOAD.tuples).codes)
    facts = {(number[one], two, number[three]) for one, two, three in zip(subject, predicate, object_, strict=True)}
    rows = 0

    for patterns in asked(shape):

        def facts_of(alpha: rete.AlphaSpec) -> list[tuple[int, int, int]]:
            return [fact for fact in facts if alpha.template.matches(fact)]

        network = rete.Network(facts_of, lambda alpha: len(facts_of(alpha)))
        group = rete.Group(tuple(pattern.condition() for pattern in patterns))
        production = network.subscribe(group, group.variables(), lambda changes: None)
        order = in_order(patterns, TABLE)

        found = counted(order, TABLE)

        joins = [node for node in nodes_of(production) if isinstance(node, Join)]
        assert [join.spec.alpha.template for join in joins] == [pattern.condition().template for pattern in order]
        held = held_by(production)
        assert (found.tokens, found.rows) == (held.tokens, held.rows)
        assert found.most == max([join.held for join in joins[1:]] + [held.rows])
        assert found.facts == sum(len(facts_of(alpha)) for alpha in {join.spec.alpha for join in joins})
        rows += found.rows
    assert rows > 0


def test_a_last_condition_has_a_constant_that_some_fact_has() -> None:
    for patterns in asked(Shape.CHAIN, constant=1.0):
        assert isinstance(patterns[-1].object, int)
        assert TABLE.count(patterns[-1]) > 0
    assert all(isinstance(patterns[-1].object, str) for patterns in asked(Shape.CHAIN, constant=0.0))


def test_equal_facts_count_once() -> None:
    chunk = Synthetic(1_200, (3, 2, 3), seed=11).chunk(0, 1_200)

    table = FactTable(chunk)

    assert len(table) == len(np.unique(np.stack(chunk.codes), axis=1).T) <= 18

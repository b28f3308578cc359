"""Subscriptions of several conditions, as the experiment draws and reports them."""

from __future__ import annotations

import pytest

from gsg.placement.rules import Anchor
from simulations.engine.sweep import in_one_thread
from simulations.errors import BadParameter
from simulations.subscribers.frames import frames_of
from simulations.subscribers.join_shapes import Shape
from simulations.subscribers.joins import Joining, law_of, shaped, shown, sweep_of
from simulations.workload.workload import Synthetic

WORKLOAD = Synthetic(2_000, (200, 8, 200), seed=3)


@pytest.mark.parametrize("rule", [Anchor.RAREST, Anchor.PREDICATE])
def test_each_condition_is_posted_once_and_what_is_fed_bounds_the_first_join(rule: Anchor) -> None:
    rows = in_one_thread()(sweep_of(WORKLOAD, rule, Joining(60), [1, 2]))

    assert len(rows) == len(Shape) * 60 * 2
    assert all(row.at_subject + row.at_predicate + row.at_object == row.conditions >= row.templates for row in rows)
    assert all(row.at_object == 0 for row in rows) is (rule is Anchor.PREDICATE)
    assert all(row.rows <= row.most for row in rows)
    assert any(row.rows for row in rows)


def test_constants_are_as_often_as_asked_for() -> None:
    none, all_ = (in_one_thread()(sweep_of(WORKLOAD, Anchor.RAREST, Joining(40, share), [1])) for share in (0.0, 1.0))

    assert sum(row.at_object for row in none) == 0
    assert sum(row.at_object for row in all_) > 80
    assert shaped(all_)[0].facts.value < shaped(none)[0].facts.value


def test_the_report_says_what_is_fed_and_what_comes_of_it() -> None:
    rows = in_one_thread()(sweep_of(WORKLOAD, Anchor.RAREST, Joining(20), [1]))

    said = shown(rows, 2_000, frames_of())

    assert "are fed" in said.findings[0].text
    assert [cells[0] for cells in said.tables[0].cells] == [str(shape) for shape in Shape]


def test_a_large_law_is_made_as_small_as_joins_can_be_counted() -> None:
    law = law_of(Synthetic(10_000_000), 7)

    assert (law.tuples, law.seed) == (100_000, 7)
    assert law.distinct == (25_000, 1_000, 25_000)


@pytest.mark.parametrize(("count", "constant"), [(0, 0.5), (10, 1.5)])
def test_subscriptions_that_cannot_be_are_refused(count: int, constant: float) -> None:
    with pytest.raises(BadParameter):
        Joining(count, constant)

"""What goals may cost together: little is always granted, much only as the store fills."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pedro_compat.budget import FREE_STEPS, STEPS_PER_S, STORED_STEPS, Budget
from pedro_compat.unification import MAX_STEPS


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_first_evaluation_may_take_all_that_one_may() -> None:
    assert Budget(Clock()).grant() == MAX_STEPS


def test_ordinary_evaluations_cost_nothing_however_many() -> None:
    budget = Budget(Clock())

    for _ in range(100_000):
        budget.pay(FREE_STEPS)

    assert budget.grant() == MAX_STEPS


def test_after_a_costly_evaluation_little_is_granted_until_the_store_has_filled() -> None:
    clock = Clock()
    budget = Budget(clock)

    budget.pay(budget.grant())
    at_once = budget.grant()
    clock.now_s += 0.1
    soon = budget.grant()
    clock.now_s += 10
    later = budget.grant()

    assert FREE_STEPS <= at_once <= 2 * FREE_STEPS
    assert abs(soon - at_once - STEPS_PER_S / 10) <= 1
    assert later == MAX_STEPS


@given(st.lists(st.tuples(st.floats(0, 0.2), st.floats(0, 1)), max_size=50))
def test_never_more_is_taken_than_the_store_held_and_what_came(evaluations: list[tuple[float, float]]) -> None:
    clock = Clock()
    budget = Budget(clock)
    taken = 0

    for pause_s, share in evaluations:
        clock.now_s += pause_s
        steps = int(budget.grant() * share)
        budget.pay(steps)
        taken += steps

    assert taken <= STORED_STEPS + (clock.now_s - 100.0) * STEPS_PER_S + len(evaluations) * FREE_STEPS

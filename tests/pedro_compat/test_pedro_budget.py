"""What goals may cost together: little is always granted, much only as the store fills, and to each by what it has taken."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pedro_replay import subscription

from pedro_compat import PAPER, CoverTest, covers, parse
from pedro_compat.budget import FREE_STEPS, STEPS_PER_S, STORED_STEPS, Account, Budget
from pedro_compat.failures import WARN_EVERY_S, Failures
from pedro_compat.unification import MAX_STEPS


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def take_all(budget: Budget, account: Account) -> int:
    """An evaluation that takes what it may."""
    granted = budget.grant(account)
    budget.pay(account, granted)
    return granted


def test_first_evaluation_may_take_all_that_one_may() -> None:
    assert Budget(Clock()).grant(None) == MAX_STEPS


def test_ordinary_evaluations_cost_nothing_however_many() -> None:
    budget, account = Budget(Clock()), Account()

    for _ in range(100_000):
        budget.pay(account, FREE_STEPS)

    assert budget.grant(account) == MAX_STEPS


def test_after_costly_evaluations_their_subscription_is_granted_little_until_the_store_has_filled() -> None:
    clock = Clock()
    budget, account = Budget(clock), Account()

    for _ in range(20):
        take_all(budget, account)
    at_once = budget.grant(account)
    clock.now_s += 0.05
    soon = budget.grant(account)
    clock.now_s += 10
    later = budget.grant(account)

    assert FREE_STEPS <= at_once <= 2 * FREE_STEPS
    assert abs(soon - at_once - STEPS_PER_S * 0.05) <= FREE_STEPS
    assert later == MAX_STEPS


def test_another_subscription_is_not_hurt_by_the_costliest() -> None:
    budget, costly = Budget(Clock()), Account()

    for _ in range(1_000):
        take_all(budget, costly)

    assert budget.grant(None) >= STORED_STEPS // 4


@pytest.mark.parametrize("greedy", [3, 10, 30])
def test_goals_of_few_steps_are_served_beside_many_costly_ones(greedy: int) -> None:
    clock = Clock()
    budget, accounts = Budget(clock), [Account() for _ in range(greedy)]

    for _ in range(2_000):
        clock.now_s += 0.001
        for account in accounts:
            take_all(budget, account)

    assert budget.grant(None) >= STORED_STEPS / (greedy + 1) / 3


def test_subscription_that_is_alone_can_use_all_that_comes_in() -> None:
    clock = Clock()
    budget, account = Budget(clock), Account()
    taken = 0

    for _ in range(1_000):
        clock.now_s += 0.01
        taken += take_all(budget, account) - FREE_STEPS

    assert taken >= 10 * STEPS_PER_S


def test_equal_subscriptions_get_equal_parts_however_they_began() -> None:
    clock = Clock()
    budget, accounts = Budget(clock), [Account() for _ in range(4)]
    for _ in range(50):
        take_all(budget, accounts[0])
    taken = [0] * 4

    for _ in range(2_000):
        clock.now_s += 0.01
        taken = [had + take_all(budget, account) for had, account in zip(taken, accounts, strict=True)]

    assert max(taken) < 1.2 * min(taken)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 0.2), st.floats(0, 1)), max_size=50))
def test_never_more_is_taken_than_the_store_held_and_what_came(evaluations: list[tuple[int, float, float]]) -> None:
    clock = Clock()
    budget, accounts = Budget(clock), [Account() for _ in range(4)]
    taken = 0

    for who, pause_s, share in evaluations:
        clock.now_s += pause_s
        steps = int(budget.grant(accounts[who]) * share)
        budget.pay(accounts[who], steps)
        taken += steps

    assert taken <= STORED_STEPS + (clock.now_s - 100.0) * STEPS_PER_S + len(evaluations) * FREE_STEPS


# --- the tests of subscriptions ----------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(covers, "_budget", Budget(made))
    monkeypatch.setattr(covers.Subscription, "failures", Failures(made))
    return made


ENDLESS = "f(L),(member(A,L),member(B,L),member(C,L),member(D,L),A = b)"
LINE = parse(f"f([{','.join(['a'] * 60)}])")


def test_match_fails_for_want_of_steps_by_its_own_cost_and_not_by_another_s(clock: Clock) -> None:
    hostile = CoverTest(subscription(ENDLESS, PAPER))
    modest = CoverTest(subscription("f(L),(member(A,L),member(B,L),A = a,not(member(b,L)),not((member(C,L),C = b)))", PAPER))

    outcomes = [(hostile.of_term(LINE), modest.of_term(LINE)) for _ in range(50)]

    assert outcomes == [(False, True)] * 50
    assert covers.Subscription.failures.exhausted == 1
    assert covers.Subscription.failures.starved == 49


def test_match_that_needs_more_than_one_may_ever_have_is_no_victim_of_others(clock: Clock) -> None:
    hostile = CoverTest(subscription(ENDLESS, PAPER))

    for _ in range(3):
        hostile.of_term(LINE)
        clock.now_s += 60

    assert (covers.Subscription.failures.exhausted, covers.Subscription.failures.starved) == (3, 0)


def test_number_that_is_too_long_costs_what_it_took(clock: Clock) -> None:
    test = CoverTest(subscription("f(_),X is 1 << 100000", PAPER))

    for _ in range(1_000):
        test.of_term(LINE)

    assert (covers.Subscription.failures.exhausted, covers._budget.is_full) == (1_000, True)


def test_want_of_steps_is_logged_now_and_then_with_the_subscription(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    failures = Failures(clock)

    for _ in range(3):
        failures.starve(lambda: "paper covers(f(V0),true)")
    clock.now_s += WARN_EVERY_S
    failures.starve(lambda: "1.14 covers(g,true)")

    assert [record.getMessage() for record in caplog.records] == [
        "goals of Pedro subscriptions are too costly together: 1 matches failed; the last of paper covers(f(V0),true)",
        "goals of Pedro subscriptions are too costly together: 4 matches failed; the last of 1.14 covers(g,true)",
    ]

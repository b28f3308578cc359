"""How far an incarnation of our own is raised, and how high a one of another peer is believed at others' word."""

from __future__ import annotations

import pytest

from dht.datagrams.gossip import MAX_INCARNATION
from dht.liveness.incarnations import LIVES_APART, REFUTATIONS, Incarnations


def begun(first: int, now: float = 100.0) -> Incarnations:
    """Those of a life that begins now."""
    incarnations = Incarnations(first)
    incarnations.tick(now)
    return incarnations


@pytest.mark.parametrize(
    ("said", "refuted", "present"),
    [
        pytest.param(999, False, 1_000, id="void already"),
        pytest.param(1_000, True, 1_001, id="the present one"),
        pytest.param(1_000 + REFUTATIONS, True, 1_001 + REFUTATIONS, id="the latest"),
        pytest.param(1_001 + REFUTATIONS, False, 1_000, id="one to come"),
        pytest.param(MAX_INCARNATION, False, 1_000, id="the highest of all"),
    ],
)
def test_ours_is_raised_above_what_was_said_unless_that_is_to_come(said: int, refuted: bool, present: int) -> None:
    incarnations = begun(1_000)

    assert incarnations.refutes(said, 100.0) == refuted
    assert incarnations.present == present


def test_what_was_to_come_is_refuted_when_it_has_come() -> None:
    incarnations = begun(1_000)

    assert not incarnations.refutes(5_000, 101.0)
    assert incarnations.refutes(5_000, 104.0)
    assert incarnations.present == 5_001


def test_before_anybody_said_what_time_it_is_refutations_are_all_there_is() -> None:
    assert Incarnations(1_000).latest(50_000.0) == 1_000 + REFUTATIONS


def test_the_next_life_does_not_begin_below_what_this_one_was_made_to_refute() -> None:
    incarnations = begun(1_000)
    later_s = 100.0 + LIVES_APART / 1000

    assert incarnations.refutes(incarnations.latest(100.0), 100.0)

    assert begun(1_000 + LIVES_APART, later_s).present >= incarnations.present


def test_none_is_raised_beyond_what_a_datagram_may_hold() -> None:
    incarnations = begun(MAX_INCARNATION)

    assert incarnations.refutes(MAX_INCARNATION, 100.0)
    assert incarnations.present == MAX_INCARNATION


def test_of_others_what_they_have_told_explains_is_believed_else_what_our_clock_does() -> None:
    incarnations = begun(1_000)

    assert incarnations.believed(70_000, 102.0) == 70_000 + REFUTATIONS
    assert incarnations.believed(0, 102.0) == REFUTATIONS
    assert incarnations.believed(None, 102.0) == 3_000 + REFUTATIONS

"""Intervals from changes, and back."""

from __future__ import annotations

import pytest

from simulations.replay.intervals import FOREVER, copies, gaps, merged, truth_of

TRUTHS = {
    "nothing": ([], []),
    "it comes and goes": ([(1, 1), (3, -1)], [(1, 3)]),
    "it comes and stays": ([(1, 1)], [(1, FOREVER)]),
    "inserted twice it is there once": ([(1, 1), (2, 1), (3, -1), (4, -1)], [(1, 3)]),
    "what was never there cannot go": ([(1, -1), (2, 1)], [(2, FOREVER)]),
    "in a moment the last change counts": ([(1, 1), (1, -1), (2, 1), (2, -1), (2, 1)], [(2, FOREVER)]),
    "gone and back in a moment it stays": ([(1, 1), (2, -1), (2, 1), (3, -1)], [(1, 3)]),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_when_a_fact_holds(name: str) -> None:
    changes, intervals = TRUTHS[name]

    assert list(truth_of(changes)) == intervals


def test_a_union_joins_what_meets() -> None:
    assert list(merged([(5, 6), (1, 3), (3, 4), (2, 3)])) == [(1, 4), (5, 6)]
    assert list(merged([(-FOREVER, 2), (2, 3)])) == [(-FOREVER, 3)]


def test_gaps_reach_from_the_beginning_to_the_end() -> None:
    assert list(gaps([(1, 4), (5, FOREVER)])) == [(-FOREVER, 1), (4, 5)]
    assert list(gaps([])) == [(-FOREVER, FOREVER)]


def test_of_equal_rows_the_first_goes_first_and_a_seamless_change_is_not_seen() -> None:
    assert list(copies([(1, 9), (2, 4), (4, 6), (5, FOREVER)])) == [(1, 6), (2, 9), (5, FOREVER)]

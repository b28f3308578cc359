"""Intervals hold what is true as often as they say, and say so where nothing was seen."""

from __future__ import annotations

import numpy as np
import pytest

from simulations.engine.intervals import Interval, difference_of, mean_of, quantile_of, share_of


def test_a_mean_has_the_interval_of_student() -> None:
    # 12.706 is Student's t of one degree of freedom; the two values are 1 from their mean, so its error is 1.
    found = difference_of([1.0, 3.0])

    assert found.value == 2
    assert (found.low, found.high) == (pytest.approx(2 - 12.706, abs=1e-3), pytest.approx(2 + 12.706, abs=1e-3))


def test_what_is_counted_is_never_below_nothing_and_a_difference_may_be() -> None:
    counted, difference = mean_of([1.0, 3.0]), difference_of([1.0, 3.0])

    assert (counted.value, counted.low, counted.high) == (difference.value, 0.0, difference.high)
    assert mean_of([99.0, 101.0]) == difference_of([99.0, 101.0])


def test_one_run_has_no_interval() -> None:
    assert mean_of([3.5]) == Interval(3.5, None, None)
    assert str(mean_of([3.5])) == "3.5"
    assert str(mean_of([142_780.0])) == "142,780"


def test_a_difference_of_shares_is_told_in_points() -> None:
    assert Interval(-0.1286, -0.1346, -0.1226).points() == "-12.86 (-13.46 to -12.26)"
    assert Interval(0.0, 0.0, 0.0).points() == "0 (0 to 0)"


@pytest.mark.parametrize(("trials", "most"), [(20, "14%"), (300, "1.00%"), (4_000, "0.075%"), (1_000_000, "0.00030%")])
def test_nothing_of_few_is_told_as_a_bound(trials: int, most: str) -> None:
    found = share_of([0.0] * 5, trials)

    assert found.percent() == f"0 of {trials:,}, below {most}"
    assert found.high is not None
    # So rare would it have to be to be seen by one in twenty only.
    assert (1 - found.high) ** trials == pytest.approx(0.05)


def test_an_end_that_is_nothing_beside_the_value_is_told_as_nothing() -> None:
    assert Interval(0.01, 1e-30, 0.38, 50).percent() == "1% (0 to 38)"


def test_all_of_few_are_told_as_a_bound() -> None:
    assert share_of([1.0, 1.0], 300).percent() == "all of 300, above 99%"


def test_one_run_has_the_interval_of_clopper_and_pearson() -> None:
    # 4 of 20, as tables have it.
    found = share_of([0.2], 20)

    assert (found.low, found.high) == (pytest.approx(0.0573, abs=1e-4), pytest.approx(0.4366, abs=1e-4))


def test_runs_that_are_far_apart_make_a_wide_interval() -> None:
    alike, apart = share_of([0.19, 0.2, 0.21, 0.2], 4_000), share_of([0.05, 0.4, 0.1, 0.25], 4_000)

    assert alike.value == pytest.approx(apart.value)
    assert alike.high - alike.low < 0.03 < 0.3 < apart.high - apart.low  # type: ignore[operator]  # shares that were seen have both


@pytest.mark.parametrize(("share", "clusters"), [(0.3, 12), (0.02, 25), (0.002, 40)])
def test_shares_in_clusters_are_within_nine_times_in_ten_at_least(share: float, clusters: int) -> None:
    # Each run is of 100 trials that come in tens of one fate: what is wrong with counting trials as if they were independent.
    rng, within = np.random.default_rng(7), 0
    for _ in range(400):
        found = share_of((rng.binomial(10, share, clusters) / 10).tolist(), 10 * clusters)
        assert found.low is not None
        assert found.high is not None
        within += found.low <= share <= found.high

    assert within >= 360


def test_a_quantile_lies_between_order_statistics_that_hold_for_any_law() -> None:
    rng, within = np.random.default_rng(8), 0
    for _ in range(400):
        found = quantile_of(rng.exponential(size=60).tolist(), 0.9)
        assert found.low is not None
        assert found.high is not None
        within += found.low <= np.log(10) <= found.high

    assert within >= 370


def test_the_most_of_few_runs_bounds_no_quantile() -> None:
    found = quantile_of([float(value) for value in range(20)], 0.9)

    assert (found.value, found.low, found.high) == (17.0, 14.0, None)
    assert str(found) == "17.0 (from 14.0)"


@pytest.mark.parametrize(
    ("interval", "told"),
    [
        (Interval(0.0145, 0.0136, 0.0154), "1.450% (1.360 to 1.540)"),
        (Interval(0.00032, 0.0002, 0.0005), "0.032% (0.020 to 0.050)"),
        (Interval(0.5, None, None), "50%"),
        (Interval(0.4385822474, 0.4385822474, 0.4385822474000001), "43.86% (43.86 to 43.86)"),
        (Interval(0.0, 0.0, 0.0), "0% (0 to 0)"),
        (Interval(0.0, 0.0, 0.0001), "0% (0 to 0.010)"),
        (Interval(0.0001, 0.0000013, 0.0057), "0.01% (0.0001 to 0.57)"),
    ],
)
def test_a_share_is_told_in_as_many_digits_as_are_known(interval: Interval, told: str) -> None:
    assert interval.percent() == told

"""How evenly a load is spread."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulations.load_balance.loads import CURVE_POINTS, Histogram, ccdf, lorenz, spread_of

LOADS = st.lists(st.integers(0, 1_000), min_size=1, max_size=60)


@given(LOADS)
def test_the_numbers_are_those_of_their_definitions(values: list[int]) -> None:
    spread = spread_of(Histogram.of(np.array(values)))

    total, count = sum(values), len(values)
    if total:
        differences = sum(abs(one - other) for one in values for other in values)
        shares = [value / total for value in values if value]
        assert spread.max_over_mean == pytest.approx(max(values) * count / total)
        assert spread.gini == pytest.approx(differences / (2 * count * total), abs=1e-12)
        assert spread.entropy == pytest.approx(
            -sum(p * math.log(p) for p in shares) / math.log(count) if count > 1 else 1.0, abs=1e-12
        )
        assert sum(value <= spread.p99_over_mean * spread.mean * (1 + 1e-12) for value in values) >= 0.99 * count
    assert spread.idle == pytest.approx(values.count(0) / count)


def test_one_who_carries_all_and_all_who_carry_the_same() -> None:
    one, same = spread_of(Histogram.of(np.array([0, 0, 0, 8]))), spread_of(Histogram.of(np.array([2, 2, 2, 2])))

    assert (one.max_over_mean, one.gini, one.entropy) == (4.0, 0.75, 0.0)
    assert (same.max_over_mean, same.gini, same.entropy) == (1.0, 0.0, pytest.approx(1.0))


@given(LOADS)
def test_the_ccdf_counts_who_carries_at_least_so_much(values: list[int]) -> None:
    loads, shares = ccdf(Histogram.of(np.array(values)))

    assert loads.tolist() == sorted({value for value in values if value})
    assert shares.tolist() == [sum(value >= load for value in values) / len(values) for load in loads]


@given(LOADS)
def test_the_lorenz_curve_rises_from_nothing_to_all_below_the_diagonal(values: list[int]) -> None:
    peers, carried = lorenz(Histogram.of(np.array(values)))

    assert (carried[0], carried[-1]) == (0.0, pytest.approx(1.0))
    assert (carried <= peers + 1e-9).all()


def test_curves_of_many_peers_keep_their_ends_and_few_points() -> None:
    load = np.arange(1, 100_001)

    x, y = ccdf(Histogram.of(load))

    assert len(x) <= 2 * CURVE_POINTS
    assert (x[0], x[-1], y[0], y[-1]) == (1, load[-1], 1.0, 1e-5)


@given(st.lists(st.lists(st.integers(0, 1 << 18), max_size=30), min_size=1, max_size=4))
def test_parts_add_up_to_the_whole(parts: list[list[int]]) -> None:
    summed = Histogram.sum([Histogram.of(np.array(part, dtype=np.int64)) for part in parts])

    whole = Counter(value for part in parts for value in part)
    assert dict(zip(summed.values.tolist(), summed.peers.tolist(), strict=True)) == whole
    assert summed.values.tolist() == sorted(whole)
    assert (summed.count, summed.total) == (sum(map(len, parts)), sum(map(sum, parts)))

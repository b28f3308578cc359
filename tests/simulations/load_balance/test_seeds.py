"""Figures over several seeds: each seed is a run of its own, and together they say how far chance goes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from simulations.errors import BadParameter
from simulations.load_balance.balance import InOneThread
from simulations.load_balance.experiments import BalanceRequest, balance

SMALL = BalanceRequest(peers=40, tuples=3_000, subscriptions=50, strategies=("rarest", "hot-split-1"), seed=3)


def test_each_seed_is_the_run_that_it_makes_alone(tmp_path: Path) -> None:
    together = balance(replace(SMALL, seeds=3), InOneThread, tmp_path)
    alone = [balance(replace(SMALL, seed=seed), InOneThread, tmp_path).outcomes for seed in (3, 4, 5)]

    for place, over in enumerate(together.over_seeds):
        assert over.values("peak_tuples") == [float(outcomes[place].tuples.largest) for outcomes in alone]
        assert over.values("busiest_share_of_tuples") == [outcomes[place].busiest_tuples for outcomes in alone]
    assert together.outcomes[0].summary() == alone[0][0].summary()


def test_means_with_intervals_are_in_the_numbers_and_in_the_report(tmp_path: Path) -> None:
    found = balance(replace(SMALL, seeds=4), InOneThread, tmp_path)

    told = json.loads((tmp_path / "summary.json").read_text())[1]["over_seeds"]
    values = told["values"]["max_over_mean"]
    assert len(values) == 4
    assert told["max_over_mean_low"] < told["max_over_mean"] < told["max_over_mean_high"]
    assert min(values) <= told["max_over_mean"] <= max(values)
    assert str(found.over_seeds[1].mean("max_over_mean")) in (tmp_path / "report.html").read_text()


def test_one_seed_says_that_it_is_one(tmp_path: Path) -> None:
    found = balance(SMALL, InOneThread, tmp_path)

    assert found.over_seeds == []
    assert "All figures are of one seed" in (tmp_path / "report.html").read_text()
    assert "over_seeds" not in json.loads((tmp_path / "summary.json").read_text())[0]


def test_the_busiest_share_compares_strategies_that_send_different_numbers_of_copies(tmp_path: Path) -> None:
    request = BalanceRequest(peers=200, tuples=20_000, subscriptions=500, strategies=("rarest", "composite"))

    plain, pairs = balance(request, InOneThread, tmp_path).outcomes

    # Twice the copies make the mean twice as high, and nobody less busy.
    assert pairs.spreads()["tuple_load"].max_over_mean < 0.7 * plain.spreads()["tuple_load"].max_over_mean
    assert pairs.busiest_tuples >= plain.busiest_tuples
    assert pairs.summary()["busiest_share_of_tuples"] == pairs.tuples.largest / 20_000


@pytest.mark.parametrize(
    ("seed", "seeds", "complaint"),
    [
        (0, 0, "0 seeds; expected 1 to 1000"),
        (1, 1001, "1001 seeds; expected"),
        ((1 << 63) - 1, 2, "2 seeds from 9223372036854775807 on"),
    ],
)
def test_impossible_numbers_of_seeds_are_refused(seed: int, seeds: int, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match=complaint):
        balance(replace(SMALL, seed=seed, seeds=seeds), InOneThread, tmp_path / "out")

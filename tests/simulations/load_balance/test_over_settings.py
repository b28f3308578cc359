"""Strategies over lists of settings: each run is the one that it would be alone, and differences are taken seed by seed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from gsg.cli import main as gsg_command
from simulations.engine.experiment import run
from simulations.engine.intervals import difference_of, mean_of
from simulations.engine.sweep import in_one_thread, on_spark
from simulations.errors import BadParameter
from simulations.load_balance.balance import InOneThread
from simulations.load_balance.experiments import BalanceRequest, balance
from simulations.load_balance.over_settings import LoadRow, Setting, SweepRequest, experiment, means_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = SweepRequest(
    peers=(20, 60),
    tuples=(2_000,),
    subscriptions=(50,),
    zipf=("0.5,1,1", "0,1.3,0"),
    strategies=("rarest", "hot-split-1"),
    seed=3,
    runs=3,
)


def rows_of(request: SweepRequest) -> list[LoadRow]:
    found: list[LoadRow] = in_one_thread()(experiment(request).sweeps["settings"])
    return found


def test_each_run_is_the_one_that_it_would_be_alone(tmp_path: Path) -> None:
    rows = rows_of(SMALL)

    assert len(rows) == 2 * 2 * 2 * 3
    for row in rows[::5]:
        alone = BalanceRequest(
            peers=row.peers, tuples=row.tuples, subscriptions=50, zipf=row.zipf, strategies=(row.strategy,), seed=row.seed
        )
        summary = balance(alone, InOneThread, tmp_path).outcomes[0].summary()
        assert row.busiest_share_of_tuples == summary["busiest_share_of_tuples"]
        assert row.busiest_share_of_work == summary["busiest_share_of_work"]
        assert row.messages_per_tuple == summary["messages_per_tuple"]


def test_drift_adversaries_and_capacities_are_parts_of_a_setting(tmp_path: Path) -> None:
    asked = SweepRequest(
        peers=(40,),
        tuples=(2_000,),
        subscriptions=(50,),
        drift=(0.2, 0.8),
        adversary=("", "key:0.1"),
        capacity=("", "1=9,10=1"),
        strategies=("rarest",),
        runs=1,
    )

    rows = rows_of(asked)

    assert len({(row.drift, row.adversary, row.capacity) for row in rows}) == len(rows) == 8
    for row in rows:
        alone = BalanceRequest(
            peers=40,
            tuples=2_000,
            subscriptions=50,
            drift=row.drift,
            adversary=row.adversary,
            capacity=row.capacity,
            strategies=("rarest",),
        )
        (outcome,) = balance(alone, InOneThread, tmp_path).outcomes
        assert row.busiest_share_of_tuples == outcome.busiest_tuples
        assert row.utilisation_max_over_mean == outcome.utilisation_max_over_mean
        assert (row.utilisation_max_over_mean is None) == (not row.capacity)


def test_a_setting_that_is_said_twice_is_counted_once() -> None:
    twice = SweepRequest(peers=(20, 20), tuples=(1_000,), subscriptions=(20,), strategies=("rarest",), runs=2)

    assert len(rows_of(twice)) == 2


def test_differences_are_those_of_the_same_seed() -> None:
    rows = rows_of(SMALL)
    settings = list({(row.peers, row.zipf): row for row in rows}.values())

    means = means_of(rows, [setting_of(row) for row in settings], SMALL.strategies)

    for mean in means:
        of_setting = [row for row in rows if (row.peers, row.zipf) == (mean.setting.peers, mean.setting.zipf)]
        first = {row.seed: row.busiest_share_of_tuples for row in of_setting if row.strategy == "rarest"}
        mine = {row.seed: row.busiest_share_of_tuples for row in of_setting if row.strategy == mean.strategy}
        assert mean.busiest_share_of_tuples == mean_of(list(mine.values()))
        if mean.strategy == "rarest":
            assert mean.difference is None
        else:
            assert mean.difference == difference_of([mine[seed] - first[seed] for seed in sorted(mine)])


def setting_of(row: LoadRow) -> Setting:
    return Setting(**{name: getattr(row, name) for name in Setting.__dataclass_fields__})


def test_spark_plays_the_same(spark: SparkSession) -> None:
    asked = SweepRequest(peers=(20,), tuples=(1_000,), subscriptions=(20,), strategies=("rarest", "composite"), runs=2)

    assert on_spark(spark, partitions=2)(experiment(asked).sweeps["settings"]) == rows_of(asked)


def test_numbers_and_report_are_left(tmp_path: Path) -> None:
    run(experiment(SMALL), in_one_thread, tmp_path)

    summary = json.loads((tmp_path / "summary.json").read_text())
    page = (tmp_path / "report.html").read_text()
    assert [(one["peers"], one["zipf"], one["strategy"]) for one in summary[:2]] == [
        (20, "0.5,1,1", "rarest"),
        (20, "0.5,1,1", "hot-split-1"),
    ]
    assert summary[1]["difference_low"] <= summary[1]["difference"] <= summary[1]["difference_high"]
    assert re.search(r"of all tuples by hot-split-1 \((.*?)\), and [\d.]+% by rarest \(\1\)\.", page)  # in one setting
    assert "4 settings, 2 strategies, 3 seeds of each." in page
    assert "against peers" in page


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"strategies": ("rarest", "rarely")}, "unknown strategy 'rarely'"),
        ({"peers": (0,)}, "0 peers; expected 1 to"),
        ({"tuples": (10**9,)}, "1000000000 tuples of one case; expected 1 to 100000000"),
        ({"zipf": ("1,2",)}, "--zipf '1,2'; expected three numbers"),
        ({"mix": ("?p?=1",), "width": (0.1,)}, "--width 0.1 lies between bounds, and the mix"),
        ({"drift": (0.0,)}, "a drift of 0; expected a share of all tuples"),
        ({"adversary": ("", "king:1")}, "adversary 'king:1'; expected key:SHARE or peer:SHARE"),
        ({"capacity": ("pareto:0",)}, "capacities 'pareto:0': expected pareto:ALPHA"),
        ({"strategies": ("replicas-30",), "peers": (20,)}, "30 holders of a key among 20 peers"),
        ({"runs": 0}, "0 runs; expected 1 to"),
        ({"peers": tuple(range(1, 101)), "runs": 200}, "runs; expected 10000 at most"),
    ],
    ids=["strategy", "peers", "tuples", "zipf", "width", "drift", "adversary", "capacity", "replicas", "runs", "cases"],
)
def test_what_cannot_be_is_refused_before_anything_runs(asked: dict[str, object], complaint: str) -> None:
    with pytest.raises(BadParameter, match=complaint):
        experiment(SweepRequest(**asked))  # type: ignore[arg-type]  # of these fields


def test_the_command_takes_days_that_are_not_steady_and_peers_that_are_not_alike(tmp_path: Path) -> None:
    arguments = ["--peers", "10", "--tuples", "500", "--subscriptions", "9", "--seeds", "2", "--strategy", "rarest", "--json"]
    unsteady = ["--drift", "0.1,0.5", "--adversary", "peer:0.1", "--capacity", "pareto:1.5", "--capacity", "1=1,2=1"]

    ran = CliRunner().invoke(gsg_command, ["simulate", "sweep", "--engine", "numpy", "--out", str(tmp_path), *arguments, *unsteady])

    assert ran.exit_code == 0, ran.output
    assert [(one["drift"], one["capacity"]) for one in json.loads(ran.stdout)] == [
        (0.1, "pareto:1.5"),
        (0.1, "1=1,2=1"),
        (0.5, "pareto:1.5"),
        (0.5, "1=1,2=1"),
    ]
    assert "utilised" in (tmp_path / "report.html").read_text()


def test_the_command_takes_lists(tmp_path: Path) -> None:
    arguments = ["--peers", "10,20", "--tuples", "500", "--subscriptions", "9", "--mix", "?p?=1", "--mix", "s??=1", "--seeds", "2"]

    ran = CliRunner().invoke(gsg_command, ["simulate", "sweep", "--engine", "numpy", "--json", "--out", str(tmp_path), *arguments])

    assert ran.exit_code == 0, ran.output
    assert [(one["peers"], one["mix"]) for one in json.loads(ran.stdout)[::2]] == [
        (10, "?p?=1"),
        (10, "s??=1"),
        (20, "?p?=1"),
        (20, "s??=1"),
    ]

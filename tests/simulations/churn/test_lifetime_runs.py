"""Churn by lifetimes: what was asked for is what is run, with the same rows on either engine, and a report that says it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from simulations.churn.lifetime_cases import Case, Kept, LifetimesRequest, Mean, expected_losses_s
from simulations.churn.lifetime_runs import experiment
from simulations.churn.runs import ChurnRequest
from simulations.churn.runs import experiment as epochs
from simulations.engine.experiment import run
from simulations.engine.sweep import Sweep, in_one_thread, on_spark
from simulations.errors import BadParameter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = LifetimesRequest(
    peers=(80,), tuples=400, subscriptions=200, lifetimes=("exponential", "weibull"), replicas=(1, 2, 3), days=1, runs=2
)


def sweep_of(request: LifetimesRequest) -> Sweep[Case, Kept]:
    return experiment(request).sweeps["churn"]


def test_more_holders_lose_less_and_send_more() -> None:
    kept = {(one.lifetimes, one.replicas, one.run): one for one in in_one_thread()(sweep_of(replace(SMALL, graceful=(0.0,))))}

    for law in ("exponential", "weibull"):
        for number in range(2):
            one, two, three = (kept[law, replicas, number] for replicas in (1, 2, 3))
            assert one.losses_a_day > two.losses_a_day >= three.losses_a_day
            assert one.hand_over_bytes < two.hand_over_bytes < three.hand_over_bytes
            assert 0 == one.repair_bytes < two.repair_bytes < three.repair_bytes
            assert one.comparing_bytes < two.comparing_bytes < three.comparing_bytes
            assert one.missed > two.missed
            # The same peers die in all three.
            assert one.deaths == two.deaths == three.deaths


def test_peers_that_leave_in_order_lose_and_repair_nothing(tmp_path: Path) -> None:
    results = run(experiment(replace(SMALL, graceful=(1.0,), lifetimes=("pareto",))), in_one_thread, tmp_path)

    for mean in results.summary:
        assert (mean["lost_a_day"], mean["missed"], mean["repair_bytes"], mean["expected_lost_a_day"]) == (0, 0, 0, 0)
        assert mean["hand_over_bytes"] > 0  # type: ignore[operator]  # a number
    assert results.tables[0].cells[0][3].startswith("0 of ")
    assert "none of " in results.findings[0].text


def test_the_loss_of_one_holder_is_as_arithmetic_expects() -> None:
    asked = replace(SMALL, peers=(600,), lifetimes=("exponential",), mean_hours=(4.0,), replicas=(1,), graceful=(0.5,), runs=4)

    means = in_one_thread()(sweep_of(asked))

    rate = expected_losses_s(1, 4 * 3600.0, 0.5, 12.0)
    assert sum(one.losses_a_day for one in means) / 4 == pytest.approx(rate * 86_400, rel=0.06)


@pytest.mark.parametrize(("replicas", "times"), [(1, 1.0), (2, 2 * 0.01), (3, 3 * 0.01**2)])
def test_expected_losses_are_those_of_parallel_components(replicas: int, times: float) -> None:
    # Down for a hundredth of a life each: r of them may be the last to fail while all others are down.
    assert expected_losses_s(replicas, 100.0, 0.0, 1.0) == pytest.approx(times / 100, rel=0.03)
    assert expected_losses_s(replicas, 100.0, 1.0, 1.0) == (0.0 if replicas == 1 else pytest.approx(0.0))


@pytest.mark.parametrize("kind", ["lifetimes", "epochs"])
def test_several_peers_mixes_and_exponents_are_one_job(kind: str, tmp_path: Path) -> None:
    several = {"peers": (40, 80), "zipf": ("0.5,1,1", "0,0,0"), "mix": ("?po=1", "?p?=1"), "strategies": ("rarest", "predicate")}
    small = ChurnRequest(tuples=2_000, subscriptions=100, replicas=(2,), dying=(0.2,), epochs=1, runs=1)
    made = experiment(replace(SMALL, **several, replicas=(2,), lifetimes=("pareto",), runs=1))  # type: ignore[arg-type]  # as named
    if kind == "epochs":
        made = epochs(replace(small, **several))  # type: ignore[arg-type]  # as named

    results = run(made, in_one_thread, tmp_path)

    names = ("peers", "zipf", "mix", "strategy")
    assert len({tuple(mean[name] for name in names) for mean in results.summary}) == len(results.summary) == 16
    assert results.tables[0].columns[:4] == ("strategy", "peers", "zipf", "mix")
    assert {cells[:4] for cells in results.tables[0].cells} >= {("predicate", "80", "0,0,0", "?p?=100")}
    assert "over 40 and 80 peers" in results.lead


def test_what_one_setting_comes_to_does_not_hang_on_the_others() -> None:
    alone = in_one_thread()(sweep_of(replace(SMALL, replicas=(2,), lifetimes=("weibull",))))

    several = replace(SMALL, peers=(60, 80), graceful=(0.1, 0.5), mean_hours=(10_000 / 3600, 5.0), replicas=(2, 3))
    beside = in_one_thread()(sweep_of(several))

    asked = {"peers": 80, "graceful": 0.5, "mean_hours": 10_000 / 3600, "replicas": 2, "lifetimes": "weibull"}
    assert [one for one in beside if all(getattr(one, name) == value for name, value in asked.items())] == alone


def test_spark_says_the_same(spark: SparkSession) -> None:
    sweep = sweep_of(replace(SMALL, replicas=(2,)))

    assert on_spark(spark, partitions=3)(sweep) == in_one_thread()(sweep)


def test_a_report_has_all_plots_and_says_first_what_holders_are_worth(tmp_path: Path) -> None:
    results = run(experiment(replace(SMALL, graceful=(0.0, 0.5), mean_hours=(3.0, 6.0))), in_one_thread, tmp_path)

    assert (tmp_path / "report.html").read_text().count("<figure>") == len(results.figures) == 4
    assert len(results.tables[0].cells) == len(results.summary) == 2 * 2 * 2 * 3
    assert results.tables[0].columns[:5] == ("strategy", "lives", "hours", "in order", "r")
    text = results.findings[0].text
    assert text.startswith("Of keys with 3 holders ")
    assert text.endswith(", of 3 hours, and all end by a crash.")
    assert [bar.name for bar in results.findings[0].bars] == ["3 holders", "1 holder"]
    assert "to hand keys over and to repair them" in results.findings[1].text
    assert set(Mean.__dataclass_fields__) <= set(results.summary[0])


@pytest.mark.parametrize(("peers", "expected"), [(2, (1, 2)), (4, (1, 2, 3)), (1_000, (1, 2, 3, 5))])
def test_usual_numbers_of_holders_are_those_that_can_be(peers: int, expected: tuple[int, ...]) -> None:
    assert LifetimesRequest(peers=(1_000, peers)).completed().replicas == expected


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"lifetimes": ("normal",)}, "lifetimes 'normal'; expected exponential"),
        ({"graceful": (1.5,)}, "a share of 1.5 peers that leave in order; expected 0 to 1"),
        ({"days": 0}, "0 days; expected 1 to 366"),
        ({"kbit_per_s": 0.0}, "0 kbit/s between two peers; expected more than 0"),
        ({"mean_hours": (0.01,)}, "lives of 0.01 hours in the mean; expected 0.1 or more"),
        ({"shape": 2.0, "lifetimes": ("exponential",)}, "--shape 2 is of no matter to exponential lifetimes; leave it out"),
        ({"shape": 1.0, "lifetimes": ("pareto",)}, "a Pareto shape of 1; expected more than 1"),
        ({"replicas": (81,)}, "81 holders of a key among 80 peers; expected 1 to 64"),
        ({"zipf": ("1,2",)}, "--zipf '1,2'; expected three numbers between commas, for subject, predicate, object"),
        ({"zipf": ("1,2,-1",)}, "a Zipf exponent of -1; expected 0"),
        ({"strategies": ("demand",)}, "churn has no 'demand'"),
        ({"runs": 1_000, "graceful": (0.1, 0.5)}, "12000 runs; expected 10000 at most"),
        ({"peers": (1_000_000,), "days": 30}, "expected 8,388,608 at most: ask for fewer peers"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object], problem: str) -> None:
    with pytest.raises(BadParameter, match=problem):
        sweep_of(replace(SMALL, **wrong))  # type: ignore[arg-type]  # fields of it

"""The experiment on routing: what theory says of it, and the same on either engine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from simulations.engine.experiment import run
from simulations.engine.sweep import Sweep, frame, in_one_thread, on_spark
from simulations.errors import BadParameter
from simulations.routing.runs import Case, RoutingRequest, Ways, experiment, means_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = RoutingRequest(peers=(2_000,), lookups=1_500, k=(2, 8), dead=(0.0, 0.3, 0.6))


def sweep_of(request: RoutingRequest) -> Sweep[Case, Ways]:
    return experiment(request).sweeps["lookups"]


@pytest.fixture(scope="module")
def ways() -> dict[tuple[int, int, float], Ways]:
    found = in_one_thread()(sweep_of(replace(SMALL, runs=1)))
    return {(way.peers, way.k, way.dead): way for way in found}


def test_every_overlay_that_was_asked_for_is_looked_at(ways: dict[tuple[int, int, float], Ways]) -> None:
    whole = {(2_000, k, dead) for k in (2, 8) for dead in (0.0, 0.3, 0.6)}
    smaller = {(peers, k, 0.0) for peers in (10, 100, 1_000) for k in (2, 8)}

    assert set(ways) == whole | smaller


def test_success_falls_as_whole_buckets_die(ways: dict[tuple[int, int, float], Ways]) -> None:
    for (_, k, dead), way in ways.items():
        # At each hop a bucket of k contacts is dead with the k-th power of the share; the last ones are smaller, and known whole.
        assert way.success >= (1 - dead**k) ** (way.mean_hops + 1) - 0.03
        assert way.success == pytest.approx((1 - dead**k) ** way.mean_hops, abs=0.15)
    assert ways[2_000, 8, 0.3].success > 0.999


def test_ways_are_counted_whole(ways: dict[tuple[int, int, float], Ways]) -> None:
    for way in ways.values():
        assert sum(way.by_hops) == way.found
        assert way.mean_hops == pytest.approx(sum(hops * count for hops, count in enumerate(way.by_hops)) / way.found)
        assert sum(way.by_hops[: way.p99_hops + 1]) >= 0.99 * way.found > sum(way.by_hops[: way.p99_hops])


def test_ways_of_ten_thousand_peers_are_as_long_as_is_known() -> None:
    # 3.08 hops in the mean at 10^4 peers with buckets of 8, by 1,500 lookups among samples of Python's, one by one.
    sweep = sweep_of(RoutingRequest(peers=(10_000,), lookups=5_000, k=(8,), dead=(0.0,)))

    (way,) = sweep.play(sweep.cases[0])

    assert way.mean_hops == pytest.approx(3.08, abs=0.1)


def test_a_mean_is_that_of_overlays_and_says_how_far_they_are_apart() -> None:
    ways = in_one_thread()(sweep_of(replace(SMALL, k=(2,), dead=(0.3,), runs=6)))

    (mean,) = [mean for mean in means_of(ways) if (mean.peers, mean.dead) == (2_000, 0.3)]

    some = [way for way in ways if (way.peers, way.dead) == (2_000, 0.3)]
    assert (mean.runs, mean.lookups, mean.found) == (6, 9_000, sum(way.found for way in some))
    assert mean.success.value == pytest.approx(mean.found / mean.lookups)
    assert mean.success.low is not None
    assert mean.success.high is not None
    assert min(way.success for way in some) < mean.success.low < mean.success.value < mean.success.high
    assert sum(mean.by_hops) == mean.found
    assert len({way.success for way in some}) > 1


def test_lookups_are_the_same_however_many_go_together(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = sweep_of(SMALL)
    (together,) = sweep.play(sweep.cases[1])
    monkeypatch.setattr("simulations.routing.runs.CHUNK", 400)

    assert list(sweep.play(sweep.cases[1])) == [together]


def test_spark_finds_the_same_in_any_number_of_partitions(spark: SparkSession) -> None:
    from pyspark.testing import assertDataFrameEqual

    sweep = sweep_of(replace(SMALL, lookups=300, k=(2,), runs=2))

    assert on_spark(spark, partitions=3)(sweep) == in_one_thread()(sweep)
    assertDataFrameEqual(frame(spark, sweep, 1), frame(spark, sweep, 16))


def test_a_run_leaves_numbers_and_a_report_with_all_plots(tmp_path: Path) -> None:
    results = run(experiment(replace(SMALL, lookups=200)), in_one_thread, tmp_path)

    text = (tmp_path / "report.html").read_text()
    assert text.count("<figure>") == len(results.figures) == 7
    assert "200 lookups in each of 5 overlays of up to 2,000 peers" in text
    assert len(results.tables[0].cells) == 6
    assert json.loads((tmp_path / "summary.json").read_text())[0]["found"] == results.summary[0]["found"]
    assert {path.name for path in tmp_path.iterdir()} == {"configuration.json", "lookups.parquet", "report.html", "summary.json"}


def test_a_report_says_first_what_larger_buckets_are_worth_and_how_far_lookups_go(tmp_path: Path) -> None:
    results = run(experiment(replace(SMALL, lookups=200, runs=2)), in_one_thread, tmp_path)

    success, hops = results.findings
    of = {(mean["peers"], mean["k"], mean["dead"]): mean for mean in results.summary}
    assert [(bar.name, bar.value) for bar in success.bars] == [
        ("k = 8", of[2_000, 8, 0.6]["success"]),
        ("k = 2", of[2_000, 2, 0.6]["success"]),
    ]
    assert success.text == (
        f"With 8 contacts in a bucket {success.bars[0].said} of lookups succeed where 60% of 2,000 peers are dead, with 2 contacts "
        f"{success.bars[1].said}."
    )
    assert [(bar.name, bar.value) for bar in hops.bars] == [
        ("2,000 peers", of[2_000, 8, 0.0]["mean_hops"]),
        ("10 peers", of[10, 8, 0.0]["mean_hops"]),
    ]


def test_several_numbers_of_peers_are_each_looked_up_in_with_all_shares_of_dead(tmp_path: Path) -> None:
    asked = replace(SMALL, peers=(200, 2_000), lookups=300, runs=2)

    results = run(experiment(asked), in_one_thread, tmp_path)

    kinds = {(mean["peers"], mean["k"], mean["dead"]) for mean in results.summary}
    assert kinds == {(peers, k, dead) for peers in (200, 2_000) for k in (2, 8) for dead in (0.0, 0.3, 0.6)}
    assert [(table.title, len(table.cells)) for table in results.tables] == [
        ("Lookups among 200 peers", 6),
        ("Lookups among 2,000 peers", 6),
    ]
    alone = in_one_thread()(sweep_of(replace(asked, peers=(2_000,), dead=(0.6,))))
    both = in_one_thread()(sweep_of(asked))
    assert [way for way in alone if way.dead == 0.6] == [way for way in both if (way.peers, way.dead) == (2_000, 0.6)]


def test_one_size_of_buckets_is_told_without_a_bar(tmp_path: Path) -> None:
    results = run(experiment(replace(SMALL, lookups=50, runs=1, k=(8,), dead=(0.0,))), in_one_thread, tmp_path)

    assert results.findings[0].text == "With 8 contacts in a bucket 100% of lookups succeed while all of 2,000 peers live."
    assert results.findings[0].bars == ()


def test_overlays_in_which_no_lookup_succeeds_are_shown_as_well(tmp_path: Path) -> None:
    results = run(experiment(RoutingRequest(peers=(3_000,), lookups=3, k=(1,), dead=(0.97,))), in_one_thread, tmp_path)

    assert results.tables[0].cells[1][2:6] == ("0 of 15, below 19%", "", "", "")


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"peers": (1,)}, "1 peers; expected 2 to"),
        ({"lookups": 0}, "0 lookups; expected 1 to 100000000"),
        ({"k": (0, 2)}, "buckets of 0; expected 1 to 1024"),
        ({"dead": (0.5, 1.0)}, "a share of 1 dead peers; expected 0 or more"),
        ({"runs": 0}, "0 runs; expected 1 to 1000"),
        ({"seed": -1}, "seed -1; expected 0"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_made(wrong: dict[str, object], problem: str, tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match=problem):
        run(experiment(replace(SMALL, **wrong)), in_one_thread, tmp_path / "out")  # type: ignore[arg-type]  # one field each

    assert not (tmp_path / "out").exists()

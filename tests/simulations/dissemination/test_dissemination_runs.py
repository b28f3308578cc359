"""The experiment on dissemination: the dead are forgotten, events arrive, and the same on either engine."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from simulations.dissemination.cases import DisseminationRequest, Removal
from simulations.dissemination.removals import play_removal
from simulations.dissemination.runs import experiment
from simulations.engine.experiment import run
from simulations.engine.sweep import frame, in_one_thread, on_spark
from simulations.errors import BadParameter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = DisseminationRequest(
    agents=(60, 150), views=(6, 12), exchanged=4, removed=(0.2, 0.5), subscribers=(0.5, 1.0), settle=5, rounds=8, events=5, runs=2
)


def test_all_settings_are_run_with_the_fewest_agents_and_larger_ones_once() -> None:
    removals, events = (sweep.cases for sweep in experiment(SMALL).sweeps.values())

    assert [(case.agents, case.view, case.removed) for case in removals[:1]] == [(150, 12, 0.2)]
    assert {(case.view, case.removed, case.run) for case in removals[1:]} == {
        (view, share, run) for view in (6, 12) for share in (0.2, 0.5) for run in (0, 1)
    }
    assert [(case.agents, case.subscribers) for case in events] == [(150, 1.0), (150, 0.5), *[(60, 1.0)] * 2, *[(60, 0.5)] * 2]


def test_five_hundred_agents_forget_half_of_them_as_cyclon_does_or_sooner(tmp_path: Path) -> None:
    # Of Cyclon it is known that one reference in a hundred is left after 30 rounds; here broken links are told of, too.
    request = DisseminationRequest(agents=(500,), views=(20,), removed=(0.5,), subscribers=(0.25,), settle=15, rounds=30, runs=1)

    removal, topic = run(experiment(request), in_one_thread, tmp_path).summary

    assert (removal["kind"], topic["kind"]) == ("view exchange", "diffusion")
    assert removal["in_degree_mean"] == pytest.approx(20, abs=0.5)
    assert removal["in_degree_std"] < 5
    assert removal["rounds_to_one_percent"] <= 30
    assert topic["reached"] == 1.0
    assert topic["missed"] == topic["carriers"] == 0
    assert topic["steady_payloads"] <= 1.05
    assert topic["changing_payloads"] <= 1.5
    assert topic["steady_small"] <= 1


def test_counts_of_a_round_are_whole() -> None:
    rounds = in_one_thread()(experiment(SMALL).sweeps["view exchange"])

    for one in rounds:
        living = one.agents - round(one.removed * one.agents)
        assert one.clear <= living
        assert one.dead_known <= min(one.agents - living, one.dead_references)
        assert (one.dead_references == 0) == (one.clear == living) == (one.dead_known == 0)
        assert sum(one.in_degrees) == (one.agents if one.round == 0 else 0)
    assert {one.round for one in rounds} == set(range(9))


def test_an_event_is_counted_when_each_subscriber_hears_first() -> None:
    for one in in_one_thread()(experiment(SMALL).sweeps["diffusion"]):
        assert sum(one.heard) == one.reached <= one.subscribed == round(one.subscribers * one.agents)
        assert one.median_ms <= one.p99_ms <= one.last_ms < len(one.heard) * one.slice_ms
        assert one.carriers <= one.agents - one.subscribed


def test_two_views_that_are_as_large_as_they_can_be_lose_nobody_while_all_live() -> None:
    for agents, view, exchanged in ((2, 1, 1), (3, 2, 2), (30, 29, 8)):
        asked = DisseminationRequest(exchanged=exchanged, settle=10, rounds=1, round_s=5.0)

        begun, _ = play_removal(asked, Removal(agents, view, 0.0, 0), 1)

        assert begun.in_degree_mean > 0.9 * view
        assert begun.dead_references == begun.dead_known == 0
        assert begun.clear == agents


def test_spark_plays_the_same_in_any_number_of_partitions(spark: SparkSession) -> None:
    from pyspark.testing import assertDataFrameEqual

    removals, events = experiment(replace(SMALL, agents=(60,), rounds=3, removed=(0.5,), runs=1)).sweeps.values()

    assert on_spark(spark, partitions=3)(removals) == in_one_thread()(removals)
    assert on_spark(spark, partitions=1)(events) == in_one_thread()(events)
    assertDataFrameEqual(frame(spark, removals, 1), frame(spark, removals, 16))


def test_a_run_leaves_a_report_with_all_figures_of_the_paper(tmp_path: Path) -> None:
    results = run(experiment(SMALL), in_one_thread, tmp_path)

    text = (tmp_path / "report.html").read_text()
    assert text.count("<figure>") == len(results.figures) == 8
    assert all(f"Figures {figures}" in text for figures in ("4 and 5", "6 and 7", "8 and 9", "10 to 14"))
    assert [len(shown.cells) for shown in results.tables] == [5, 4, 4]


def test_nobody_removed_and_two_subscribers_are_shown_as_well(tmp_path: Path) -> None:
    request = replace(SMALL, removed=(0.0,), hop_ms=(0.0, 0.0), subscribers=(0.04,), seed=5)

    results = run(experiment(request), in_one_thread, tmp_path)

    assert all(re.fullmatch(r"0 of [\d,]+, below 0\.\d+%", cells[6]) for cells in results.tables[0].cells)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"events": 0}, "0 events; expected 1 to"),
        ({"exchanged": 0}, "0 neighbours exchanged of a view of 6"),
        ({"agents": (1,)}, "1 agents; expected 2"),
        ({"views": (60,)}, "views of 60 among 60 agents; expected 1 to 59"),
        ({"subscribers": (0.01,)}, r"a share of 0\.01 of 60 agents subscribe"),
        ({"seed": -1}, "seed -1"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object], problem: str) -> None:
    with pytest.raises(BadParameter, match=problem):
        experiment(replace(SMALL, **wrong))  # type: ignore[arg-type]  # each has the type of its field

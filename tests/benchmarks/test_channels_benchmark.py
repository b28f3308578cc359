"""The benchmark of event channels runs, compares answers, and says what it leaves out."""

from __future__ import annotations

import json
from itertools import islice

import pytest
from click.testing import CliRunner

from benchmarks import channel_measures, channel_rivals
from benchmarks.channel_measures import Calls, Measured, Sizes, called, compared, memory_bytes
from benchmarks.channel_rivals import rivals
from benchmarks.channel_workloads import QUICK, WORKLOADS, Draw, Rarest, Workload
from benchmarks.channels import MATCHERS, main
from gsg.channels.languages.relations import Relations
from gsg.channels.matchers.scan import Scan

SMALL = Sizes(warm=70, turns=2, events=10, calls=20)


def test_it_runs_at_small_sizes(tmp_path) -> None:
    found = CliRunner().invoke(main, ["--quick", "--part", "throughput", "--part", "calls", "--json", str(tmp_path / "found.json")])

    assert found.exit_code == 0, found.output
    measured = json.loads((tmp_path / "found.json").read_text())
    assert {(each["workload"], each["matcher"]) for each in measured["measured"]} == {
        (workload.name, name) for workload in QUICK for name in ("rarest", *MATCHERS)
    }
    assert measured["calls"]


class Wrong(Scan):
    """Finds one that does not hold."""

    def match(self, fields, environment):
        return [*super().match(fields, environment), 0]


@pytest.mark.parametrize("changes", [0, 1_000])
def test_another_answer_is_an_error(changes: int) -> None:
    with pytest.raises(AssertionError, match=r"wrong on .*: other answers than rarest"):
        list(compared(Workload(50, changes_percent=changes), {"wrong": Wrong}, SMALL))


@pytest.mark.parametrize("workload", QUICK, ids=lambda each: each.name)
def test_the_floor_equals_the_definition(workload: Workload) -> None:
    draw, floor, scan = Draw(workload), Rarest(Relations()), Scan(Relations())
    for number in range(100):
        made = draw.condition()
        floor.insert(number, made)
        scan.insert(number, made)
    for _ in range(30):
        event = draw.event()
        assert sorted(floor.match(event, {})) == scan.match(event, {})


def test_what_is_too_large_for_a_matcher_is_left_out_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_measures, "LARGE", 40)

    said = list(compared(Workload(50), {"scan": Scan, "compile": MATCHERS["compile"]}, SMALL))

    assert [each for each in said if isinstance(each, str)] == [
        "50: scan is left out: an event would take it a quarter of a second"
    ]
    assert [each.matcher for each in said if isinstance(each, Measured)] == ["rarest", "compile"]


def test_calls_and_memory_are_figures() -> None:
    calls = called(Workload(50), "scan", Scan, SMALL)
    first, then = memory_bytes(Workload(50), Scan, 5)

    assert isinstance(calls, Calls)
    assert calls.insert_worst_ms * 1e3 >= calls.insert_us
    assert 0 < first <= then


def test_workloads_have_names_of_their_own_and_changes_by_share() -> None:
    assert len({each.name for each in WORKLOADS}) == len(WORKLOADS)
    assert Workload(10_000, changes_percent=10).changes == 0.1


def test_rivals_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str):
        raise ImportError(name)

    monkeypatch.setattr(channel_rivals, "import_module", nowhere)
    monkeypatch.setattr(channel_rivals.shutil, "which", lambda name: None)

    said = [" ".join(each.split()) for each in islice(rivals(5, 2), 5)]

    assert said == ["moto not installed", "rule-engine not installed", "rabbitmq not installed (its headers exchange)"]

"""What an experiment's log says of how events spread and of who knew the dead, from rows that are written here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gsg.cli import main
from gsg.experiments.log import Entry, schema
from gsg.experiments.plan import Count
from gsg.monitoring.trace_recorder import Parts
from simulations.dissemination.experiment_log import read_log
from simulations.dissemination.spreading import Told, percentiles
from simulations.errors import BadWorkload

PEERS = [f"{number:040x}" for number in range(4)]
TOPIC = "experiment/0.5"
SECOND_US = 1_000_000


def write(folder: Path, entries: list[Entry], *, run_us: int = 7, without: int | None = None) -> None:
    """The log of one experiment, of which a row may be missing."""
    parts = Parts(folder, bytes(20), run_us, columns=schema, name="log")
    rows = [(number, *entry, 0) for number, entry in enumerate(entries, 1) if number != without]
    assert parts.write(rows, 0.0) == ""
    assert parts.close() == ""


def joined() -> list[Entry]:
    return [Entry(0, 0, "experiment", number=2), *(Entry(10, 0, "joined", peer) for peer in PEERS)]


def spread() -> list[Entry]:
    """Two of four subscribe; six events come to both of them but one to one."""
    entries = [*joined(), Entry(20, 0, "topic", topic=TOPIC, number=2)]
    entries += [Entry(30, 5, "subscribed", peer, TOPIC) for peer in PEERS[:2]]
    for count in range(Count.BEGUN, Count.ENDED + 1):
        entries += [Entry(count * SECOND_US, 5, "counted", peer, TOPIC, None, count, 2 * count, 3 * count) for peer in PEERS[:2]]
        entries += [Entry(count * SECOND_US, 5, "counted", peer, TOPIC, None, count, int(count > 3), 0) for peer in PEERS[2:3]]
    for event in range(1, 8):
        at_us = event * 1000
        entries.append(Entry(at_us, 400, "published", PEERS[3 if event == 1 else 0], TOPIC, None, event))
        entries.append(Entry(at_us + 40_000, 500, "told", PEERS[0], TOPIC, PEERS[3], event))
        if event != 5:
            entries.append(Entry(at_us + 90_000, 500, "told", PEERS[1], TOPIC, PEERS[3], event))
    return entries


def test_a_topic_comes_to_what_its_members_were_told_and_counted(tmp_path: Path) -> None:
    write(tmp_path, [*spread(), Entry(99, 0, "over", number=3)])

    measured = read_log(tmp_path)

    (one,) = measured.spreads
    assert (one.agents, one.subscribers, one.subscribed, one.reached, one.missed) == (4, 0.5, 2, 2, 1)
    assert (one.median_ms, one.last_ms, one.slice_ms, one.heard) == (65.0, 90.0, 4.0, (0,) * 10 + (1,) + (0,) * 11 + (1,))
    assert (one.first_payloads, one.steady_payloads, one.changing_payloads) == (2.0, 2.25, 2.0)
    assert (one.steady_small, one.carriers) == (1.5, 1)
    assert "a time is wrong by 0.5 ms at most, by the round trips that compared clocks; 3 rows of the log are" in measured.remarks
    assert (measured.request.agents, measured.request.events, measured.request.removed) == ((4,), 2, ())


def test_views_after_the_removal_tell_who_knows_the_dead(tmp_path: Path) -> None:
    removed_us, round_us = 60 * SECOND_US, 5 * SECOND_US
    entries = [*joined(), Entry(removed_us, 0, "removed", PEERS[3])]
    entries += [Entry(removed_us - 1, 9, "view", peer, view=[PEERS[3], PEERS[0], "stranger"]) for peer in PEERS[:3]]
    entries += [Entry(removed_us - 1, 9, "view", PEERS[3], view=[PEERS[1]])]
    entries += [Entry(removed_us + round_us, 9, "view", peer, view=PEERS[:2]) for peer in PEERS[:2]]
    entries += [
        Entry(removed_us + 2 * round_us, 9, "view", PEERS[2], view=[]),
        Entry(removed_us + 2 * round_us, 0, "over", number=0),
    ]
    write(tmp_path, entries)

    rounds = read_log(tmp_path).rounds

    assert [(one.round, one.dead_references, one.dead_known, one.clear) for one in rounds] == [
        (0, 3, 1, 0),
        (1, 1, 1, 2),
        (2, 0, 0, 3),
    ]
    assert [(one.agents, one.view, one.removed) for one in rounds] == [(4, 3, 0.25)] * 3
    assert rounds[0].in_degrees == (1, 1, 0, 2)


def test_each_experiment_of_a_folder_is_a_run_and_rows_that_are_missing_are_told(tmp_path: Path) -> None:
    write(tmp_path, [*spread(), Entry(99, 0, "over", number=0)])
    write(tmp_path, spread(), run_us=8, without=3)

    measured = read_log(tmp_path)

    assert [one.run for one in measured.spreads] == [0, 1]
    assert measured.spreads[1].agents == 3
    assert measured.remarks.endswith("1 row of the log is missing. 1 experiment was not finished: - is what was not measured.")


def before(last: int) -> list[Entry]:
    """What has come where the experiment is cut short before a count."""
    return [one for one in spread() if one.what != "counted" or (one.number or 0) < last]


def test_what_an_experiment_was_cut_short_before_is_not_measured(tmp_path: Path) -> None:
    write(tmp_path, before(Count.CHANGING))

    (one,) = read_log(tmp_path).spreads

    assert (one.reached, one.last_ms, one.first_payloads) == (2, 90.0, 2.0)
    assert (one.steady_payloads, one.steady_small, one.steady_last_ms) == (None, None, None)
    assert (one.changing_payloads, one.changing_small, one.changing_last_ms) == (None, None, None)
    assert (one.missed, one.carriers) == (None, None)


def test_a_topic_cut_short_before_its_first_event_was_counted_is_left_out_and_named(tmp_path: Path) -> None:
    write(tmp_path, [*spread(), Entry(99, 0, "over", number=0)])
    write(tmp_path, before(Count.FIRST), run_us=8)

    measured = read_log(tmp_path)

    assert [one.run for one in measured.spreads] == [0]
    assert measured.request.runs == 1
    assert measured.remarks.endswith(f" Left out, as nothing was measured of its first event: {TOPIC}.")


def test_the_report_shows_what_was_not_measured_as_nothing_and_no_empty_table(tmp_path: Path) -> None:
    write(tmp_path / "log", before(Count.CHANGING))
    out = tmp_path / "out"

    # Wide enough for one table.
    ran = CliRunner(env={"COLUMNS": "200"}).invoke(
        main, ["simulate", "dissemination", "--log", str(tmp_path / "log"), "--engine", "numpy", "--out", str(out)]
    )

    assert ran.exit_code == 0, ran.output
    costs = [
        line.split() for line in ran.stdout.partition("What further events cost")[2].splitlines() if line.startswith(" 4 real")
    ]
    assert costs == [["4", "real", "50%", "2", *"------"]]
    assert "in-degree" not in ran.stdout.partition("4 real")[0]
    real = json.loads((out / "summary.json").read_text())[0]
    assert (real["source"], real["steady_last_ms"], real["missed"], real["carriers"]) == ("real", None, None, None)


def test_times_to_nobody_are_none() -> None:
    assert (set(percentiles([])), set(percentiles([7.0])), Told(2, [], 0.0, 0.0).last_ms) == ({None}, {7.0}, None)


def test_a_report_stands_beside_a_simulation(tmp_path: Path) -> None:
    write(tmp_path / "log", [*spread(), Entry(99, 0, "over", number=0)])

    ran = CliRunner().invoke(
        main, ["simulate", "dissemination", "--log", str(tmp_path / "log"), "--engine", "numpy", "--out", str(tmp_path / "out")]
    )

    assert ran.exit_code == 0, ran.output
    assert "4 real" in ran.stdout
    assert "4 simulated" in ran.stdout
    explained = [line.partition(":")[0] for line in ran.stdout.splitlines() if ": " in line and not line.startswith(" ")]
    assert [line for line in explained if line in ("reached, median, p99, last", "carried outside", "small frames", "missed")] == [
        "reached, median, p99, last",
        "carried outside",
        "small frames",
        "missed",
    ]
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<b>Real peers: Figures 10 to 14") == page.count("<b>Simulated peers: Figures 10 to 14") == 1


def test_what_the_log_says_is_not_to_be_said_again(tmp_path: Path) -> None:
    ran = CliRunner().invoke(
        main, ["simulate", "dissemination", "--log", str(tmp_path), "--peers", "9", "--out", str(tmp_path / "out")]
    )

    assert ran.exit_code == 2
    assert "--peers is what the log says of its experiment; leave it out" in ran.stderr


def test_a_folder_without_an_experiment_is_told_from_one_with_it(tmp_path: Path) -> None:
    with pytest.raises(BadWorkload, match=r"has no log; expected the folder of `gsg peer --facilitator DIR`"):
        read_log(tmp_path)

    write(tmp_path, joined())
    with pytest.raises(BadWorkload, match=r"has no experiment that came to anything"):
        read_log(tmp_path)

    (tmp_path / "other.parquet").write_text("no Parquet")
    with pytest.raises(BadWorkload, match=r"other\.parquet cannot be read"):
        read_log(tmp_path)


def test_rounds_end_when_all_participants_have_gone(tmp_path: Path) -> None:
    removed_us, round_us = 60 * SECOND_US, 5 * SECOND_US
    gone_us = removed_us + 2 * round_us
    entries = [*joined(), Entry(removed_us, 0, "removed", PEERS[3])]
    entries += [Entry(removed_us - 1, 9, "view", peer, view=PEERS[:2]) for peer in PEERS]
    entries += [Entry(gone_us, 0, "gone", peer) for peer in PEERS[:3]]
    write(tmp_path, [*entries, Entry(gone_us + 5 * round_us, 0, "over", number=0)])

    assert [one.round for one in read_log(tmp_path).rounds] == [0, 1]

"""The command: what it leaves in a folder, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyarrow import parquet

from gsg.cli import main as gsg_command

SMALL = ["--peers", "20", "--tuples", "2000", "--subscriptions", "300", "--growth", "100,1000", "--joins", "20"]


def run(out: Path, *options: str, code: int = 0) -> str:
    """What it prints."""
    ran = CliRunner().invoke(gsg_command, ["simulate", "subscribers", "--out", str(out), "--engine", "numpy", *options])
    assert ran.exit_code == code, ran.output
    return ran.output


def test_all_parts_leave_numbers_rows_and_a_report(tmp_path: Path) -> None:
    numbers = json.loads(run(tmp_path, *SMALL, "--json", "--seeds", "2"))

    assert numbers[0]["part"] == "notifications"
    assert numbers[0]["notifications_low"] <= numbers[0]["notifications"] <= numbers[0]["notifications_high"]
    peers = parquet.read_table(tmp_path / "subscribers.parquet").to_pydict()
    assert len(peers["id"]) == 20
    assert sum(peers["notifications"]) == sum(peers["sent"]) > 0
    parts = {one["part"] for one in numbers}
    assert parts == {"notifications", "memories", "joins", "dates", "latency", "readers"}
    report = (tmp_path / "report.html").read_text()
    assert report.index("notifications in the mean") < report.index("<svg")
    asked = json.loads((tmp_path / "configuration.json").read_text())
    assert (asked["kind"], asked["anchor"], asked["peers"]) == ("facts", "rarest", 20)


def test_one_seed_is_one_result(tmp_path: Path) -> None:
    once, again = (run(tmp_path / name, *SMALL, "--json") for name in ("a", "b"))

    assert once == again


def test_on_spark_as_in_one_thread(tmp_path: Path, spark: object) -> None:
    assert spark is not None
    here = run(tmp_path / "a", *SMALL, "--json")

    ran = CliRunner().invoke(
        gsg_command, ["simulate", "subscribers", "--out", str(tmp_path / "b"), *SMALL, "--json", "--master", "local[2]"]
    )

    assert ran.exit_code == 0, ran.output
    assert ran.stdout == here


def test_parts_can_be_asked_for_one_by_one(tmp_path: Path) -> None:
    numbers = json.loads(run(tmp_path, *SMALL, "--part", "memories", "--json"))

    assert {one["part"] for one in numbers} == {"memories"}
    assert not (tmp_path / "subscribers.parquet").exists()


def test_tuples_of_a_file_are_counted_too(tmp_path: Path) -> None:
    file = tmp_path / "some.tsv"
    file.write_text("nothing of use\n" + "".join(f"s{number % 7}\tp{number % 3}\to{number % 5}\n" for number in range(200)))

    said = run(tmp_path / "out", "--events", str(file), "--peers", "9", "--growth", "100", "--days", "3", "--epochs-h", "24")

    assert "1 malformed line was left out" in said
    numbers = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert numbers[0]["tuples"] == 200
    assert numbers[0]["notifications"] > 0
    assert "joins" not in {one["part"] for one in numbers}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--kind", "rumours"], "--kind 'rumours'; expected facts, events"),
        (["--anchor", "hot-split"], "--anchor 'hot-split'; expected predicate, random, rarest"),
        (["--part", "all"], "--part 'all'; expected notifications"),
        (["--kind", "events", "--batch", "9"], "events with messages of 9"),
        (["--kind", "events", "--mix", "??b=1"], "events with conditions with bounds"),
        (["--batch", "5000"], "5000 tuples in a message of a publisher; expected 1 to 1000"),
        (["--term-bytes", "0"], "0 bytes of a term; expected 1 to 65536"),
        (["--growth", "0"], "0 subscriptions; expected 1 to"),
        (["--width", "0.5"], "--width 0.5 is for bounds"),
        (["--speeds", "0,1"], "a reader's speed of 0"),
        (["--joins", "0"], "0 subscriptions of several conditions"),
        (["--ranges", "year=1"], "range 'year' of 'year=1'"),
        (["--epochs-h", "9999"], "epochs of 9999 h in 30 days"),
        (["--link-ms", "5,1"], "links of 5 to 1 ms"),
        (["--part", "joins", "--events", "x.nt"], "--part joins is for synthetic tuples"),
        (["--peers", "0"], "0 peers; expected 1 to"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_begins(options: list[str], said: str, tmp_path: Path) -> None:
    output = run(tmp_path / "out", *options, code=2)

    assert said in output.replace("\n", " ")
    assert not (tmp_path / "out").exists()

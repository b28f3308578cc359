"""``gsg simulate replay``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from gsg.cli import main

QUERY = "(?x, on, ?y), NOT { (?y, color, red) }"
HISTORY = """{"time": 1, "tuple": ["B1", "on", "B2"]}
{"time": 2, "tuple": ["B2", "color", "red"]}
{"time": 3, "tuple": ["B2", "on", "table"]}
{"time": 5, "sign": "-", "tuple": ["B2", "color", "red"]}
{"time": 6.5, "sign": "-", "tuple": ["B2", "on", "table"]}
oops
"""
TABLE = """
 came  went  ?x  ?y
 ─────────────────────
    1     2  B1  B2
    3   6.5  B2  table
    5     -  B1  B2

5 changes, 3 rows, of which 1 hold in the end
"""


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "blocks.jsonl"
    path.write_text(HISTORY)
    return path


def replay(query: str, events: Path, *options: str, engine: str = "memory") -> Result:
    arguments = ("simulate", "replay", query, "--events", str(events), "--engine", engine, "--master", "local[2]", *options)
    return CliRunner().invoke(main, arguments)


def test_rows_are_shown_with_when_they_came_and_went(events: Path) -> None:
    ran = replay(QUERY, events)

    assert "\n".join(line.rstrip() for line in ran.stdout.splitlines()).strip() == TABLE.strip()
    assert ran.stderr == (
        "gsg: warning: 1 malformed line was left out: blocks.jsonl line 6: JSON is malformed: invalid character (byte 0)\n"
    )


@pytest.mark.usefixtures("spark")
def test_spark_and_memory_say_the_same(events: Path, tmp_path: Path) -> None:
    said = [json.loads(replay("(?x, on, ?y)", events, "--json", engine=engine).stdout) for engine in ("spark", "memory")]

    assert said[0] == said[1]
    assert (said[0]["changes"], said[0]["rows"], said[0]["holding"], said[0]["malformed"]) == (5, 2, 1, 1)
    assert said[0]["answer"][0] == {"came": 1.0, "went": None, "row": {"x": "B1", "y": "B2"}}


def test_the_query_may_be_in_a_file_and_rows_go_to_a_folder(events: Path, tmp_path: Path) -> None:
    (tmp_path / "query.gsg").write_text(f"SUBSCRIBE {{ {QUERY} }}")

    ran = replay(f"@{tmp_path / 'query.gsg'}", events, "--show", "1", "--out", str(tmp_path / "out"))

    assert "The first 1 of 3 rows; --out DIR and --json have all of them." in ran.stdout
    assert parquet.read_table(tmp_path / "out" / "rows.parquet").to_pylist()[2] == {"came": 5, "went": None, "?x": "B1", "?y": "B2"}
    assert json.loads((tmp_path / "out" / "configuration.json").read_text())["language"] == "gsg"
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["rows"] == 3


MISTAKES = {
    "an operator": (
        "SELECT * { ?x ?p ?y OPTIONAL { ?y ?p ?z } }",
        "gsg: replay does not answer OPTIONAL; it answers conditions that are joined, FILTER, NOT, EXISTS, selections of variables "
        "and DISTINCT\n",
    ),
    "a file": ("@there-is-none", "gsg: cannot read there-is-none: "),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_query_that_cannot_be_replayed_is_one_clear_line(events: Path, name: str) -> None:
    query, said = MISTAKES[name]

    ran = replay(query, events, "--language", "sparql")

    assert ran.exit_code == 2
    assert ran.stderr.startswith(said)
    assert ran.stderr.count("\n") == 1


def test_a_history_without_changes_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('oops\n{"sign": "!", "tuple": ["a"]}\n')

    ran = replay(QUERY, tmp_path / "t.jsonl")

    assert ran.exit_code == 2
    assert ran.stderr == (
        f"gsg: {tmp_path}/t.jsonl holds no changes of facts; 1 event was left out: replay answers over facts, which stay; "
        "1 malformed line was left out: t.jsonl line 1: JSON is malformed: invalid character (byte 0)\n"
    )


def test_a_folder_that_cannot_be_written_is_one_clear_line_before_spark_starts(
    events: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr("simulations.engine.spark.session", None)

    ran = replay(QUERY, events, "--out", str(tmp_path / "file"), engine="spark")

    assert (ran.exit_code, ran.stderr) == (2, f"gsg: cannot write to {tmp_path}/file: file exists\n")

"""What an experiment leaves behind can be read again, and what cannot be written is said."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from simulations.engine.findings import Bar, Finding
from simulations.engine.html_page import Figure, Table
from simulations.engine.randomness import check_seed
from simulations.engine.results import Results, parse_numbers, prepare_folder, save
from simulations.errors import BadParameter


@dataclass(frozen=True)
class Counted:
    name: str
    times: tuple[int, ...]


RESULTS = Results(
    title="What was counted",
    lead="1 < 2.",
    notes="Counted by hand.",
    tables=[Table(("name", "times"), [("a & b", "3")], ("", "count"), "Counts")],
    figures=[Figure("<svg></svg>", "Nothing. At all.", "<li>a line</li>")],
    summary=[{"mean": 1.5}],
    rows={"counted": [Counted("a & b", (1, 2)), Counted("c", ())], "none": []},
    findings=[Finding("a is less than b.", (Bar("a", 1.0, "1 time"), Bar("b", 4.0, "4 times")))],
    pictures={"drawn": "<svg/>"},
)


def test_rows_numbers_configuration_and_report_are_left_in_a_folder(tmp_path: Path) -> None:
    from pyarrow import parquet

    folder = tmp_path / "a" / "b"
    prepare_folder(folder)
    save(folder, RESULTS, {"seed": 2})

    assert parquet.read_table(folder / "counted.parquet").column("times").to_pylist() == [[1, 2], []]
    assert json.loads((folder / "summary.json").read_text()) == [{"mean": 1.5}]
    assert json.loads((folder / "configuration.json").read_text()) == {
        "seed": 2,
        "files": ["counted.parquet", "summary.json", "report.html", "drawn.svg"],
    }
    assert (folder / "drawn.svg").read_text() == "<svg/>\n"
    text = (folder / "report.html").read_text()
    assert "<h1>What was counted</h1>" in text
    assert "<p>1 &lt; 2.</p>" in text
    assert "<tr><th>a &amp; b</th><td>3</td></tr>" in text
    assert "<th>times<small>count</small></th>" in text
    assert '<ul class="legend"><li>a line</li></ul>' in text
    assert "a is less than b." in text


def test_a_folder_that_cannot_be_made_is_one_clear_line_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(BadParameter, match=r"^cannot write to .*file: "):
        prepare_folder(tmp_path / "file")


@pytest.mark.parametrize("taken", ["summary.json", "counted.parquet"])
def test_results_that_cannot_be_written_are_one_clear_line(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).mkdir()

    with pytest.raises(BadParameter, match=r"^cannot write to .*$"):
        save(tmp_path, RESULTS, {})


def test_a_list_of_numbers_is_taken_in_order_and_once() -> None:
    assert parse_numbers("8,4, 8,16", "--k", int) == (4, 8, 16)
    assert parse_numbers("0.5,0", "--dead", float) == (0.0, 0.5)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("4,x", "--k '4,x'; expected whole numbers between commas"),
        ("", "--k ''; expected whole numbers between commas"),
        ("1.5", "--k '1.5'; expected whole numbers between commas"),
        (",".join(map(str, range(101))), "--k has 101 values; expected 100 at most"),
    ],
)
def test_a_list_that_holds_no_numbers_is_one_clear_line(text: str, problem: str) -> None:
    with pytest.raises(BadParameter) as refused:
        parse_numbers(text, "--k", int)

    assert str(refused.value) == problem


def test_a_seed_has_its_range() -> None:
    check_seed(0)
    with pytest.raises(BadParameter, match="seed -1; expected 0 to 9223372036854775807"):
        check_seed(-1)


def test_what_an_earlier_run_wrote_is_removed_and_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "mine.parquet").touch()
    prepare_folder(tmp_path)
    save(tmp_path, RESULTS, {})
    (tmp_path / "other.parquet").touch()

    prepare_folder(tmp_path)

    assert sorted(file.name for file in tmp_path.iterdir()) == ["configuration.json", "mine.parquet", "other.parquet"]


@pytest.mark.parametrize(
    ("mine", "stays"), [((), False), (("_SUCCESS", ".x.crc"), False), (("notes.txt",), True), (("more/x",), True)]
)
def test_partitions_of_an_earlier_run_are_removed_and_folders_with_anything_else_stay(
    tmp_path: Path, mine: tuple[str, ...], stays: bool
) -> None:
    for name in ("strategy=rarest/part-0.parquet", *mine):
        (tmp_path / "peers" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "peers" / name).touch()
    (tmp_path / "configuration.json").write_text('{"files": ["peers"]}')

    prepare_folder(tmp_path)

    assert (tmp_path / "peers").exists() == stays


def test_a_run_that_fails_leaves_no_configuration_of_its_own(tmp_path: Path) -> None:
    prepare_folder(tmp_path / "out")

    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    "configuration",
    [
        '{"files": ["../mine.parquet", "/mine.parquet", "in", "in/mine.parquet", "..", "", 7, "gone", "configuration.json"]}',
        '{"files": "mine.parquet"}',
        '["mine.parquet"]',
        "mine.parquet",
        "[" * 100_000,
    ],
    ids=["other folders", "no list", "no object", "no JSON", "too deep"],
)
def test_a_configuration_that_is_none_of_ours_removes_nothing(tmp_path: Path, configuration: str) -> None:
    mine = [tmp_path / "mine.parquet", tmp_path / "out" / "mine.parquet", tmp_path / "out" / "in" / "mine.parquet"]
    mine[-1].parent.mkdir(parents=True)
    for file in mine:
        file.touch()
    (tmp_path / "out" / "configuration.json").write_text(configuration)

    prepare_folder(tmp_path / "out")

    assert all(file.exists() for file in mine)
    assert (tmp_path / "out" / "configuration.json").read_text() == configuration

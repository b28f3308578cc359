"""``gsg simulate``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from gsg.cli import main

if TYPE_CHECKING:
    pass

SMALL = ("--peers", "20", "--tuples", "2000", "--subscriptions", "50")


def simulate(*arguments: str, out: Path | None = None) -> Result:
    """Run it in this process."""
    return CliRunner().invoke(main, ["simulate", *arguments, *(() if out is None else ("--out", str(out)))])


def test_help_imports_no_simulation() -> None:
    code = (
        "import sys; from gsg.cli import main\n"
        "try: main(['simulate', '--help'])\n"
        "except SystemExit: print(*sorted({'simulations', 'numpy', 'pyspark', 'matplotlib'} & set(sys.modules)), 'end')"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert re.search(r"load-balance +Who would carry which load", said)
    assert said.splitlines()[-1].split() == ["end"]


def test_all_strategies_are_compared_in_a_table(tmp_path: Path) -> None:
    ran = simulate("load-balance", *SMALL, "--engine", "numpy", out=tmp_path)

    assert ran.exit_code == 0, ran.output
    assert "…" not in ran.output
    assert "hot-split-10+demand+virtual-8" in ran.output
    assert {path.name for path in tmp_path.iterdir()} >= {"report.html", "summary.json", "configuration.json", "peers"}
    assert "strategy=rarest" in {path.name for path in (tmp_path / "peers").iterdir()}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--events", "gone.nt"), "cannot read gone.nt: no such file or directory"),
        (("--events", "t.odd"), "'t.odd' has no known suffix; expected .nt,"),
        (("--events", "empty"), "empty has no files of tuples"),
        (("--events", "*.ttl"), "no file is named as '*.ttl' says"),
        (("--events", "t.nt", "--strategy", "maan"), "strategy 'maan' takes objects as numbers"),
        (("--events", "t.nt", "--mix", "??b=1"), "the mix ??b=100 has bounds"),
        (("--events", "t.nt", "--peers", "2", "--strategy", "replicas-3"), "3 holders of a key among 2 peers"),
        (("--trace", "gone"), "cannot read gone: no part of a trace"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_impossible_is_told_before_spark_starts(
    arguments: tuple[str, ...], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gsg.cli.simulate.running.start_spark", lambda *_: pytest.fail("Spark was started"))
    (tmp_path / "t.nt").touch()
    (tmp_path / "t.odd").touch()
    (tmp_path / "empty").mkdir()

    ran = simulate("load-balance", *arguments, out=tmp_path / "out")

    assert ran.exit_code == 2, ran.output
    assert complaint in ran.output
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("spark")
def test_spark_and_one_thread_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.setattr("gsg.cli.simulate.running.numpy_told", lambda: "some engine")
    monkeypatch.setattr("gsg.cli.simulate.running.spark_told", lambda _: "some engine")
    of_spark = simulate("load-balance", *SMALL, "--strategy", "grid-1+demand", "--json", "--master", "local[2]", out=tmp_path / "a")
    alone = simulate("load-balance", *SMALL, "--strategy", "grid-1+demand", "--json", "--engine", "numpy", out=tmp_path / "b")

    assert json.loads(of_spark.stdout) == json.loads(alone.stdout)
    assert (tmp_path / "a" / "report.html").read_bytes() == (tmp_path / "b" / "report.html").read_bytes()


def test_a_file_with_malformed_lines_is_used_and_they_are_told(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("a\tp\tb\nnonsense\na\tp\tc\n")

    ran = simulate(
        "load-balance", "--events", str(tmp_path / "t.tsv"), "--engine", "numpy", "--strategy", "rarest", *SMALL[:2], out=tmp_path
    )

    assert ran.exit_code == 0, ran.output
    assert "1 malformed line was left out: t.tsv line 2: 1 fields" in " ".join(ran.output.split())
    assert "t.tsv line 2" in json.loads((tmp_path / "configuration.json").read_text())["left_out"]


def test_a_configuration_has_what_the_workload_used_and_a_part_of_it_draws_the_growth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulations.load_balance.experiments.GROWTH_TUPLES", 2)
    (tmp_path / "t.tsv").write_text("".join(f"s{number}\tp\to\n" for number in range(9)))
    events = ("--events", str(tmp_path / "t.tsv"), "--peers", "20")
    few = ("--engine", "numpy", "--strategy", "rarest", "--subscriptions", "5")

    ran = [simulate("load-balance", *options, *few, out=tmp_path / "out") for options in (("--tuples", "9"), events)]

    assert [one.exit_code for one in ran] == [0, 0], ran[-1].output
    found = json.loads((tmp_path / "out" / "configuration.json").read_text())
    assert found.keys() & {"tuples", "zipf", "distinct", "hours", "trace"} == {"tuples", "hours"}
    assert (found["tuples"], found["hours"]) == (9, 24)
    assert "Growth, over 2 tuples" in (tmp_path / "out" / "report.html").read_text()


def test_a_second_run_leaves_the_files_of_the_user_and_replaces_those_of_the_first(tmp_path: Path) -> None:
    table = pyarrow.table({"subject": ["a", "b"], "predicate": ["p", "p"], "object": ["c", "d"]})
    parquet.write_table(table, tmp_path / "films.parquet")
    events = ("--events", str(tmp_path / "films.parquet"), "--engine", "numpy", "--peers", "20")

    ran = [simulate("load-balance", *events, "--strategy", strategy, out=tmp_path) for strategy in ("rarest", "random", "random")]

    assert [one.exit_code for one in ran] == [0, 0, 0], ran[-1].output
    assert {path.name for path in tmp_path.glob("*.parquet")} == {"films.parquet"}
    assert [path.name for path in (tmp_path / "peers").iterdir()] == ["strategy=random"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--peers", "0"), "0 peers; expected 1 to 67108864"),
        (("--tuples", "-1"), "-1 tuples; expected 1 to"),
        (("--subscriptions", "0"), "0 subscriptions; expected 1 to"),
        (("--strategy", "fastest"), "unknown strategy 'fastest'; expected predicate"),
        (("--mix", "abc"), "pattern 'abc' of the mix 'abc'"),
        (("--zipf", "1,2"), "--zipf '1,2'; expected three numbers between commas, for subject, predicate, object"),
        (("--zipf", "1,-2,1"), "a Zipf exponent of -2; expected 0"),
        (("--distinct", "1,2,x"), "--distinct '1,2,x'; expected three numbers"),
        (("--distinct", "0,2,2"), "0 distinct constants; expected 1 to"),
        (("--hours", "0"), "tuples within 0 h; expected more than 0"),
        (("--seed", "-1"), "seed -1; expected 0 to"),
        (
            ("--peers", "20", "--strategy", "replicas-21"),
            "21 holders of a key among 20 peers; expected no more than there are peers",
        ),
        (
            ("--peers", "67109", "--strategy", "rarest", "--strategy", "virtual-1000"),
            "67109 peers under 1000 ids each; expected 67108 peers at most, or fewer ids",
        ),
        (("--events", "x.nt", "--tuples", "5"), "--tuples 5 is for synthetic tuples; those of x.nt are as many as there are"),
        (("--events", "x.nt", "--zipf", "1,1,1"), "--zipf 1,1,1 is for synthetic tuples; those of x.nt are as they are"),
        (("--trace", "x", "--distinct", "5,5,5"), "--distinct 5,5,5 is for synthetic tuples; those of x are as they are"),
        (("--trace", "x", "--hours", "1"), "--hours 1 is for tuples without times; those of x have theirs"),
        (("--trace", "x", "--mix", "?po=1"), "--mix ?po=1 is for subscriptions that are made; say how many, with --subscriptions"),
        (("--events", "gone.nt"), "cannot read gone.nt: no such file or directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_impossible_is_one_clear_line(tmp_path: Path, arguments: tuple[str, ...], complaint: str) -> None:
    ran = simulate("load-balance", "--engine", "numpy", *arguments, out=tmp_path / "out")

    assert ran.exit_code == 2
    assert ran.stderr.startswith(f"gsg: {complaint}")
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_without_the_extra_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simulations.load_balance.experiments", None)

    ran = simulate("load-balance", out=tmp_path)

    assert ran.exit_code == 2
    assert "install the extra: pip install 'gsg-router[sim]'" in ran.stderr


def test_package_says_how_to_run_it(tmp_path: Path) -> None:
    ran = simulate("package", str(tmp_path / "ours.zip"))

    assert ran.exit_code == 0
    assert f"spark-submit --master MASTER --py-files {tmp_path}/ours.zip {tmp_path}/gsg_simulate.py load-balance" in ran.output


@pytest.mark.parametrize("place", ["s3://bucket/a/b", "gs://bucket", "dbfs:/a", "hdfs:///a", "abfss://box@account.example.org/a"])
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("load-balance", "--out"), "--out {}"),
        (("churn", "--out"), "--out {}"),
        (("routing", "--out"), "--out {}"),
        (("dissemination", "--out"), "--out {}"),
        (("replay", "(?x, p, ?y)", "--events", "t.tsv", "--out"), "--out {}"),
        (("load-balance", "--engine", "numpy", "--out", "out", "--events"), "--events {}"),
        (("load-balance", "--out", "out", "--trace"), "--trace {}"),
        (("replay", "(?x, p, ?y)", "--events"), "--events {}"),
        (("package",), "FILE {}"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_place_of_another_file_system_is_refused_before_any_work(
    asked: tuple[str, ...], told: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("simulations.engine.spark.session", None)

    ran = simulate(*asked, place)

    assert ran.exit_code == 2
    assert ran.stderr.startswith(
        f"gsg: {told.format(place)} is on another file system; expected a path of the machine that drives the run"
    )
    assert ran.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_start_of_spark_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from simulations.errors import NoSpark

    said: list[str] = []

    @contextmanager
    def bar() -> Iterator[tuple[Callable[[str], None], Callable[[int, int], None]]]:
        yield said.append, lambda done, of: None

    def session(*_: object, **__: object) -> None:
        said.append("(starts)")
        raise NoSpark("it does not start")

    monkeypatch.setattr("gsg.cli.simulate.running.bar", bar)
    monkeypatch.setattr("simulations.engine.spark.session", session)

    simulate("load-balance", *SMALL, out=tmp_path)

    assert said == ["starting Spark", "(starts)"]

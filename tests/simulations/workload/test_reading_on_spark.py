"""What tasks of Spark read is what one process reads: the same tuples under the same numbers and codes, and the same is told."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from simulations.errors import BadWorkload
from simulations.workload.files import Reading, read
from simulations.workload.reading import on_spark, places_of_files
from simulations.workload.reading.distributed import Distributed
from simulations.workload.reading.on_spark import read_on_spark, told_of
from simulations.workload.workload import COMMON_MIX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long


@contextmanager
def small_splits(spark: SparkSession, size_bytes: int) -> Iterator[None]:
    """Files are cut into splits of so many bytes, which one task has several of."""
    usual = {"spark.sql.files.maxPartitionBytes": str(size_bytes), "spark.sql.files.openCostInBytes": "0"}
    before = {name: spark.conf.get(name) for name in usual}
    for name, value in usual.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, str(old))


def check_equal(distributed: Distributed, reading: Reading) -> None:
    """Both have the same tuples, constants, subscriptions and complaints."""
    here = reading.recorded
    assert distributed.tuples == here.tuples
    for ours, theirs in zip(distributed.constants, here.constants, strict=True):
        assert ours.keys.tolist() == theirs.keys.tolist()
        assert ours.facts.tolist() == theirs.facts.tolist()
    whole = distributed.chunk(0, here.tuples)
    assert [column.tolist() for column in whole.codes] == [column.tolist() for column in here.codes]
    assert whole.at_s.tolist() == here.chunk(0, here.tuples).at_s.tolist()
    assert distributed.seen == reading.seen


def both(spark: SparkSession, path: Path | str, format: str | None = None) -> Distributed:
    """A path read both ways."""
    distributed = read_on_spark(spark, str(path), format=format, seconds=100.0)
    check_equal(distributed, read(path, format=format, seconds=100.0))
    return distributed


LINES: dict[str, Callable[[int], str]] = {
    "t.tsv": lambda n: f"s{n % 37}\tp{n % 3}\to{n % 11}\n" if n % 50 else "one\ttwo\n",
    "t.jsonl": lambda n: (
        f'["s{n % 37}", "p{n % 3}", {n % 11}]\n',
        f'{{"s": "s{n % 37}", "p": "p", "o": true}}\n',
        '["a", {}, 1]\n',
        "[1,\n",
        "\n",
    )[0 if n % 30 else n // 30 % 5],
    "t.nt": lambda n: (
        (f'<x:s{n % 37}> <x:p{n % 3}> "{n % 11}"@en .\n' if n % 4 else f"_:b{n % 7} <x:p> _:c.{n % 5} .\n")
        if n % 50
        else ("# comment\n", "<x:s> <x:p> .\n", "<x:s> <no> <x:o> .\n")[n % 3]
    ),
    "t.nq": lambda n: f"<x:s{n % 37}> <x:p{n % 3}> <x:o{n % 11}> {('<x:g>', '')[n % 2]} .\n" if n % 50 else "nonsense\n",
    "t.csv": lambda n: (f's{n % 37},p{n % 3},"o ""{n % 11}"""\n' if n % 50 else 'a,"two\nlines",c\nd,e\n') if n else "s,p,o\n",
}


def text(name: str, lines: int) -> str:
    return "".join(map(LINES[name], range(lines)))


@pytest.mark.parametrize("name", LINES)
def test_a_text_that_is_cut_into_many_splits(spark: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(text(name, 3_000))

    with small_splits(spark, 4_000):
        distributed = both(spark, tmp_path / name)

    assert distributed.seen.malformed > 10
    assert len(distributed.seen.examples) == 5


@pytest.mark.parametrize("name", LINES)
def test_a_packed_text_is_one_split(spark: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text(name, 300).encode()))

    both(spark, tmp_path / f"{name}.gz")


def test_lines_as_people_leave_them(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"\xef\xbb\xbfa\tb\tc\r\n\r\n \n\xff\tb\tc\na\tb\tno end")
    (tmp_path / "b.nt").write_bytes(b'\xef\xbb\xbf<a:s> <a:p> "\xe2\x80\xa8" .\r<a:t> <a:p> <a:o> .\n<a:s>\t<a:p> "\\"" . # so\n')
    (tmp_path / "c.csv").write_bytes(b"\xef\xbb\xbfid,object,subject,predicate\r\n7,x,y,z\r\n8,,y,z\r\n")
    (tmp_path / "d e%20f[1]{2}.tsv").write_bytes(b"d\te\tf\n")
    (tmp_path / "empty.tsv").touch()

    assert both(spark, tmp_path).tuples == 7


def test_parquet_of_several_row_groups_and_splits(spark: SparkSession, tmp_path: Path) -> None:
    numbers = range(5_000)
    columns = {
        "object": [None if n % 700 == 5 else f"o{n % 91}" for n in numbers],
        "subject": [f"<x:s{n % 401}>" for n in numbers],
        "predicate": ["<open" if n % 900 == 7 else f"p{n % 3}" for n in numbers],
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet", row_group_size=500)

    with small_splits(spark, 2_000):
        distributed = both(spark, tmp_path / "t.parquet")

    assert distributed.tuples == 5_000 - 8 - 6


def test_parquet_with_other_values_than_texts(spark: SparkSession, tmp_path: Path) -> None:
    from datetime import UTC, date, datetime
    from decimal import Decimal

    objects = {
        "double": pyarrow.array([0.0, -0.0, float("nan"), 1.5]),
        "decimal": pyarrow.array([Decimal("1.50"), Decimal("2.00"), None, Decimal("1.50")]),
        "moment": pyarrow.array([datetime(2026, 1, day, 12, tzinfo=UTC) for day in (1, 2, 3, 1)], pyarrow.timestamp("us", "UTC")),
        "day": pyarrow.array([date(2026, 1, day) for day in (1, 2, 3, 1)]),
        "bytes": pyarrow.array([b"a", b"b", b"\xff", b"a"]),
        "flag": pyarrow.array([True, False, None, True]),
        "whole": pyarrow.array([1, 0, 2, 1], pyarrow.int32()),
        "list": pyarrow.array([[1], [], [2], None]),
    }
    for name, column in objects.items():
        table = pyarrow.table({"subject": ["a"] * 4, "predicate": ["b"] * 4, "object": column})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
        if name != "list":
            both(spark, tmp_path / f"{name}.parquet")

    with pytest.raises(BadWorkload, match=r"holds no tuples \(4 malformed lines, the first: list.parquet line 1: .* is no term"):
        read_on_spark(spark, str(tmp_path / "list.parquet"))


def test_tuples_in_one_column(spark: SparkSession, tmp_path: Path) -> None:
    tuples = [["a", "b", "c"], ["a", "b"], None, ["d", "<x:e>", '"f"']]
    parquet.write_table(pyarrow.table({"tuple": tuples, "time": [1, 2, 3, 4]}), tmp_path / "t.parquet")

    assert both(spark, tmp_path / "t.parquet").seen.malformed == 2


def test_folders_that_are_columns_and_files_of_several_formats(spark: SparkSession, tmp_path: Path) -> None:
    for predicate, name in (("7", "part-1.parquet"), ("has%20a", "part-0.parquet"), ("q", "part-0.json"), ("r", "z.csv")):
        (tmp_path / f"predicate={predicate}").mkdir()
        file = tmp_path / f"predicate={predicate}" / name
        if name.endswith(".parquet"):
            parquet.write_table(pyarrow.table({"subject": ["a", "b"], "object": ["x", predicate]}), file)
        elif name.endswith(".json"):
            file.write_text('{"subject": "c", "object": 1}\n')
        else:
            file.write_text("subject,object\nd,z\n")
    parquet.write_table(pyarrow.table({"s": ["c"], "p": ["p"], "o": ["z"]}), tmp_path / "a.parquet")
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "z.tsv").write_text("no\n")
    (tmp_path / "notes.txt").touch()

    assert both(spark, tmp_path).tuples == 7
    assert both(spark, f"{tmp_path}/predicate=*/part-*.parquet").tuples == 4


TURTLE = """@prefix x: <http://x.example/> . x:s x:p 1, "two", [ x:q x:o ] . <relative> x:p _:b .
nonsense here .
x:t x:p x:o .
"""


def test_documents_are_read_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(TURTLE)
    (tmp_path / "b.ttl.gz").write_bytes(gzip.compress(TURTLE.encode()))
    (tmp_path / "c d.trig").write_text("@prefix x: <http://x.example/> . x:g { x:s x:p x:o } x:s x:p x:o .\n")

    distributed = both(spark, tmp_path)

    assert distributed.tuples == 2 * 6 + 2
    assert distributed.seen.graphs == 1
    assert distributed.seen.said()[1] == "1 quad was taken without the name of the graph: triples alone are simulated"


def test_a_document_of_too_many_bytes_is_refused_by_name(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.ttl").write_text(TURTLE)
    monkeypatch.setattr(places_of_files, "MAX_DOCUMENT_BYTES", 10)

    with pytest.raises(BadWorkload, match=r"a\.ttl has 116 bytes, and ttl is read as a whole, 10 at most; convert it to N-Triples"):
        read_on_spark(spark, str(tmp_path))


def test_more_constants_than_the_driver_keeps_are_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.tsv").write_text(text("t.tsv", 100))
    monkeypatch.setattr(on_spark, "MAX_CONSTANTS", 20)

    with pytest.raises(BadWorkload, match=r"37 distinct constants in the place of the subject; expected 20 at most, of which the"):
        read_on_spark(spark, str(tmp_path / "t.tsv"))


def test_what_cannot_be_read_is_one_clear_line(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("a\tb\n")
    (tmp_path / "t.nt.gz").write_bytes(b"no gzip")
    (tmp_path / "t.parquet").write_bytes(b"no parquet")
    parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "other.parquet")
    (tmp_path / "u.ttl").write_bytes("<a:b> <a:c> <a:d> .".encode("utf-16"))

    for name, said in {
        "gone.tsv": r"cannot read .*gone\.tsv: no such file or directory$",
        "t.tsv": r"t\.tsv holds no tuples \(1 malformed lines, the first: t\.tsv line 1: 2 fields between tabs; expected 3\)$",
        "t.nt.gz": r"cannot read .*t\.nt\.gz: ",
        "t.parquet": r"cannot read .*t\.parquet: ",
        "other.parquet": r"its columns are a; expected tuple, or subject, predicate, object$",
        "u.ttl": r"cannot read u\.ttl: it is UTF-16; save it as UTF-8",
        "file:///nowhere/x.nt": r"cannot read /nowhere/x.nt: no such file",
    }.items():
        with pytest.raises(BadWorkload, match=said):
            read_on_spark(spark, name if ":" in name else str(tmp_path / name))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            'An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  File "x.py", line 2\n'
            "    import msgspec\nModuleNotFoundError: No module named 'msgspec'\n\tat org.apache.Some.method(Some.scala)\n",
            ("", "ModuleNotFoundError: No module named 'msgspec', in a worker of Python's"),
        ),
        (
            "[FAILED_READ_FILE.NO_HINT] error while reading file x. SQLSTATE: KD001\nCaused by: java.io.IOException: no",
            ("FAILED_READ_FILE.NO_HINT", "error while reading file x (java.io.IOException: no)"),
        ),
        ("Java is gone.\nand so on", ("", "Java is gone")),
    ],
    ids=["python", "condition", "neither"],
)
def test_an_error_of_sparks_is_told_in_one_line(text: str, told: tuple[str, str]) -> None:
    assert told_of(text) == told


def test_a_table_of_delta_lake_needs_its_package(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "00000000000000000000.json").touch()

    with pytest.raises(BadWorkload, match=r"is a table of Delta Lake, and this Spark has no package .* io\.delta:delta-spark"):
        read_on_spark(spark, str(tmp_path))


def test_samples_are_fetched_in_the_order_asked(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text(text("t.tsv", 3_000))
    reading = read(tmp_path / "t.tsv")

    with small_splits(spark, 4_000):
        distributed = read_on_spark(spark, str(tmp_path / "t.tsv"))

    numbers = np.array([7, 2_000, 7, 0, reading.recorded.tuples - 1])
    ours, theirs = distributed.at(numbers), reading.recorded.at(numbers)
    assert [column.tolist() for column in ours.codes] == [column.tolist() for column in theirs.codes]
    assert ours.at_s.tolist() == theirs.at_s.tolist()
    assert distributed.at(numbers) is ours
    assert len(distributed.at(numbers[:0])) == 0
    subscriptions = distributed.subscriptions(500, COMMON_MIX, 7)
    assert subscriptions.codes.tolist() == reading.recorded.subscriptions(500, COMMON_MIX, 7).codes.tolist()
    thinned, expected = distributed.thinned(100), reading.recorded.thinned(100)
    assert [column.tolist() for column in thinned.codes] == [column.tolist() for column in expected.codes]
    assert [of.facts.tolist() for of in thinned.constants] == [of.facts.tolist() for of in expected.constants]


def test_blocks_are_kept_on_disk_and_the_session_stays_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text(text("t.tsv", 300))
    before = dict(spark.conf.getAll)

    distributed = read_on_spark(spark, str(tmp_path / "t.tsv"))

    assert (distributed.blocks.storageLevel.useDisk, distributed.blocks.storageLevel.useMemory) == (True, False)
    # What had its usual value is now said to have it.
    assert {name: value for name, value in spark.conf.getAll.items() if name in before} == before
    assert spark.conf.get("spark.sql.inMemoryColumnarStorage.batchSize") == "10000"


def test_blocks_that_were_given_up_are_read_again(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text(text("t.tsv", 300))
    distributed = read_on_spark(spark, str(tmp_path / "t.tsv"))

    distributed.release()

    check_equal(distributed, read(tmp_path / "t.tsv", seconds=distributed.seconds))

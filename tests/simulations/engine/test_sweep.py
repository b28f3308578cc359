"""Sweeps bring the same rows however they are played."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from simulations.engine.randomness import Stream
from simulations.engine.sweep import MAX_CASES, Sweep, arrow_table, frame, in_one_thread, on_spark
from simulations.errors import BadParameter, JobFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Drawn:
    seed: int
    number: int
    share: float
    even: bool
    name: str
    counts: tuple[int, ...]


def draw(seed: int) -> Iterator[Drawn]:
    for number in range(seed % 4):
        share = float(Stream(seed, number).uniform(0, 1)[0])
        yield Drawn(seed, number, share, number % 2 == 0, f"{seed}/{number}", tuple(range(number)))


SWEEP = Sweep(Drawn, range(9, -1, -1), draw)


@pytest.fixture
def spark(spark: SparkSession) -> SparkSession:
    """The session, whose workers know this module."""
    spark.sparkContext.addPyFile(__file__)
    return spark


@pytest.mark.parametrize("partitions", [None, 1, 3, 16])
def test_spark_brings_the_rows_of_one_thread_in_any_number_of_partitions(spark: SparkSession, partitions: int | None) -> None:
    assert on_spark(spark, partitions=partitions)(SWEEP) == in_one_thread()(SWEEP)


def test_frames_are_equal_whatever_the_partitions(spark: SparkSession) -> None:
    from pyspark.testing import assertDataFrameEqual

    expected = spark.createDataFrame(
        [
            (number, row.seed, row.number, row.share, row.even, row.name, list(row.counts))
            for number, seed in enumerate(SWEEP.cases)
            for row in draw(seed)
        ],
        frame(spark, SWEEP).schema,
    )

    assertDataFrameEqual(frame(spark, SWEEP, 1), expected)
    assertDataFrameEqual(frame(spark, SWEEP, 16), expected)


def test_both_ways_say_how_far_they_are(spark: SparkSession) -> None:
    said: list[tuple[int, int]] = []
    in_one_thread(lambda done, of: said.append((done, of)))(SWEEP)
    assert said == [(number, 10) for number in range(1, 11)]

    said.clear()
    on_spark(spark, progress=lambda done, of: said.append((done, of)))(SWEEP)
    assert said[-1] == (10, 10)


def test_a_case_that_fails_on_spark_is_one_clear_line(spark: SparkSession) -> None:
    with pytest.raises(JobFailed, match=r"^the job failed on Spark: .+$"):
        on_spark(spark)(Sweep(Drawn, [0, "one"], lambda case: draw(case + 1)))  # type: ignore[operator]  # so that one fails


def test_no_partitions_and_too_many_runs_are_refused(spark: SparkSession) -> None:
    with pytest.raises(BadParameter, match="0 partitions; expected 1 to 100000"):
        on_spark(spark, partitions=0)
    with pytest.raises(BadParameter, match="10001 runs; expected 10000 at most"):
        in_one_thread()(Sweep(Drawn, range(MAX_CASES + 1), draw))


def test_rows_become_a_table() -> None:
    rows = in_one_thread()(SWEEP)

    assert [Drawn(**{**row, "counts": tuple(row["counts"])}) for row in arrow_table(rows).to_pylist()] == rows

"""Matches counted in one thread, or by tasks of Spark, which come to the same.

Each task counts its share of the chunks by itself and hands over what it has counted in blocks; Spark brings those of one block
together and adds them up, so that the driver gets each number once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..engine.kernels import Whole
from ..engine.spark import check_partitions, cores_of
from ..engine.spark_progress import Progress, reported_progress, untold
from ..workload.workload import Subscriptions, Workload
from .matching import MatchCounter, Matches, chunks_of_batches
from .repetitions import Repetitions

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

BLOCK = 1 << 14
"""Numbers that travel as one row."""
SCHEMA = "block long, counts binary"
LEAST_TUPLES = 1 << 16
"""Tuples that are worth a task of their own."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be counted: distinct templates, the copies that each makes of a tuple, and how many tuples a message has.

    With ``repetitions`` tuples are events.
    """

    workload: Workload
    templates: Subscriptions
    copies: Whole
    batch: int = 1
    repetitions: Repetitions | None = None

    def zero(self) -> Matches:
        """What is counted of no tuple."""
        return Matches.zero(len(self.templates), 0 if self.repetitions is None else self.repetitions.peers)

    def counter(self) -> MatchCounter:
        """Counts chunks of it."""
        given = self.templates, self.copies, self.workload.constants
        return MatchCounter(*given, batch=self.batch, repetitions=self.repetitions)


Counter: TypeAlias = Callable[[Question], Matches]
"""Whoever counts."""


def in_one_thread(progress: Progress = untold) -> Counter:
    """Counts here and now, without Spark."""

    def count(asked: Question) -> Matches:
        counter, tuples = asked.counter(), asked.workload.tuples
        for begin, size in chunks_of_batches(tuples, asked.batch):
            counter.count_chunk(asked.workload.chunk(begin, size).codes, begin)
            progress(begin + size, tuples)
        return counter.matches

    return count


def on_spark(spark: SparkSession, *, partitions: int | None = None, progress: Progress = untold) -> Counter:
    """Counts in a session, in so many partitions, or one for each core. Raises BadParameter for a number that cannot be."""
    check_partitions(partitions)
    cores = cores_of(spark)

    def count(asked: Question) -> Matches:
        cut = partitions or max(1, min(cores, asked.workload.tuples // LEAST_TUPLES))
        chunks = chunks_of_batches(asked.workload.tuples, asked.batch, parts=cut)

        def counted(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            counter = None
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    counter = counter or asked.counter()
                    begin, size = chunks[number]
                    counter.count_chunk(asked.workload.chunk(begin, size).codes, begin)
            if counter is not None:
                yield rows_of(blocks_of(counter.matches))

        parts = spark.range(0, len(chunks), 1, cut).mapInArrow(counted, SCHEMA)
        total = parts.repartition(min(cut, cores), "block").mapInArrow(lambda rows: iter([rows_of(sums_of(rows))]), SCHEMA)
        with reported_progress(spark, cut, progress):
            table = total.toArrow()
        return matches_of(sums_of(table.to_batches()), asked.zero())

    return count


def blocks_of(matches: Matches) -> dict[int, Whole]:
    """All that was counted, as blocks of one column; those in which there is nothing are left out."""
    column = np.concatenate(matches)
    cut = (column[begin : begin + BLOCK] for begin in range(0, len(column), BLOCK))
    return {number: block for number, block in enumerate(cut) if block.any()}


def matches_of(blocks: dict[int, Whole], zero: Matches) -> Matches:
    """The inverse of :func:`blocks_of`, given what is counted of no tuple."""
    column = np.concatenate(zero)
    for number, block in blocks.items():
        column[number * BLOCK : number * BLOCK + len(block)] = block
    return Matches(*np.split(column, np.cumsum([len(one) for one in zero])[:-1]))


def rows_of(blocks: dict[int, Whole]) -> pyarrow.RecordBatch:
    """A row for each block, of which Spark copies the bytes."""
    import pyarrow

    columns = [
        pyarrow.array(list(blocks), pyarrow.int64()),
        pyarrow.array([one.tobytes() for one in blocks.values()], pyarrow.binary()),
    ]
    return pyarrow.RecordBatch.from_arrays(columns, names=["block", "counts"])


def sums_of(batches: Iterable[pyarrow.RecordBatch]) -> dict[int, Whole]:
    """All rows of each block added up."""
    sums: dict[int, Whole] = {}
    for batch in batches:
        for number, part in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            block = np.frombuffer(part, dtype=np.int64)
            sums[number] = sums[number] + block if number in sums else block
    return sums

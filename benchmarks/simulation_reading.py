"""The part ``reading`` of benchmarks/simulation.py: from the path of a Parquet file to constants and blocks of tuples on Spark."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table

from simulations.workload.workload import CHUNK, POSITIONS, Synthetic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WANTED_PER_S = 1_000_000
DISTINCT = (1_000_000, 1_000, 1_000_000)
_NAMES = ("entity/Q", "P", "value/V")
"""How texts of each position begin; the number of the constant follows."""


@dataclass(frozen=True, slots=True)
class ReadRun:
    """One reading."""

    tuples: int
    seconds: float
    file_mb: float

    @property
    def per_s(self) -> float:
        """Tuples a second."""
        return self.tuples / self.seconds


def write_parquet(file: Path, tuples: int) -> None:
    """Synthetic tuples as three columns of texts, by Zipf's law."""
    import pyarrow
    from pyarrow import parquet

    workload = Synthetic(tuples, DISTINCT)
    texts = [pyarrow.array([f"{name}{code}" for code in range(count)]) for name, count in zip(_NAMES, DISTINCT, strict=True)]
    with parquet.ParquetWriter(file, pyarrow.schema([(name, pyarrow.string()) for name in POSITIONS])) as made:
        for begin in range(0, tuples, CHUNK):
            codes = workload.chunk(begin, CHUNK).codes
            columns = [known.take(pyarrow.array(column)) for known, column in zip(texts, codes, strict=True)]
            made.write_table(pyarrow.table(columns, names=list(POSITIONS)))


def measure_reading(spark: SparkSession, tuples: int) -> ReadRun:
    """Read a file of so many tuples, after a small one that warms Spark up."""
    from simulations.workload.reading.on_spark import read_on_spark

    with tempfile.TemporaryDirectory() as folder:
        for count in (min(tuples, CHUNK), tuples):
            file = Path(folder) / f"{count}.parquet"
            if not file.exists():
                write_parquet(file, count)
            begin = time.perf_counter()
            workload = read_on_spark(spark, str(file))
            seconds = time.perf_counter() - begin
            workload.release()
        return ReadRun(tuples, seconds, file.stat().st_size / 1e6)


def reading_table(run: ReadRun) -> Table:
    """A reading as a table of one row."""
    made = Table(title="Reading a Parquet file", box=SIMPLE_HEAD, title_justify="left")
    for heading in ("tuples", "MB", "s", "tuples/s"):
        made.add_column(heading, justify="right")
    made.add_row(f"{run.tuples:,}", f"{run.file_mb:,.0f}", f"{run.seconds:.1f}", f"{run.per_s:,.0f}")
    return made

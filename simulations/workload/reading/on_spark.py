"""Files read by tasks of Spark: from a path to constants, in the driver, and blocks of tuples, which stay with Spark.

Two passes. In the first, each task makes blocks of its splits with the keys of their own constants, and adds up how often each
came. In the second, once the driver has all constants in the order of their keys, blocks get codes. Both are kept by Spark on the
disks of executors, 10 to 20 bytes of each tuple, of which the system keeps in memory what it has room for: a heap of Java's of
1 GiB, which is usual, is full of a hundred million. What goes with an executor is made again from the files. Nothing but DataFrames
is used, so that it works with Spark Connect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from ...engine.randomness import Words
from ...errors import BadWorkload, JobFailed
from ..lines import NAMES, columns_of
from ..sources import partition_of
from ..workload import ARITY, DAY_S, POSITIONS, Constants
from .blocks import BLOCK_SCHEMA, PART_SCHEMA, READ_SCHEMA, CodeTable, SplitSeen, counted, position_of, sums_of_parts
from .columns import DOCUMENTS
from .distributed import Distributed
from .places_of_files import DELTA, Found, Source, find
from .split_reader import CONTENT, FILE, START, TABLE, read_splits
from .splits import Begins, in_order

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import Column, DataFrame, SparkSession

    Batches: TypeAlias = Iterator[pyarrow.RecordBatch]

MAX_CONSTANTS = 1 << 25
"""Distinct constants of one position: the driver keeps 16 bytes of each, 512 MiB at most, and tasks look codes up among 8."""


def read_on_spark(spark: SparkSession, path: str, *, format: str | None = None, seconds: float = DAY_S) -> Distributed:
    """All tuples of a file, a folder, a pattern or a URI. Raises BadWorkload when they cannot be read or there are none.

    A path is one of this machine, and all that count must see its files there too; another file system is named by a URI.
    """
    from pyspark.storagelevel import StorageLevel

    with _failing(path), _row_by_row(spark):
        found = find(spark, path, format)
        read = _frame_of(spark, path, found).persist(StorageLevel.DISK_ONLY)
    try:
        with _failing(path), _row_by_row(spark):
            decode = msgspec.msgpack.Decoder(SplitSeen).decode
            splits = [decode(row[0]) for row in read.where("seen is not null").select("seen").collect()]
            splits_in_order = in_order(splits, [source.within for source in found.sources], found.ignored)
            if not splits_in_order.tuples:
                raise BadWorkload(f"{path} holds no tuples{splits_in_order.seen.first()}")
            constants = _constants_of(read, path)
            blocks = _coded(read, [known.keys for known in constants], splits_in_order.begins)
            blocks = blocks.persist(StorageLevel.DISK_ONLY)
            # All of them, before what they are made from is given up.
            blocks.agg({"tuples": "sum"}).collect()
    finally:
        # A Spark that died of something has nothing left to give up, and what it died of is to be told.
        with suppress(OSError):
            read.unpersist()
    return Distributed(spark, blocks, splits_in_order.tuples, constants, splits_in_order.seen, seconds)


@contextmanager
def _row_by_row(spark: SparkSession) -> Iterator[None]:
    """What is told to be kept inside is kept row by row, each of which is a block.

    Java's serialisation holds on to a hundred objects (spark.serializer.objectStreamReset) in each task that writes or reads what
    is kept: of Spark's usual batches of 4 MiB that is all of a heap of 1 GiB for two tasks, of blocks an eighth of it.
    """
    before = spark.conf.get(_KEPT_ROWS)
    spark.conf.set(_KEPT_ROWS, "1")
    try:
        yield
    finally:
        spark.conf.set(_KEPT_ROWS, str(before))


_KEPT_ROWS = "spark.sql.inMemoryColumnarStorage.batchSize"


def _constants_of(read: DataFrame, path: str) -> tuple[Constants, ...]:
    """All constants by their keys, added up by Spark. Raises BadWorkload for more than the driver keeps."""
    from pyspark.sql import functions

    rows = read.where("part is not null").select("part", "counted")
    parts = rows.repartition("part").mapInArrow(_summed, PART_SCHEMA).persist()
    try:
        sizes = parts.groupBy("part").agg(functions.sum(functions.length("counted"))).collect()
        distinct = [sum(size for part, size in sizes if position_of(part) == position) // 16 for position in range(ARITY)]
        for name, count in zip(POSITIONS, distinct, strict=True):
            if count > MAX_CONSTANTS:
                raise BadWorkload(
                    f"{path} has {count:,} distinct constants in the place of the {name}; expected {MAX_CONSTANTS:,} at most, "
                    "of which the driver keeps 16 bytes each: take a part of it"
                )
        table = parts.toArrow()
    finally:
        parts.unpersist()
    found = sorted(zip(*(table.column(name).to_pylist() for name in ("part", "counted")), strict=True))
    columns = [[counted(data) for part, data in found if position_of(part) == position] for position in range(ARITY)]
    return tuple(Constants(*(np.concatenate(several) for several in zip(*column, strict=True))) for column in columns)


def _summed(batches: Batches) -> Batches:
    import pyarrow

    rows = (row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
    sums = sums_of_parts(rows)
    columns = [pyarrow.array(list(sums), pyarrow.int32()), pyarrow.array(list(sums.values()), pyarrow.binary())]
    yield pyarrow.RecordBatch.from_arrays(columns, names=["part", "counted"])


def _coded(read: DataFrame, keys: list[Words], begins: Begins) -> DataFrame:
    """Blocks with codes, rows of BLOCK_SCHEMA."""

    def code(batches: Batches) -> Batches:
        import pyarrow

        tables = [CodeTable(known) for known in keys]
        for batch in batches:
            files, starts, firsts, tuples = (batch.column(name).to_pylist() for name in (FILE, START, "first", "tuples"))
            begin = [begins[file, start] + first for file, start, first in zip(files, starts, firsts, strict=True)]
            columns = [pyarrow.array(begin, pyarrow.int64()), pyarrow.array(tuples, pyarrow.int64())]
            for name, table in zip(POSITIONS, tables, strict=True):
                columns.append(pyarrow.array(map(table.coded, batch.column(name).to_pylist(), tuples), pyarrow.binary()))
            yield pyarrow.RecordBatch.from_arrays(columns, names=["begin", "tuples", *POSITIONS])

    blocks = read.where("subject is not null").select(FILE, START, "first", "tuples", *POSITIONS)
    return blocks.mapInArrow(code, BLOCK_SCHEMA)


@contextmanager
def _failing(path: str) -> Iterator[None]:
    """A block that reads by Spark. Raises BadWorkload where a file cannot be read, and JobFailed for whatever else Spark raises."""
    try:
        yield
    except Exception as error:
        # Java's own pass through as they are, by a package that Spark Connect does without.
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        text = str(error)
        condition, told = told_of(text)
        if _NO_FILE_SYSTEM.search(text):
            raise BadWorkload(
                f"cannot read {path}: Spark has no package for this file system; name it, as with --conf "
                "spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION for s3a, or copy the files to this machine"
            ) from None
        if condition.startswith(_OF_FILES):
            raise BadWorkload(f"cannot read {path}: {told}") from None
        raise JobFailed(f"the job that reads {path} failed on Spark: {told}") from error


def told_of(text: str) -> tuple[str, str]:
    """What an error of Spark's is called, or "" for one without a name, and what it says, in one line."""
    raised = _OF_PYTHON.findall(text)
    if _IN_PYTHON in text and raised:
        return "", f"{raised[-1][:300]}, in a worker of Python's"
    found = _CONDITION.search(text)
    condition, said = found.groups() if found is not None else ("", text.splitlines()[0])
    causes = _CAUSE.findall(text)
    return condition, f"{said.strip().rstrip('.')[:300]}{f' ({causes[-1][:200]})' if causes else ''}"


_IN_PYTHON = "Traceback (most recent call last)"
_OF_PYTHON = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Exit)(?:: (?!Traceback).*)?)$", re.MULTILINE)
"""How a traceback of Python's ends."""
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] (.*?)(?: SQLSTATE: \w+)?$", re.MULTILINE)
_NO_FILE_SYSTEM = re.compile(r"ClassNotFoundException: Class \S*FileSystem|UnsupportedFileSystemException|No FileSystem for scheme")
_CAUSE = re.compile(r"^Caused by: (.*)$", re.MULTILINE)
_OF_FILES = ("FAILED_READ_FILE", "CANNOT_", "PATH_", "UNABLE_TO_INFER_SCHEMA", "FAILED_MERGE", "PARQUET_", "UNSUPPORTED_")
"""How Spark's names begin of what is wrong with files ("Error Conditions" of its documentation)."""


def _frame_of(spark: SparkSession, path: str, found: Found) -> DataFrame:
    """What is read of all files, by rows of READ_SCHEMA."""
    by_format: dict[str, list[Source]] = {}
    for source in found.sources:
        by_format.setdefault(source.format, []).append(source)
    frames = [_READ.get(format, _lines)(spark, format, sources, path) for format, sources in by_format.items()]
    return reduce(lambda one, other: one.unionAll(other), frames)


def _reading(frame: DataFrame, format: str) -> DataFrame:
    return frame.mapInArrow(lambda batches: read_splits(batches, format), READ_SCHEMA)


def _lines(spark: SparkSession, format: str, sources: list[Source], _: str) -> DataFrame:
    """Lines of texts; each file may be cut, between two lines."""
    return _reading(_text(spark, sources), format)


def _whole_files(spark: SparkSession, format: str, sources: list[Source], _: str) -> DataFrame:
    """Lines of comma separated values, each file by one task: the first line names columns, and fields may hold ends of lines."""
    from pyspark.sql import functions

    numbered = _text(spark, sources).withColumn("line", functions.monotonically_increasing_id())
    together = numbered.repartition(FILE).sortWithinPartitions(FILE, START, "line")
    return _reading(together.select(CONTENT, FILE, functions.lit(0).cast("long").alias(START)), format)


def _text(spark: SparkSession, sources: list[Source]) -> DataFrame:
    from pyspark.sql import functions

    # Lines end at \n only, and what is no UTF-8 is told by whoever reads it.
    files = spark.read.option("lineSep", "\n").option("recursiveFileLookup", "true").text([source.literally for source in sources])
    return files.select(functions.col("value").cast("binary").alias(CONTENT), *_place())


def _place() -> list[Column]:
    from pyspark.sql import functions

    return [functions.col("_metadata.file_path").alias(FILE), functions.col("_metadata.file_block_start").alias(START)]


def _documents(spark: SparkSession, format: str, sources: list[Source], _: str) -> DataFrame:
    """Files as a whole."""
    files = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load([source.literally for source in sources])
    return _reading(files.select(CONTENT, *_place()), format)


def _parquet(spark: SparkSession, format: str, sources: list[Source], path: str) -> DataFrame:
    """Rows of Parquet. Folders that are columns are looked at file by file: as what their own name says, whatever others say."""
    reader = spark.read.option("recursiveFileLookup", "true").option("mergeSchema", "true" if len(sources) > 1 else "false")
    files = reader.parquet(*(source.literally for source in sources))
    beside = {name for source in sources for name in partition_of(Path(source.within))}
    return _reading(files.select(*_columns(files, beside, path), *_place()), format)


def _delta(spark: SparkSession, format: str, sources: list[Source], path: str) -> DataFrame:
    """Rows of a table of Delta Lake, in the order in which Spark reads them. Raises BadWorkload where its package is not there."""
    from pyspark.sql import functions

    try:
        table = spark.read.format(DELTA).load(sources[0].path)
        # Spark Connect looks for the package no earlier than here.
        columns = _columns(table, set(), path)
    except Exception as error:
        if "DATA_SOURCE_NOT_FOUND" not in str(error):
            raise
        raise BadWorkload(
            f"{path} is a table of Delta Lake, and this Spark has no package that reads one; start it with the package "
            "io.delta:delta-spark of its version (spark-submit --packages), or write out what the table holds as Parquet"
        ) from None
    place = [functions.lit(sources[0].path).alias(FILE), functions.spark_partition_id().cast("long").alias(START)]
    return _reading(table.select(*columns, *place), TABLE)


def _columns(frame: DataFrame, beside: set[str], path: str) -> list[Column]:
    """The columns that hold tuples. Raises BadWorkload where none do."""
    try:
        columns_of([*frame.columns, *beside])
    except ValueError as error:
        raise BadWorkload(f"cannot read {path}: {error}") from None
    # Those of all files: each has its own.
    wanted = {name for names in NAMES if {*names} <= {*frame.columns, *beside} for name in names}
    return [frame[name] for name in frame.columns if name in wanted]


_READ: Mapping[str, Callable[[SparkSession, str, list[Source], str], DataFrame]] = {
    "parquet": _parquet,
    "csv": _whole_files,
    DELTA: _delta,
    **dict.fromkeys(DOCUMENTS, _documents),
}
"""How each format is read; the others line by line."""

"""The sink of the data source ``gsg``: what ``df.writeStream`` and ``df.write`` write with, as Spark's driver and tasks see it.

    driver                    each task                                    driver
    options, columns ──pickled──> rows ─> requests ─> acknowledged ──Written──> commit: nothing is left to do

Facts are a set and events have keys, so a task, a batch or a query that is run again writes what it wrote before, and nothing is
taken back where it fails. What is acknowledged to Spark was acknowledged by peers. Open next: task_writer.py.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from ...errors import BadParameter, NotTaken
from ..worker_errors import without_traceback
from .options import SinkOptions, sink_options
from .row_tuples import RowShape, row_shape

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"
"""Under which Spark tells its tasks of which streaming query they are, and of which batch; also those of a foreachBatch."""


class _Plan:
    """What both kinds of writing have in common; it travels to executors."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise BadParameter(
                "the sink gsg was asked to overwrite, and what peers hold is everybody's; expected mode append for write, and "
                "append or update for writeStream: retract facts by a column sign of -1"
            )
        self.options: SinkOptions = sink_options(options)
        self.shape: RowShape = row_shape(schema, self.options.mode)
        self.job = uuid.uuid4().hex
        """The name of a job without a query: told to all of its tasks."""

    @without_traceback()
    def write(self, batches: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """What a task does."""
        try:
            return self._write(batches)
        except ModuleNotFoundError as error:
            raise NotTaken(
                f"this machine has no package {error.name}, by which rows are written to peers; install what docs/sink.md names on "
                "all machines of the cluster"
            ) from None

    def _write(self, batches: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        from pyspark import TaskContext

        from .requests import TaskPlace
        from .task_writer import write_task

        task = TaskContext.get()
        if task is None:
            raise NotTaken("the sink gsg was asked to write outside of a task of Spark; expected df.write or df.writeStream")
        query, batch = task.getLocalProperty(_QUERY), task.getLocalProperty(_BATCH)
        producer = self.options.producer or query or self.job
        place = TaskPlace(producer, "" if batch is None else batch, task.partitionId())
        return write_task(batches, self.options, self.shape, place)


class GsgWriter(DataSourceArrowWriter):
    """Writes a table once. Raises BadParameter for options and columns that cannot be."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        self._plan = _Plan(options, schema, overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """The rows of one task; returns when peers have acknowledged them. Raises BadRow and NotTaken."""
        return self._plan.write(iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """All tasks are done, and all that they wrote is acknowledged."""

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """A task has failed for good: what was written stays, and is written again with no effect when the job is run again."""


class GsgStreamWriter(DataSourceStreamArrowWriter):
    """Writes micro-batches. Raises BadParameter for options and columns that cannot be."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        self._plan = _Plan(options, schema, overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """The rows of one task of a batch; returns when peers have acknowledged them. Raises BadRow and NotTaken."""
        return self._plan.write(iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # Spark has named it
        """All tasks of the batch are done, and all that they wrote is acknowledged."""

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # Spark has named it
        """A task has failed for good: what was written stays, and Spark writes the batch again when the query is started again."""

"""What Spark asks of a stream: how far it has come, which files hold the rows in between, and what is done with.

One of these lives in a Python process of the driver for as long as the query runs, and has the receiver; copies of it read on
executors, where neither gsg nor its dependencies are. A query of several conditions is joined by its peer and is one stream of
rows, so an offset is one number: the position of the last row, beside the number of the spool that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from ..errors import BadSpool
from .row_schema import segment_schema, to_spark, variables_of
from .segments import Segment, rows_between
from .source_options import SourceOptions, source_options
from .worker_errors import without_traceback

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from .receiver import Receiver
    from .spool import Spool

PARTITION_ROWS = 100_000
"""Rows of one task, about: a task takes some ten milliseconds of its own."""
POLL_S = 0.1
"""How long Spark waits for rows where there are none, before it looks whether it was stopped."""

FIRST_ANSWER_S = 10.0
"""And how long it does for the first answer of a peer, so that the first micro-batch has rows."""

Offset = dict[str, Any]  # Any: a dict of JSON, as Spark keeps it


@dataclass(frozen=True)
class RowsOfSegments(InputPartition):
    """The rows of one task: those behind ``start``, up to and with ``end``, of some segments."""

    folder: str
    segments: tuple[Segment, ...]
    start: int
    end: int


class GsgStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a standing query. Made by Spark, at most places without being used: nothing is opened before Spark asks for it.

    Nor are options looked at before then: of an error here, PySpark reports that it has no reader to stop. ``make_spool`` is for
    tests, whose disk stops working.
    """

    def __init__(self, given: Mapping[str, str], schema: StructType, *, make_spool: Callable[..., Spool] | None = None) -> None:
        self._make_spool = make_spool
        self._given = dict(given)
        self._schema = schema
        self._spool: Spool | None = None
        self._receiver: Receiver | None = None
        self._known_end = 0
        """The furthest position that an offset of Spark may have: what was found in the spool, and what was told to Spark since."""
        self._target: int | None = None
        """Where a trigger of what is available now ends."""

    @cached_property
    def _options(self) -> SourceOptions:
        """Raises BadParameter."""
        return source_options(self._given, stream=True)

    @cached_property
    def _columns(self) -> list[tuple[str, str]]:
        """The variables that Spark asks for, with their types. Raises BadParameter."""
        return variables_of(self._schema)

    @without_traceback()
    def initialOffset(self) -> Offset:
        """Where a query without a checkpoint begins. Raises BadSpool where the beginning is no longer there."""
        spool = self._open_spool()
        if spool.folded:
            raise BadSpool(
                f"the spool {spool.folder} was read up to row {spool.folded} by a query with another checkpoint; expected that "
                "checkpoint, or a spool of its own for each query"
            )
        return self._offset(0)

    @without_traceback()
    def getDefaultReadLimit(self) -> ReadLimit:
        """How many rows a micro-batch may have where its trigger does not say."""
        return ReadAllAvailable() if self._options.max_rows is None else ReadMaxRows(self._options.max_rows)

    @without_traceback()
    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """How far a micro-batch that begins at ``start`` goes. Raises what has ended the receiver."""
        spool, begin = self._open_spool(), self._position(start)
        # Spark asks when it is done with what it asked for before: there is room again, though it commits that later.
        spool.mark_read(begin)
        receiver = self._start_receiver()
        receiver.raise_if_failed()
        if self._target is None:
            spool.wait_beyond(begin, FIRST_ANSWER_S, receiver.has_begun)
            end = spool.wait_beyond(begin, POLL_S, receiver.has_ended)
            receiver.raise_if_failed()
        elif begin >= self._target:
            return start
        else:
            while (end := spool.wait_beyond(begin, POLL_S, receiver.has_ended)) <= begin:
                receiver.raise_if_failed()
            end = min(end, self._target)
        if isinstance(limit, ReadMaxRows):
            end = min(end, begin + limit.max_rows)
        self._known_end = max(begin, end)
        return self._offset(self._known_end)

    @without_traceback()
    def prepareForTriggerAvailableNow(self) -> None:
        """What is available now is all that was received, and the answer of the peer as it is when this is called."""
        spool, receiver = self._open_spool(), self._start_receiver()
        while receiver.answer_end is None:
            spool.wait_beyond(spool.end, POLL_S, receiver.has_begun)
            receiver.raise_if_failed()
        self._target = receiver.answer_end

    def reportLatestOffset(self) -> Offset | None:
        """How far the stream has come, for those who look at the query's progress."""
        return None if self._spool is None else self._offset(self._spool.end)

    @without_traceback()
    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """The tasks of a micro-batch, in order of positions. Raises BadSpool where rows are not there."""
        spool = self._open_spool()
        begin, stop = self._position(start), self._position(end)
        parts: list[InputPartition] = []
        of_part: list[Segment] = []
        segments = spool.segments_between(begin, stop)
        for segment in segments:
            of_part.append(segment)
            if segment.end - of_part[0].start >= PARTITION_ROWS or segment is segments[-1]:
                parts.append(RowsOfSegments(str(spool.folder), tuple(of_part), begin, stop))
                of_part = []
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """On an executor: the rows of a task. Raises BadSpool for files that are not there, or damaged."""
        assert isinstance(partition, RowsOfSegments), "as partitions has made it"
        with without_traceback():
            for first, batch in rows_between(Path(partition.folder), partition.segments, partition.start, partition.end):
                yield to_spark(batch, first, self._schema)

    @without_traceback()
    def commit(self, end: Offset) -> None:
        """Spark will not ask for rows up to ``end`` again."""
        self._open_spool().commit(self._position(end))

    def stop(self) -> None:
        """The query has ended: leave the peer and the spool."""
        if self._receiver is not None:
            self._receiver.stop()
        if self._spool is not None:
            self._spool.close()

    def __getstate__(self) -> dict[str, object]:
        """For executors, which read and nothing else."""
        return self.__dict__ | {"_spool": None, "_receiver": None}

    def _open_spool(self) -> Spool:
        if self._spool is None:
            from .spool import LIMIT_BYTES, Spool

            make = self._make_spool or Spool
            options = self._options
            assert options.spool is not None, "a stream's options have one"
            about = {
                "query": options.query,
                "language": options.language,
                "columns": [list(column) for column in self._columns],
                "termFormat": options.term_format,
            }
            limit_bytes = options.max_spool_bytes or LIMIT_BYTES
            made = make(options.spool, about, segment_schema(self._columns), limit_bytes=limit_bytes)
            made.open()
            self._spool, self._known_end = made, made.end
        return self._spool

    def _start_receiver(self) -> Receiver:
        """The receiver, started where Spark first asks how far the stream has come."""
        if self._receiver is None:
            from .receiver import Receiver

            self._receiver = Receiver(self._options, self._open_spool(), self._columns, segment_schema(self._columns))
            self._receiver.start()
        return self._receiver

    def _offset(self, position: int) -> Offset:
        return {"spool": self._open_spool().number, "position": position}

    def _position(self, offset: Offset) -> int:
        spool = self._open_spool()
        if offset["spool"] != spool.number:
            raise BadSpool(
                f"the checkpoint goes on with the spool number {offset['spool']}, and {spool.folder} is number {spool.number}; "
                "expected the spool of this checkpoint: restore it, or begin with a new checkpoint and another spool"
            )
        position = int(offset["position"])
        if position > self._known_end:
            # What is received now would get positions that Spark has read already, and be passed over.
            raise BadSpool(
                f"the checkpoint has come to row {position} and the spool {spool.folder} to {self._known_end}; expected the spool "
                "of this checkpoint: restore it, or begin with a new checkpoint and another spool"
            )
        return position

"""A query that is asked once, as ``spark.read`` reads it: the rows that hold when a task asks a peer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from ..errors import BadParameter
from .row_schema import segment_schema, to_spark, variables_of
from .source_options import SourceOptions, source_options
from .worker_errors import without_traceback

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


class GsgReader(DataSourceReader):
    """Reads the answer of a query in one task, which needs gsg's dependencies where it runs: rows do not pass through the
    driver."""

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self._options: SourceOptions = source_options(given, stream=False)
        self._schema = schema
        self._columns = variables_of(schema)

    def partitions(self) -> Sequence[InputPartition]:
        """One: a peer tells its answer over one connection."""
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows that hold, with the sign 1. Raises BadParameter, and what the peer says."""
        first = 1
        with without_traceback():
            for batch in self._ask():
                yield to_spark(batch, first, self._schema)
                first += batch.num_rows

    def _ask(self) -> list[pa.RecordBatch]:
        try:
            from .answer import answer_of
        except ImportError as error:
            raise BadParameter(
                f"reading a query once asks the peer from an executor, which lacks gsg-router's dependencies ({error}); expected "
                "gsg-router installed there, or readStream with .trigger(availableNow=True), whose executors need pyarrow alone"
            ) from None
        return answer_of(self._options, self._columns, segment_schema(self._columns))

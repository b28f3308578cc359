"""The data source ``gsg`` as Spark sees it: what reads and what writes, by the options of docs/streams.md.

Spark pickles it to Python workers of the driver, and its readers and writers on to those of executors, which have pyarrow but none
of gsg's dependencies: what is imported at the top here must be there on both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, DataSourceStreamWriter, DataSourceWriter

from .worker_errors import without_traceback

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class GsgDataSource(DataSource):
    """Rows of standing queries, to be read; tuples, to be written. Made by Spark, see :func:`simulations.streams.register`."""

    @classmethod
    def name(cls) -> str:
        """The word for ``format(...)``."""
        return "gsg"

    @without_traceback()
    def schema(self) -> str:
        """The columns where nobody says others: the variables of the query as strings, and what each row is."""
        from .row_schema import usual_schema
        from .source_options import options_at_load

        return usual_schema(options_at_load(self.options).variables())

    @without_traceback()
    def reader(self, schema: StructType) -> DataSourceReader:
        """What ``spark.read`` reads with."""
        from .batch_reader import GsgReader

        return GsgReader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """What ``spark.readStream`` reads with."""
        from .stream_reader import GsgStreamReader

        return GsgStreamReader(self.options, schema)

    @without_traceback()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """What ``df.write`` writes with."""
        from .sink import GsgWriter

        return GsgWriter(self.options, schema, overwrite)

    @without_traceback()
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """What ``df.writeStream`` writes with."""
        from .sink import GsgStreamWriter

        return GsgStreamWriter(self.options, schema, overwrite)

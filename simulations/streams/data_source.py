"""The data source ``gsg`` as Spark sees it: what reads and what writes, by the options of docs/streams.md.

Spark pickles it to Python workers of the driver, and its readers and writers on to those of executors, which have pyarrow but none
of gsg's dependencies: what is imported at the top here must be there on both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, DataSourceStreamWriter, DataSourceWriter

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class GsgDataSource(DataSource):
    """Rows of standing queries, to be read; tuples, to be written. Made by Spark, see :func:`simulations.streams.register`."""

    @classmethod
    def name(cls) -> str:
        """The word for ``format(...)``."""
        return "gsg"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """What ``spark.readStream`` reads with."""
        from .stream_reader import GsgStreamReader

        return GsgStreamReader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """What ``df.write`` writes with."""
        from .sink import GsgWriter

        return GsgWriter(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """What ``df.writeStream`` writes with."""
        from .sink import GsgStreamWriter

        return GsgStreamWriter(self.options, schema, overwrite)

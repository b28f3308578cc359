"""Standing queries as streams of Spark: the data source ``gsg``, to read rows from peers and to write tuples into their space.

    from simulations.streams import register

    register(spark)
    rows = spark.readStream.format("gsg").option("peers", "http://127.0.0.1:8470").option("query", "(?x, ^on, ?y)") ...

What it is: a data source of PySpark 4.2 or newer, in Python, for ordinary sessions and for Spark Connect. What it is not: a
connector for Spark's other languages. docs/streams.md is the manual.

Open next: data_source.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Make the format ``gsg`` known to a session, for ``read``, ``readStream``, ``write`` and ``writeStream``. Twice is allowed."""
    from .data_source import GsgDataSource

    spark.dataSource.register(GsgDataSource)

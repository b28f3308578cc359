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

from ..errors import NoSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]

OLDEST = (4, 2)
"""The first PySpark whose sources in Python are told how much to read."""


def register(spark: SparkSession) -> None:
    """Make the format ``gsg`` known to a session, for ``read``, ``readStream``, ``write`` and ``writeStream``. Twice is allowed.

    Raises NoSpark for a PySpark that is too old.
    """
    import pyspark

    if tuple(map(int, pyspark.__version__.split(".")[:2])) < OLDEST:
        raise NoSpark(f"PySpark is {pyspark.__version__}; expected 4.2 or newer for the format gsg: pip install 'pyspark>=4.2'")
    from .data_source import GsgDataSource

    spark.dataSource.register(GsgDataSource)

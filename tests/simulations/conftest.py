"""One Spark session for the whole run: starting one takes ten seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from simulations.spark import session

    started = session("tests", master="local[2]", partitions=2)
    yield started
    started.stop()

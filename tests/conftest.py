"""Properties here are never timed: the machine is shared. One Spark session serves all: starting it takes ten seconds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile("unhurried", deadline=None, max_examples=100)
# make soak asks for it, with pytest's --hypothesis-profile.
settings.register_profile("soak", deadline=None, max_examples=2_000)
settings.load_profile("unhurried")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever may run on Spark, which its module then names, goes to one worker of pytest-xdist, with its one session."""
    for item in items:
        if "simulat" in item.path.as_posix() and _names_spark(item.path):
            item.add_marker(pytest.mark.xdist_group("spark"))


@cache
def _names_spark(module: Path) -> bool:
    return "spark" in module.read_text("utf-8").lower()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from simulations.spark import session

    started = session("tests", master="local[2]", partitions=2)
    yield started
    started.stop()

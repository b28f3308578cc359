"""Properties here are never timed: the machine is shared. One Spark session serves all: starting it takes ten seconds."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator
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


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """What is long begins first, whatever order pytest-randomly has drawn: no core is to wait for it at the end."""
    yield
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """All tests and what they import are there to stay: the garbage collector need not go through them again and again, nor begin
    at each 700 objects, when a simulated network has hundreds of thousands."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Whatever may run on Spark, which its module then names, goes to one worker of pytest-xdist, with its one session, and first,
    as it takes longest. (pytest-xdist's own groups are not found under pytest 9.2.)"""
    from xdist.scheduler import LoadScopeScheduling

    class OneForSpark(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            module = nodeid.partition("::")[0]
            return "spark" if "simulat" in module and _names_spark(config.rootpath / module) else nodeid

    return OneForSpark(config, log)


@cache
def _names_spark(module: Path) -> bool:
    return "spark" in module.read_text("utf-8").lower()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from simulations.spark import session

    started = session("tests", master="local[2]", partitions=2)
    yield started
    started.stop()

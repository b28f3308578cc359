"""Properties here are never timed: the machine is shared. One Spark session serves all: starting it takes ten seconds."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).parent

settings.register_profile("unhurried", deadline=None, max_examples=100)
# For what passes the same tests a second time.
settings.register_profile("brief", deadline=None, max_examples=25)
# make soak asks for it, with pytest's --hypothesis-profile.
settings.register_profile("soak", deadline=None, max_examples=2_000)
settings.load_profile("unhurried")

# Java as Spark's launcher starts it: what runs for seconds only is not worth half a minute of a core for machine code that is as
# quick as can be. For what this process starts as well.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """In a fresh clone each worker would compile all modules of tests, which takes seconds, and all would at the same time: each
    begins with its share of them, and finds those of the others compiled."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or [Path(each).name for each in session.config.args] != [TESTS.name]:
        return
    modules = sorted(TESTS.rglob("test_*.py"))
    # As pytest itself does when it comes to a module.
    sys.path[:0] = [folder for folder in dict.fromkeys(str(module.parent) for module in modules) if folder not in sys.path]
    for module in modules[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        # Whatever is wrong with it is said when it is collected.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(module.stem)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodeready() -> None:
    """In a fresh clone each worker would work out which characters there are, four seconds of a core, when its first test draws a
    text: hypothesis keeps that in a file, which is written here while they collect."""
    st.text().validate()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """What is long begins first, whatever order pytest-randomly has drawn: no core is to wait for it at the end."""
    yield
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """All tests and what they import are there to stay: the garbage collector need not go through them again and again, nor begin
    at each 700 objects, when a simulated network has hundreds of thousands and nearly all of them go without it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """One more than there are cores, for what waits."""
    return (yield) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """workers.py says who runs what."""
    from workers import Workers

    return Workers(config, log)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from simulations.engine.spark import session

    started = session("tests", master="local[2]", partitions=2)
    yield started
    started.stop()

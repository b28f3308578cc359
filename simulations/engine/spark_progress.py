"""What a user is told while a job runs on Spark: how far it is, and in one line why it failed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from ..errors import JobFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress: TypeAlias = Callable[[int, int], None]
"""Told how much of how much is done."""

CHECK_S = 0.2
"""How often Spark is asked how far it is."""


@contextmanager
def reported_progress(spark: SparkSession, tasks: int | None, progress: Progress | None) -> Iterator[None]:
    """A job of so many tasks runs inside, or where that is None any jobs, whose stages are told one after the other.

    Raises JobFailed for whatever Spark raises there.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    over = threading.Event()
    # Daemonic, because a job that is interrupted must not hold the process; it ends with the block otherwise.
    thread = threading.Thread(target=_watch, args=(spark, tasks, progress, over), daemon=True)
    if progress is not None:
        thread.start()
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise JobFailed(f"the job failed on Spark: {str(error).splitlines()[0][:300]}") from error
    finally:
        over.set()
        if progress is not None:
            thread.join()
            if tasks is not None:
                progress(tasks, tasks)


def _watch(spark: SparkSession, tasks: int | None, progress: Progress | None, over: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not over.wait(CHECK_S):
        for stage in tracker.getActiveStageIds():
            found = tracker.getStageInfo(stage)
            if found is not None and progress is not None and tasks in (None, found.numTasks):
                progress(found.numCompletedTasks, found.numTasks)

"""What a user is told while a job runs on Spark: how far it is, and in one line why it failed."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import JobFailed
from .spark import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress: TypeAlias = Callable[[int, int], None]
"""Told how much of how much is done."""


def untold(done: int, of: int) -> None:
    """The progress that nobody wants to know."""


CHECK_S = 0.2
"""How often Spark is asked how far it is."""


@contextmanager
def reported_progress(spark: SparkSession, tasks: int | None, progress: Progress) -> Iterator[None]:
    """A job of so many tasks runs inside, or where that is None any jobs, whose stages are told one after the other.

    Raises JobFailed for whatever Spark raises there.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with _told_by_connect(spark, tasks, progress) if is_connect(spark) else _asked_of_context(spark, tasks, progress):
        try:
            yield
        except (PySparkException, Py4JError) as error:
            raise JobFailed(f"the job failed on Spark: {_in_a_line(str(error))}") from error
    if tasks is not None:
        progress(tasks, tasks)


def _in_a_line(error: str) -> str:
    """What a task raised where it is a trace of Python, else how an error begins."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line)]
    return (raised[0] if raised else lines[0] if lines else "it does not say why")[:300]


_RAISED = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|BadParameter|BadWorkload): ")


@contextmanager
def _asked_of_context(spark: SparkSession, tasks: int | None, progress: Progress) -> Iterator[None]:
    over, tracker = threading.Event(), spark.sparkContext.statusTracker()

    def watch() -> None:
        while not over.wait(CHECK_S):
            for stage in tracker.getActiveStageIds():
                found = tracker.getStageInfo(stage)
                if found is not None and tasks in (None, found.numTasks):
                    progress(found.numCompletedTasks, found.numTasks)

    # Daemonic, because a job that is interrupted must not hold the process; it ends with the block otherwise.
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _told_by_connect(spark: Any, tasks: int | None, progress: Progress) -> Iterator[None]:  # Any: a session of Spark Connect
    def told(stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:  # Any: as Spark says them
        for stage in stages or ():
            if tasks in (None, stage.num_tasks) and stage.num_completed_tasks < stage.num_tasks:
                progress(stage.num_completed_tasks, stage.num_tasks)

    spark.registerProgressHandler(told)
    try:
        yield
    finally:
        spark.removeProgressHandler(told)

"""What Spark prints of our errors: the sentence alone, and not the traceback of a Python worker above it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ..errors import SimulationError

HIDE_TRACEBACK: Final = "SPARK_HIDE_TRACEBACK"
"""How Spark's setting ``spark.sql.execution.pyspark.udf.hideTraceback.enabled`` reaches a worker: by its environment. The setting
is for all functions of a session, and does not reach the worker that reads a stream; here it is set for our errors alone."""


@contextmanager
def without_traceback() -> Iterator[None]:
    """Around what Spark calls in a worker: an error that we raise on purpose is reported by its sentence alone.

    A worker ends with the error that it reports, so nothing of others is hidden. A defect keeps its traceback.
    """
    try:
        yield
    except Exception as error:
        if _is_on_purpose(error):
            os.environ[HIDE_TRACEBACK] = "1"
        raise


def _is_on_purpose(error: Exception) -> bool:
    # By name: a machine that lacks gsg's dependencies has other errors to report than those of gsg.
    return isinstance(error, SimulationError) or any(kind.__module__ == "gsg.errors" for kind in type(error).__mro__)

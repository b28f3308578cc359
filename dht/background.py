"""What an overlay does beside answering: a failure there ends nothing else."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)

FAILED = "background work failed"
"""The count of what was begun in the background and not finished."""


async def counting_failure(work: Coroutine[Any, Any, Any], counts: Counter[str]) -> Any:  # Any: whatever the work returns
    """Do the work; log and count it where it fails, and return None."""
    try:
        return await work
    except Exception:
        failed(counts)


def failed(counts: Counter[str]) -> None:
    """Log and count the exception that is being handled."""
    # In a TaskGroup any exception ends all tasks, and with them whoever entered the overlay: a defect of ours in one must not.
    counts[FAILED] += 1
    log.exception(FAILED)

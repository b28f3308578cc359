"""What a peer does beside answering: a failure there ends nothing else."""

from __future__ import annotations

import logging
from collections.abc import Coroutine

from .errors import RemoteError

log = logging.getLogger(__name__)


async def logging_failure(work: Coroutine[None, None, None]) -> None:
    """Do the work; say what came of it where it failed."""
    try:
        await work
    except RemoteError as error:
        log.info("given up: %s", error)
    except Exception:
        # In a TaskGroup any exception ends all tasks (HOUSE_STYLE, section 5): a defect of ours in one must not.
        log.exception("background work failed")

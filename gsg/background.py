"""What a peer does beside answering: a failure there ends nothing else."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import TypeAlias

from .errors import RemoteError

StartTask: TypeAlias = Callable[[Coroutine[None, None, None]], object]
"""Begins work beside what is under way; whoever hands this in ends the work when it leaves."""

SLICE_S = 0.005
"""How long one slice takes, about: one test more is begun before it is over, and a test is bounded by whoever compiles it."""
DEFECT = "this peer failed on it; its log says more"
"""What whoever sent a message is told where it brought out a defect of ours."""

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

"""Lines of the log that strangers cause: some at once, then some a minute, and the next says how many like it were left out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

AT_ONCE = 10
"""Lines that may come together."""
EVERY_S = 6.0
"""After how long there may be one line more."""


class LogRate:
    """The lines of one kind."""

    __slots__ = ("_clock", "_full_s", "_left_out", "_log")

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._full_s = float("-inf")
        """When AT_ONCE lines may come together again."""
        self._left_out = 0

    def warning(self, message: str, *values: object, **about: str) -> None:
        """Log a line, or count it; ``about`` says whom it is about, such as ``client``, for programs that read the log."""
        now = self._clock()
        full_s = max(self._full_s, now) + EVERY_S
        if full_s - now > AT_ONCE * EVERY_S:
            self._left_out += 1
            return
        self._full_s = full_s
        left_out, self._left_out = self._left_out, 0
        if left_out:
            self._log.warning(message + "; %d lines like this one were left out before it", *values, left_out, extra=about)
        else:
            self._log.warning(message, *values, extra=about)

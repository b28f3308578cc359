"""The log as JSON, one object a line, for programs that collect logs: ``gsg peer --log-format json``.

    {"time":"2026-11-29T03:02:18.363Z","level":"WARNING","logger":"gsg.membership","message":"...","peer":"dc67..."}

``client`` is the address of the client that a line is about, ``peer`` the id of the peer, ``exception`` a traceback. All of it
is ASCII, so nothing that a stranger says ends a line, or speaks to a terminal. A library would take as many lines to set up.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

LOGGER = "gsg.log"
"""Whose the lines are that the log says of itself."""
ABOUT = ("client", "peer")
MESSAGE_CHARACTERS, TRACE_CHARACTERS = 8_000, 32_000
"""Of a longer message the beginning is written, and of a longer traceback the end."""


def entry(at_s: float, level: str, logger: str, message: str, **more: str) -> str:
    """One line, without its end."""
    time = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if len(message) > MESSAGE_CHARACTERS:
        message = f"{message[:MESSAGE_CHARACTERS]}... ({len(message) - MESSAGE_CHARACTERS:,} characters more)"
    return json.dumps({"time": time, "level": level, "logger": logger, "message": message, **more}, separators=(",", ":"))


class JsonLine(logging.Formatter):
    """A record as such a line."""

    def format(self, record: logging.LogRecord) -> str:
        """As in logging."""
        more = {name: str(value) for name in ABOUT if (value := getattr(record, name, None)) is not None}
        if record.exc_info:
            more["exception"] = self.formatException(record.exc_info)[-TRACE_CHARACTERS:]
        return entry(record.created, record.levelname, record.name, record.getMessage(), **more)

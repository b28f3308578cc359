"""What a record of the log says to programs: ``gsg peer --log-format json`` writes these fields, and ``GET /log`` has them."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

LOGGER = "gsg.log"
"""Whose the records are that the log says of itself."""
ABOUT = ("client", "peer")
MESSAGE_CHARACTERS, TRACE_CHARACTERS = 8_000, 32_000
"""Of a longer message the beginning is told, and of a longer traceback the end."""

_format_exception = logging.Formatter().formatException


def time_text(at_s: float) -> str:
    """A time, in seconds since 1970, in UTC with milliseconds (RFC 3339, section 5.6)."""
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def fields(at_s: float, level: str, logger: str, message: str, **more: str) -> dict[str, str]:
    """Those of a record."""
    if len(message) > MESSAGE_CHARACTERS:
        message = f"{message[:MESSAGE_CHARACTERS]}... ({len(message) - MESSAGE_CHARACTERS:,} characters more)"
    return {"time": time_text(at_s), "level": level, "logger": logger, "message": message, **more}


def fields_of(record: logging.LogRecord) -> dict[str, str]:
    """``time``, ``level``, ``logger`` and ``message``; ``client`` and ``peer`` that it is about, and ``exception``, where there are
    any. Raises whatever formatting the message raises, which is a mistake of whoever logs."""
    more = {name: str(value) for name in ABOUT if (value := getattr(record, name, None)) is not None}
    if record.exc_info:
        more["exception"] = _format_exception(record.exc_info)[-TRACE_CHARACTERS:]
    return fields(record.created, record.levelname, record.name, record.getMessage(), **more)


def unformatted(record: logging.LogRecord, error: Exception) -> str:
    """What is said of a record that cannot be formatted."""
    return f"a line of the log from {record.pathname}:{record.lineno} could not be formatted: {error!r:.200}"

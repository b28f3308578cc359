"""The log as JSON, one object a line, for programs that collect logs: ``gsg peer --log-format json``.

    {"time":"2026-11-29T03:02:18.363Z","level":"WARNING","logger":"gsg.membership","message":"...","peer":"dc67..."}

``client`` is the address of the client that a line is about, ``peer`` the id of the peer, ``exception`` a traceback. All of it
is ASCII, so nothing that a stranger says ends a line, or speaks to a terminal. A library would take as many lines to set up.
"""

from __future__ import annotations

import json
import logging

from ...monitoring.logs.fields import fields, fields_of


def entry(at_s: float, level: str, logger: str, message: str) -> str:
    """One line, without its end."""
    return _line(fields(at_s, level, logger, message))


def _line(said: dict[str, str]) -> str:
    return json.dumps(said, separators=(",", ":"))


class JsonLine(logging.Formatter):
    """A record as such a line."""

    def format(self, record: logging.LogRecord) -> str:
        """As in logging."""
        return _line(fields_of(record))

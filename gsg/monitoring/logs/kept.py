"""The last records of a process's log, for whoever asks at the HTTP door (``GET /log``).

``gsg peer`` keeps them. A program that embeds a peer does so with ``logging.getLogger().addHandler(KeptLog())``, and decides by the
levels of its loggers what comes there. The log is that of a process: of several peers in one each tells the same.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable

import msgspec

from .fields import LOGGER, fields, fields_of, time_text, unformatted
from .kinds import KindLimit, kind_of

MAX_RECORDS, MAX_BYTES = 500, 256 * 1024
"""What is kept, as encoded in JSON; beyond, the oldest go."""

_encode = msgspec.json.encode


class LogEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A record of the log. Strangers cause some, and whoever shows them escapes what stands in them."""

    number: int
    """One more than that of the record before."""
    time: str
    """RFC 3339, UTC."""
    level: str
    logger: str
    message: str
    client: str = ""
    """The address of the client that it is about."""
    peer: str = ""
    """The id of the peer that it is about, in hexadecimal."""
    exception: str = ""
    """A traceback."""


class LogPage(msgspec.Struct, frozen=True):
    """Records that are kept, the oldest first. Numbers begin at 1 when the process starts."""

    since: str
    """When this log began (RFC 3339, UTC): where that is another time than before, the process was started again."""
    records: list[LogEntry]
    first: int
    """The number of the oldest one that is kept: those before it are gone. One more than ``last`` where none is kept."""
    last: int
    """That of the newest; 0 where there was none."""


class KeptLog(logging.Handler):
    """Keeps what is logged from INFO on. Of one kind no more is kept than of a log that is written (kinds.py)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.INFO)
        self._since = time_text(time.time())
        self._clock = clock
        self._limit = KindLimit()
        # Limit: MAX_RECORDS and MAX_BYTES. Guarded by the lock of the handler, as whatever thread may log.
        self._kept: deque[tuple[LogEntry, int]] = deque()
        self._bytes = 0
        self._last = 0

    def emit(self, record: logging.LogRecord) -> None:
        """As in logging."""
        now_s = self._clock()
        self._tell_of_more(now_s)
        # What is beyond is not formatted: a stranger may cause thousands a second.
        if not self._limit.admits(kind_of(record), record.msg[:200] if isinstance(record.msg, str) else "", now_s):
            return
        try:
            said = fields_of(record)
        except Exception as error:
            # A defect of whoever logs, which is to be seen.
            said = fields(record.created, "WARNING", LOGGER, unformatted(record, error))
        self._keep(said)

    def page(self, after: int = 0) -> LogPage:
        """The records that are kept whose numbers are higher than ``after``."""
        self.acquire()
        try:
            self._tell_of_more(self._clock())
            records = [entry for entry, _ in self._kept if entry.number > after]
            return LogPage(self._since, records, self._last + 1 - len(self._kept), self._last)
        finally:
            self.release()

    def _tell_of_more(self, now_s: float) -> None:
        for said in self._limit.ended(now_s):
            self._keep(fields(time.time(), "WARNING", LOGGER, said))

    def _keep(self, said: dict[str, str]) -> None:
        self._last += 1
        # A name of a file may have what is no Unicode, and JSON has no place for it.
        clean = {name: text.encode(errors="backslashreplace").decode() for name, text in said.items()}
        entry = LogEntry(self._last, **clean)
        size_bytes = len(_encode(entry))
        self._kept.append((entry, size_bytes))
        self._bytes += size_bytes
        while len(self._kept) > MAX_RECORDS or self._bytes > MAX_BYTES:
            self._bytes -= self._kept.popleft()[1]


def kept_log() -> KeptLog | None:
    """That of this process; None where nothing keeps it."""
    return next((handler for handler in logging.getLogger().handlers if isinstance(handler, KeptLog)), None)

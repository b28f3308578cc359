"""The log of a peer, on standard error: nobody ever waits for its reader, and no stranger fills it.

Whoever reads the log may stop to (a pager, a full pipe, a stuck collector), its disk may be full, its pipe may close. So lines go
into a queue with a bound, of which a thread writes, and what has no room is dropped and counted; the count is written as soon as
something can be. Strangers cause lines, so of one kind, which is one place in the code, so many are written in a minute, and at
its end how many more there were. A line is one line, whatever stands in it (:mod:`gsg.tuples.escaping`); tracebacks are indented.
"""

from __future__ import annotations

import errno
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from textwrap import indent
from threading import Condition, Thread

from ...monitoring.logs.fields import LOGGER, unformatted
from ...monitoring.logs.kept import KeptLog
from ...monitoring.logs.kinds import Kind, KindLimit, kind_of
from ...tuples.escaping import lines, one_line
from ...wire.status_messages import Count
from ..output import write_all
from .log_json import JsonLine, entry

MAX_LINES, MAX_BYTES = 2_000, 1024 * 1024
"""What waits to be written; what comes beyond is dropped and counted."""
LINE_CHARACTERS = 8_000
"""The longest entry; of a longer one the beginning is written, and how much was cut off."""
REST_S = 1.0
"""After a line that could not be written, how long no other is tried."""
LAST_WORDS_S = 1.0
"""How long a peer that ends waits for its reader."""

TEXT, JSON = "text", "json"
MEMBERSHIP = "gsg.membership"
"""Who tells of peers that come and go (:mod:`gsg.placement.membership_log`): that is told whatever the level."""
OURS = ("gsg", "dht", "rete", "pedro_compat")
"""Loggers whose records are kept from INFO on, whether or not they are written."""


class Waiting:
    """Lines that wait to be written: the bound, and what is said of those that had no room or could not be written.

    ``say(text)`` makes a line of what it says itself.
    """

    def __init__(self, say: Callable[[str], str] = str) -> None:
        self._say = say
        # Limit: MAX_LINES and MAX_BYTES.
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self.dropped = 0
        """Since the start."""
        self._untold = self._telling = 0
        """Of the dropped ones, those that nothing was said of, and those that the line taken last is about."""
        self._why = ""

    def put(self, line: bytes) -> None:
        """A line with its end."""
        if len(self._lines) >= MAX_LINES or self._bytes + len(line) > MAX_BYTES:
            self.dropped += 1
            self._untold += 1
            self._why = "nobody read them"
            return
        self._lines.append(line)
        self._bytes += len(line)

    def take(self) -> bytes:
        """The next line to write; when there is none, how many were dropped after it. Only where there is something."""
        self._telling = 0
        if self._lines:
            line = self._lines.popleft()
            self._bytes -= len(line)
            return line
        self._telling, self._untold = self._untold, 0
        were = "line of the log was" if self._telling == 1 else "lines of the log were"
        return _encoded(self._say(f"{self._telling:,} {were} dropped: {self._why}"))

    def failed(self, why: str) -> None:
        """What was taken last could not be written."""
        if not self._telling:
            self.dropped += 1
        self._untold += self._telling or 1
        self._telling = 0
        self._why = why

    def clear(self) -> None:
        """Nobody will write anything any more."""
        self._lines.clear()
        self._bytes = self._untold = 0

    def __len__(self) -> int:
        return len(self._lines) + (self._untold > 0)


class Outlet:
    """A descriptor that lines are written to by a thread, which dies with the process. Never raises for what cannot be written.

    ``say(text)`` makes a line of what it says itself.
    """

    def __init__(self, descriptor: int, *, say: Callable[[str], str] = str, clock: Callable[[], float] = time.monotonic) -> None:
        self._descriptor = descriptor
        self._say = say
        self._clock = clock
        self._waiting = Waiting(say)
        self._limit = KindLimit()
        self._change = Condition()
        self._writing = False
        self._closed = False
        Thread(target=self._run, name="gsg log", daemon=True).start()

    def say(self, text: str, kind: Kind | None = None) -> None:
        """A line of its own; ``kind`` as below."""
        self.put(self._say(text), kind, text)

    def put(self, text: str, kind: Kind | None = None, brief: str = "") -> None:
        """A line, without its end; ``kind`` for one that may be too many, and ``brief`` what is shown of it then, if not all."""
        with self._change:
            if kind is None or self._limit.admits(kind, brief or text, self._clock()):
                self._waiting.put(_encoded(text))
                self._change.notify_all()

    def close(self) -> None:
        """Wait LAST_WORDS_S for what is left; nothing comes after it."""
        with self._change:
            self._tell_of_more(float("inf"))
            self._closed = True
            self._change.notify_all()
            self._change.wait_for(lambda: not self._waiting and not self._writing, LAST_WORDS_S)

    def counts(self) -> Iterable[Count]:
        """For ``gsg status``."""
        return [Count("log_lines_dropped", self._waiting.dropped)]

    def _run(self) -> None:
        while (line := self._next()) is not None:
            problem = write_all(self._descriptor, line)
            with self._change:
                self._writing = False
                if problem is not None:
                    self._waiting.failed(os.strerror(problem.errno or errno.EIO).lower())
                    # A disk that is full may have room again, and who has gone for ever costs no more than this.
                    if not self._change.wait_for(lambda: self._closed, REST_S):
                        continue
                    self._waiting.clear()
                self._change.notify_all()

    def _next(self) -> bytes | None:
        """The line to write, once there is one; None when there will be no more."""
        with self._change:
            while not self._waiting:
                if self._closed:
                    return None
                next_s = self._limit.next_s
                self._change.wait(None if next_s is None else max(0.0, next_s - self._clock()))
                self._tell_of_more(self._clock())
            self._writing = True
            return self._waiting.take()

    def _tell_of_more(self, now: float) -> None:
        for said in self._limit.ended(now):
            self._waiting.put(_encoded(self._say(said)))


def _encoded(line: str) -> bytes:
    return f"{line}\n".encode(errors="backslashreplace")


class OneLine(logging.Formatter):
    """A record as one line, and its traceback indented, so that nothing in either looks like another record."""

    def format(self, record: logging.LogRecord) -> str:
        """As in logging."""
        record.message = record.getMessage()
        if self.usesTime():
            record.asctime = self.formatTime(record, self.datefmt)
        said = one_line(self.formatMessage(record))
        if len(said) > LINE_CHARACTERS:
            said = f"{said[:LINE_CHARACTERS]}... ({len(said) - LINE_CHARACTERS:,} characters more)"
        if record.exc_info:
            trace = lines(self.formatException(record.exc_info))
            said += "\n" + indent(trace[-4 * LINE_CHARACTERS :], "    ", lambda line: True)
        return said


def outlet_for(descriptor: int, log_format: str) -> Outlet:
    """Where the log goes, as text or JSON."""
    return Outlet(descriptor, say=_own_entry) if log_format == JSON else Outlet(descriptor)


def _own_entry(text: str) -> str:
    return entry(time.time(), "WARNING", LOGGER, text)


def log_to(outlet: Outlet, verbose: int, log_format: str = TEXT, *, quiet: bool = False) -> None:
    """Give the outlet all that is logged: warnings, and unless it is ``quiet`` who comes and goes; with ``verbose`` 1 more, with 2
    all, of which nothing is too much then. What is kept for ``GET /log`` does not depend on that."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    handler = LogHandler(outlet, limited=verbose < 2)
    handler.addFilter(lambda record: is_written(record, level, quiet=quiet))
    if log_format == JSON:
        handler.setFormatter(JsonLine())
    logging.basicConfig(level=level, handlers=[handler, KeptLog()])
    for name in OURS:
        logging.getLogger(name).setLevel(min(level, logging.INFO))
    if verbose < 2:
        # It says several lines of each client that comes and goes, among which nobody would find the others.
        logging.getLogger("uvicorn").setLevel(logging.WARNING)


def is_written(record: logging.LogRecord, level: int, *, quiet: bool) -> bool:
    """Whether a record is among those of this level, or says who comes and goes, unless that is to be left out."""
    return record.levelno >= level or (record.name == MEMBERSHIP and record.levelno >= logging.INFO and not quiet)


class LogHandler(logging.Handler):
    """Gives records to an outlet; ``limited`` says whether there may be too many of a kind."""

    def __init__(self, outlet: Outlet, *, limited: bool) -> None:
        super().__init__()
        self._outlet = outlet
        self._limited = limited
        self.setFormatter(OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """As in logging."""
        kind = kind_of(record) if self._limited else None
        try:
            text, brief = self.format(record), record.getMessage() if isinstance(self.formatter, JsonLine) else ""
        except Exception as error:
            # A defect of whoever logs: logging would write a traceback, and wait for its reader.
            self._outlet.say(unformatted(record, error), kind)
        else:
            self._outlet.put(text, kind, brief)

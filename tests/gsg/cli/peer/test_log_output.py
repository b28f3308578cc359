"""The log of a peer, whose reader and whose causes are others' affair."""

from __future__ import annotations

import fcntl
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from gsg.cli.peer import log_output as peer_log
from gsg.cli.peer.log_output import (
    LINE_CHARACTERS,
    MAX_BYTES,
    MAX_LINES,
    LogHandler,
    OneLine,
    Outlet,
    Waiting,
    is_written,
    log_to,
)
from gsg.monitoring.logs.kept import KeptLog
from gsg.monitoring.logs.kinds import OF_A_KIND

# --- what waits ---------------------------------------------------------------------------------------------------------------


def test_lines_beyond_the_bound_are_dropped_and_counted_after_those_before_them() -> None:
    waiting = Waiting()
    for number in range(MAX_LINES + 3):
        waiting.put(b"%d\n" % number)

    taken = [waiting.take() for _ in range(len(waiting))]

    assert taken == [b"%d\n" % number for number in range(MAX_LINES)] + [b"3 lines of the log were dropped: nobody read them\n"]
    assert (waiting.dropped, len(waiting)) == (3, 0)


def test_the_bound_is_of_bytes_as_well() -> None:
    waiting = Waiting()
    for _ in range(5):
        waiting.put(b"x" * (MAX_BYTES // 4))
    waiting.put(b"short\n")
    for _ in range(4):
        waiting.take()
    waiting.put(b"short\n")

    assert [waiting.take(), waiting.take()] == [b"short\n", b"2 lines of the log were dropped: nobody read them\n"]


def test_what_cannot_be_written_is_counted_until_that_can_be_said() -> None:
    waiting = Waiting()
    waiting.put(b"one\n")
    waiting.put(b"two\n")
    for _ in range(2):
        waiting.take()
        waiting.failed("no space left on device")
    waiting.take()  # how many were dropped
    waiting.failed("no space left on device")

    assert waiting.take() == b"2 lines of the log were dropped: no space left on device\n"
    assert (waiting.dropped, len(waiting)) == (2, 0)


# --- how a record looks -------------------------------------------------------------------------------------------------------


def record(message: str, *arguments: object, error: BaseException | None = None) -> logging.LogRecord:
    info = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord("gsg.http", logging.WARNING, "door.py", 7, message, arguments, info)


def test_whatever_a_stranger_says_a_record_is_one_line() -> None:
    said = OneLine("%(levelname)s %(message)s").format(
        record("a page of %s is refused", "http://e/\n2026 ERROR forged\x1b[2J\u2028")
    )

    assert said == "WARNING a page of http://e/\\u000A2026 ERROR forged\\u001B[2J\\u2028 is refused"


def test_a_traceback_is_indented_and_says_nothing_to_the_terminal() -> None:
    try:
        raise ValueError("odd\n2026 ERROR forged\x1b[31m")
    except ValueError as error:
        first, *others = OneLine("%(message)s").format(record("failed", error=error)).split("\n")

    assert first == "failed"
    assert [line for line in others if not line.startswith("    ")] == []
    assert others[-2:] == ["    ValueError: odd", "    2026 ERROR forged\\u001B[31m"]


def test_an_entry_has_an_end() -> None:
    said = OneLine("%(message)s").format(record("x" * 1_000_000))

    assert len(said) < LINE_CHARACTERS + 100
    assert said.endswith(f"... ({1_000_000 - LINE_CHARACTERS:,} characters more)")


# --- a pipe that is read, or not ----------------------------------------------------------------------------------------------


class Pipe:
    """A pipe with little room, and the outlet that writes to it."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        if sys.platform == "linux":
            fcntl.fcntl(self.writing, fcntl.F_SETPIPE_SZ, 4096)
        self.outlet = Outlet(self.writing)

    def lines(self, until: str) -> list[str]:
        read = b""
        while until.encode() not in read or not read.endswith(b"\n"):
            read += os.read(self.reading, 65_536)
        return read.decode().splitlines()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.outlet.close()
    for end in (made.reading, made.writing):
        os.close(end)


def test_who_logs_waits_for_no_reader_and_the_reader_is_told_what_was_lost(pipe: Pipe) -> None:
    count = 3 * MAX_LINES
    for number in range(count):
        pipe.outlet.put(f"line {number}")
    dropped = [one.count for one in pipe.outlet.counts()]

    read = pipe.lines("dropped")

    assert read[-1] == f"{dropped[0]:,} lines of the log were dropped: nobody read them"
    numbers = [int(line.removeprefix("line ")) for line in read[:-1]]
    assert numbers == sorted(set(numbers))
    assert len(numbers) + dropped[0] == count
    assert dropped[0] > 0


def test_a_pipe_that_wants_no_waiting_is_waited_for_by_the_thread_alone(pipe: Pipe) -> None:
    os.set_blocking(pipe.writing, False)
    for number in range(MAX_LINES // 2):
        pipe.outlet.put(f"line {number}")

    assert pipe.lines(f"line {MAX_LINES // 2 - 1}\n")[-1] == f"line {MAX_LINES // 2 - 1}"


def test_a_reader_that_has_gone_harms_nobody() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    outlet = Outlet(writing)
    outlet.put("a line for nobody")
    outlet.close()
    os.close(writing)

    assert [one.count for one in outlet.counts()] == [1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_disk_harms_nobody() -> None:
    with open("/dev/full", "w") as full:
        outlet = Outlet(full.fileno())
        outlet.put("a line that has no room")
        outlet.close()

    assert [one.count for one in outlet.counts()] == [1]


def test_strangers_write_so_many_lines_of_a_kind_and_who_asks_for_all_gets_all(pipe: Pipe) -> None:
    few, all_ = logging.Logger("few"), logging.Logger("all")
    few.addHandler(LogHandler(pipe.outlet, limited=True))
    all_.addHandler(LogHandler(pipe.outlet, limited=False))
    for number in range(OF_A_KIND + 5):
        few.warning("garbage %d", number)
        all_.warning("all %d", number)
    few.warning("the end")

    read = pipe.lines("the end")

    assert sum("garbage" in line for line in read) == OF_A_KIND
    assert sum(" all: all " in line for line in read) == OF_A_KIND + 5


def test_what_cannot_be_formatted_is_told_in_a_line(pipe: Pipe) -> None:
    LogHandler(pipe.outlet, limited=True).handle(record("%d of %s", "one"))

    (line,) = pipe.lines("formatted")
    assert line.startswith("a line of the log from ")


def test_the_end_is_not_waited_for_longer_than_a_moment(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_log, "LAST_WORDS_S", 0.01)
    for _ in range(MAX_LINES):
        pipe.outlet.put("a line that nobody reads")
    closed = Event()

    Thread(target=lambda: (pipe.outlet.close(), closed.set()), daemon=True).start()

    assert closed.wait(30)
    os.set_blocking(pipe.writing, False)


@pytest.mark.parametrize(
    ("name", "at", "verbose_level", "quiet", "written"),
    [
        ("gsg.http", logging.INFO, logging.WARNING, False, False),
        ("gsg.http", logging.WARNING, logging.WARNING, True, True),
        ("gsg.http", logging.INFO, logging.INFO, False, True),
        ("gsg.membership", logging.INFO, logging.WARNING, False, True),
        ("gsg.membership", logging.INFO, logging.WARNING, True, False),
        ("gsg.membership", logging.DEBUG, logging.WARNING, False, False),
        ("gsg.membership", logging.INFO, logging.INFO, True, True),
    ],
)
def test_what_is_written_is_of_the_level_or_says_who_comes(
    name: str, at: int, verbose_level: int, quiet: bool, written: bool
) -> None:
    made = logging.LogRecord(name, at, "here.py", 7, "said", (), None)

    assert is_written(made, verbose_level, quiet=quiet) is written


def test_what_is_not_written_is_kept(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.Logger("root")
    monkeypatch.setattr(logging, "getLogger", lambda name=None: logging.Logger.manager.getLogger(name) if name else root)
    monkeypatch.setattr(logging, "basicConfig", lambda level, handlers: [root.addHandler(each) for each in handlers])
    levels = {name: logging.Logger.manager.getLogger(name) for name in (*peer_log.OURS, "uvicorn")}
    for logger in levels.values():
        monkeypatch.setattr(logger, "level", logger.level)

    log_to(pipe.outlet, 0)
    root.info("for those who ask")
    root.warning("for all")

    assert [line.partition(" root: ")[2] for line in pipe.lines("for all")] == ["for all"]
    [kept] = [handler for handler in root.handlers if isinstance(handler, KeptLog)]
    assert [entry.message for entry in kept.page().records] == ["for those who ask", "for all"]
    assert all(levels[name].level == logging.INFO for name in peer_log.OURS)
    for logger in levels.values():
        logger.setLevel(logging.NOTSET)

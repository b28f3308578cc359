"""The write-ahead log: a bad frame costs what is in it, and not what was acknowledged after it; a torn end is no damage."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gsg.storage.disk.wal_check import FRAME, HEADER, examine, write_mended

PAGE = 4096
SIZE = FRAME.size + PAGE


class Log:
    """A database whose log has seven transactions of one row each, and a copy of it as after the end of the process."""

    def __init__(self, folder: Path, *, older: int = 0) -> None:
        made, self.copy = folder / "made", folder / "copy"
        made.mkdir()
        with closing(sqlite3.connect(made / "db", isolation_level=None)) as connection:
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, x TEXT)")
            for number in range(older):
                connection.execute("INSERT INTO t VALUES (?, ?)", (-1 - number, "old" * 2_000))
            if older:
                connection.execute("PRAGMA wal_checkpoint(RESTART)")
            for number in range(7):
                connection.execute("INSERT INTO t VALUES (?, ?)", (number, f"{number}" * 3_000))
            shutil.copytree(made, self.copy)
        self.path = self.copy / "db-wal"
        self.data = bytearray(self.path.read_bytes())
        self.commits = [
            number
            for number in range((len(self.data) - HEADER.size) // SIZE)
            if FRAME.unpack_from(self.data, HEADER.size + number * SIZE)[1]
            and FRAME.unpack_from(self.data, HEADER.size + number * SIZE)[2:4] == HEADER.unpack_from(self.data)[4:6]
        ]
        """The frames that end a transaction, from 0."""

    def at(self, frame: int, offset: int = 0) -> int:
        """Where something of a frame is."""
        return HEADER.size + frame * SIZE + offset

    def flip(self, at: int) -> None:
        self.data[at] ^= 4

    def write(self) -> None:
        self.path.write_bytes(self.data)

    def rows(self) -> list[int]:
        """What SQLite reads, by itself."""
        folder = self.copy.with_name("read")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.copy, folder)
        with closing(sqlite3.connect(folder / "db")) as connection:
            return [number for (number,) in connection.execute("SELECT n FROM t WHERE n >= 0 ORDER BY n")]

    def mend(self) -> list[int]:
        """What it reads once the log is mended."""
        self.write_mended()
        return self.rows()

    def write_mended(self) -> None:
        """Put a mended log in the place of this one."""
        broken = examine(self.path, PAGE)
        assert broken is not None
        write_mended(broken, self.path, self.copy / "anew")
        (self.copy / "anew").replace(self.path)


@pytest.fixture(params=[0, 40], ids=["the first log", "over an older one"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Log:
    return Log(tmp_path, older=request.param)


def test_a_log_that_is_whole_is_left_alone(log: Log) -> None:
    assert examine(log.path, PAGE) is None
    assert log.rows() == list(range(7))


@pytest.mark.parametrize("offset", [0, 3, 6, 8, 12, 16, 20, FRAME.size + 2_000], ids=str)
def test_a_bad_frame_does_not_take_along_what_follows(log: Log, offset: int) -> None:
    # In the second transaction, where it begins.
    log.flip(log.at(log.commits[0] + 1, offset))
    log.write()
    assert len(log.rows()) <= 2

    broken = examine(log.path, PAGE)
    rows = log.mend()

    assert broken is not None
    assert 1 <= broken.damaged <= 2
    assert broken.first == log.commits[0] + 2
    # The last two may only be there where the pages before them are.
    assert rows[-1] == 6
    assert len(rows) >= 6 or offset < 8


@pytest.mark.parametrize("at", [0, 4, 8, 16, 20, 24, 28], ids=str)
def test_a_bad_head_does_not_take_all_along(log: Log, at: int) -> None:
    log.flip(at + 1)
    log.write()

    broken = examine(log.path, PAGE)

    assert broken is not None
    assert broken.first == 0
    assert log.mend() == list(range(7))


def test_an_end_that_was_being_written_is_no_damage(log: Log) -> None:
    end = log.at(log.commits[-1] + 1)
    for size in (end - 1, log.at(log.commits[-1]) + 5, log.at(log.commits[-2] + 1) + 100):
        # As a process leaves it that ends in the middle of a write.
        log.path.write_bytes(log.data[:size])

        assert examine(log.path, PAGE) is None
        assert log.rows() == list(range(6))


def test_a_last_transaction_of_which_only_the_end_came_to_the_disk_is_no_damage(log: Log) -> None:
    # The power failed before the frames of one transaction were synced, and a system writes pages in any order.
    for frame in range(log.commits[-2] + 1, log.commits[-1]):
        whole = log.data[log.at(frame) : log.at(frame + 1)]
        log.data[log.at(frame) : log.at(frame + 1)] = bytes(SIZE)
        log.write()

        assert examine(log.path, PAGE) is None
        assert log.rows() == list(range(6))
        log.data[log.at(frame) : log.at(frame + 1)] = whole


def test_a_page_that_the_database_would_not_have_is_left_out(log: Log) -> None:
    frame = log.commits[2]
    log.data[log.at(frame) : log.at(frame) + 4] = (2**30).to_bytes(4, "big")
    log.write()

    log.write_mended()

    with closing(sqlite3.connect(log.copy / "db")) as connection:
        assert connection.execute("PRAGMA page_count").fetchone() < (100,)
        assert connection.execute("SELECT n FROM t WHERE n = 6").fetchone() == (6,)


@pytest.mark.parametrize("data", [b"", b"short", bytes(HEADER.size), bytes(3 * SIZE), b"\xff" * 3 * SIZE], ids=len)
def test_what_is_no_log_is_left_to_sqlite(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "db-wal").write_bytes(data)

    assert examine(tmp_path / "db-wal", PAGE) is None
    assert examine(tmp_path / "nothing", PAGE) is None

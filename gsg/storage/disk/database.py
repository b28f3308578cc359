"""The SQLite database of a peer: how it is opened for one process alone, its tables, and what is said of one that is no use."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from ...errors import BadData, reason
from .record_checksums import Said, sum_of_said

FORMAT = 4
"""The version of the file; gsg/storage/disk/old_formats.py reads those before. A greater one is refused."""
APPLICATION = 0x67736770
"""``gsgp``: tells a peer's file from other SQLite files."""
SYNCHRONOUS = "FULL"
CHECKPOINT_PAGES = 4_000
"""The log is folded into the file when it has so many pages of 4 KiB. Each fold costs two more calls of fsync."""

UNREADABLE = (sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError)
"""What reading a damaged file may raise: also where SQLite's own words have bytes of it, or a length that it names is absurd."""
EXPECTED = "expected a directory that this user may write to, with room"
GROUPS = "SELECT number, clock, weight, sum, rows FROM groups"
INSERT = "INSERT INTO groups VALUES (?, ?, ?, ?, ?)"
_TABLES = (
    "CREATE TABLE self (name TEXT PRIMARY KEY, value, sum BLOB NOT NULL) WITHOUT ROWID",
    """CREATE TABLE groups (
        number INTEGER PRIMARY KEY, clock INTEGER NOT NULL, weight INTEGER NOT NULL, sum BLOB NOT NULL, rows BLOB NOT NULL
    )""",
    f"PRAGMA application_id={APPLICATION}",
    f"PRAGMA user_version={FORMAT}",
)


def connect(path: Path) -> sqlite3.Connection:
    """Have the file for this process alone, from now on until it ends, however it ends. Raises sqlite3.Error.

    Whatever else opened and closed the file in this process would give it up (https://www.sqlite.org/howtocorrupt.html, 2.2).
    """
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    # A wrong bit may make a text of anything, also one that is none: it is for the checksums to say so.
    connection.text_factory = bytes
    try:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        # Only reading takes the lock.
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def write_ahead(connection: sqlite3.Connection) -> None:
    """Let what is committed go to the log, and be on disk when that returns."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
    connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")


def make_tables(connection: sqlite3.Connection) -> None:
    """Make a database that is empty a peer's."""
    for statement in _TABLES:
        connection.execute(statement)


def say(connection: sqlite3.Connection, **said: Said) -> None:
    """Write down what the peer is, by name, and the number of the oldest group that there is to be."""
    rows = [(name, value, sum_of_said(name, value)) for name, value in said.items()]
    connection.executemany("REPLACE INTO self VALUES (?, ?, ?)", rows)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All of what is done in it, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def check_format(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the file, 0 for a new one. Raises BadData for one that is not ours to read, and leaves it as it is."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if not tables and not application:
        return 0
    if application != APPLICATION:
        raise BadData(f"{path} is a database of something else; expected a directory of a gsg peer, or an empty one")
    if version < 1:
        raise damaged(path, f"it says that it has format {version}, which there is not")
    if version > FORMAT:
        raise BadData(
            f"{path} has format {version}, and this version reads up to {FORMAT}; "
            "start the peer with the version of gsg that wrote it, or a later one"
        )
    return int(version)


def refused(path: Path, error: Exception) -> BadData:
    """What is said of a file where SQLite fails, or the system does."""
    if isinstance(error, OSError):
        return BadData(f"{path} cannot be used: {reason(error)}; {EXPECTED}")
    if not isinstance(error, sqlite3.Error):
        return damaged(path, "file is not a database")
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return BadData(f"{path} is in use by another peer; stop that one, or give each peer a directory of its own")
    # SQLITE_ERROR: our own statements do not fit what is there, as where a table is missing.
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR):
        return damaged(path, str(error))
    return BadData(f"{path} cannot be used: {error}; {EXPECTED}")


def damaged(path: Path, problem: str) -> BadData:
    """What is said of a file that is damaged beyond what can be left out of it."""
    return BadData(
        f"{path} is damaged: {problem}; move the directory away to start the peer empty, and others give it what they hold"
    )

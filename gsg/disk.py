"""A peer's data directory: one SQLite file in WAL mode that this process alone has open, and the address book beside it.

    DIR/peer.sqlite3     self: what the peer is, by name; groups: what changed together, facts with all their marks (position,
                         1 or -1, stamp) as msgpack (gsg/records.py), one after the other: of a fact the last one holds
    DIR/identity         the key that the peer proves its id by (dht/identity_file.py)
    DIR/addresses        where other peers were last (dht/book_file.py)

Everything here blocks, and belongs into the thread of :mod:`gsg.keeping`. A transaction is on disk when :meth:`Disk.commit`
returns: SQLite has called fsync on its log by then (https://www.sqlite.org/wal.html, ``synchronous=FULL``).
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

import dht
from dht.identity_file import read_identity, write_identity

from .audiences import PeerId
from .errors import BadData, reason
from .journal import GROUP_FACTS, Group
from .model import Tuple
from .records import MAX_CLOCK, Row, joined, records, rows_of

log = logging.getLogger(__name__)

FILE, BOOK, IDENTITY = "peer.sqlite3", "addresses", "identity"
FORMAT = 3
"""The version of the file; up to 2 each fact had a row of its own, and in 1 no readers. A greater one is refused."""
APPLICATION = 0x67736770
"""``gsgp``: tells a peer's file from other SQLite files."""
SYNCHRONOUS = "FULL"
READ_ROWS = 10_000
"""Facts that are read at once, and as many as a group has besides."""
CHECKPOINT_PAGES = 4_000
"""The log is folded into the file when it has so many pages of 4 KiB. Each fold costs two more calls of fsync."""


OWNER_ONLY = 0o600
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
MAX_LIFE = 2**53
"""In milliseconds since 1970, as lives mostly are, the year 287,000."""

_GROUPS = "CREATE TABLE groups (number INTEGER PRIMARY KEY, clock INTEGER NOT NULL, weight INTEGER NOT NULL, rows BLOB NOT NULL)"


@dataclass(frozen=True, slots=True)
class Past:
    """What a peer knows of itself from before; ``peer`` is its id, and ``life`` counts its starts, at least. ``port`` is that by
    which others know it, 0 where it has never entered the overlay, and ``clock`` a time that it has seen, in microseconds."""

    peer: PeerId | None = None
    life: Annotated[int, msgspec.Meta(ge=0, le=MAX_LIFE)] = 0
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    clock: Annotated[int, msgspec.Meta(ge=0, le=MAX_CLOCK)] = 0


class Disk:
    """One data directory. Raises BadData, which names the file, for what it cannot use; :meth:`commit` raises sqlite3.Error."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._connection: sqlite3.Connection | None = None
        self.is_new = False
        """Whether there was no database when the directory was opened."""
        self.newest = 0
        """The number of the last group."""
        self.weight = 0
        """What all groups weigh (:func:`gsg.records.weight_of`)."""

    @property
    def book(self) -> Path:
        """The file of the address book."""
        return self.path.with_name(BOOK)

    def read_identity(self) -> dht.Identity | None:
        """The peer's key, if there is one. Raises dht.BadIdentity."""
        return read_identity(self.path.with_name(IDENTITY))

    def write_identity(self, identity: dht.Identity) -> None:
        """Keep the peer's key. Raises dht.BadIdentity."""
        write_identity(self.path.with_name(IDENTITY), identity)

    def open(self) -> Past:
        """Open the directory, or make it, for this process alone; what the peer was."""
        try:
            # For this user alone: facts may be nobody else's business.
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if OTHERS_WRITE & self.path.parent.stat().st_mode:
                log.warning(
                    "%s can be written to by others, who may put a database of theirs there; chmod 700 it", self.path.parent
                )
        except OSError as error:
            raise BadData(
                f"cannot keep data in {self.path.parent}: {reason(error)}; expected a folder, or a place for one"
            ) from None
        with contextlib.suppress(OSError):  # it is there, or SQLite says what is wrong
            # Its log gets the mode of the file.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
        try:
            self._connection = connection = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
            # Held from the first reading on until the process ends, however it ends.
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            self.is_new = self._check_format(connection)
            self._keep_to_owner()
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
            connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
            if self.is_new:
                self._make_tables(connection)
            elif connection.execute("PRAGMA user_version").fetchone() != (FORMAT,):
                self._make_groups(connection)
            connection.execute("SELECT number, clock, weight, rows FROM groups LIMIT 1").fetchone()
            self.newest, self.weight = connection.execute(
                "SELECT ifnull(max(number), 0), ifnull(sum(weight), 0) FROM groups"
            ).fetchone()
            return self._past(connection)
        except sqlite3.Error as error:
            self.close()
            raise self._refused(error) from None
        except BadData:
            self.close()
            raise

    def _keep_to_owner(self) -> None:
        """Let nobody else read what is there, whatever the directory's mode: facts may be for named readers."""
        for path in (self.path, *(self.path.with_name(FILE + end) for end in ("-wal", "-shm", "-journal")), self.book):
            try:
                if stat.S_IMODE(path.stat().st_mode) & ~OWNER_ONLY:
                    path.chmod(OWNER_ONLY)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise BadData(
                    f"{path} may be read by others, and cannot be kept from them: {reason(error)}; expected a file of this user's"
                ) from None

    def _refused(self, error: sqlite3.Error) -> BadData:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return BadData(f"{self.path} is in use by another peer; stop that one, or give each peer a directory of its own")
        # SQLITE_ERROR: our own statements do not fit what is there, as where a table is missing.
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR):
            return self._damaged(str(error))
        return BadData(f"{self.path} cannot be used: {error}; expected a directory that this user may write to, with room")

    def _damaged(self, problem: str) -> BadData:
        return BadData(
            f"{self.path} is damaged: {problem}; move the directory away to start the peer empty, and others give it what they hold"
        )

    def _check_format(self, connection: sqlite3.Connection) -> bool:
        """Whether the file is new. Raises BadData for one that is not ours to read, and leaves it as it is."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if not tables and not application:
            return True
        if application != APPLICATION:
            raise BadData(f"{self.path} is a database of something else; expected a directory of a gsg peer, or an empty one")
        if version > FORMAT:
            raise BadData(
                f"{self.path} has format {version}, and this version reads up to {FORMAT}; "
                "start the peer with the version of gsg that wrote it, or a later one"
            )
        return False

    @staticmethod
    def _make_tables(connection: sqlite3.Connection) -> None:
        with _transaction(connection):
            connection.execute("CREATE TABLE self (name TEXT PRIMARY KEY, value) WITHOUT ROWID")
            connection.execute(_GROUPS)
            connection.execute(f"PRAGMA application_id={APPLICATION}")
            connection.execute(f"PRAGMA user_version={FORMAT}")

    def _make_groups(self, connection: sqlite3.Connection) -> None:
        """Of a file in which each fact has a row of its own."""
        with _transaction(connection), contextlib.closing(connection.execute("SELECT fact, marks FROM facts")) as rows:
            connection.execute(_GROUPS)
            try:
                connection.executemany("INSERT INTO groups (clock, weight, rows) VALUES (0, ?, ?)", joined(rows, GROUP_FACTS))
            except ValueError as error:
                raise self._damaged(str(error)) from None
            connection.execute("DROP TABLE facts")
            connection.execute(f"PRAGMA user_version={FORMAT}")

    def _past(self, connection: sqlite3.Connection) -> Past:
        said = dict(connection.execute("SELECT name, value FROM self"))
        [last] = connection.execute("SELECT clock FROM groups WHERE number = ?", (self.newest,)).fetchone() or (0,)
        try:
            if type(said.get("clock", 0)) is type(last) is int:
                said["clock"] = max(said.get("clock", 0), last)
            return msgspec.convert(said, Past)
        except msgspec.ValidationError as error:
            raise self._damaged(f"what it says of the peer itself cannot be ({error})") from None

    def facts(self) -> Iterator[list[Row]]:
        """All facts with their marks as they were written last, READ_ROWS at a time or some more."""
        seen: set[Tuple] = set()
        some: list[Row] = []
        try:
            for (record,) in self._opened.execute("SELECT rows FROM groups ORDER BY number DESC"):
                for row in self._rows(record):
                    if row[0] not in seen:
                        seen.add(row[0])
                        if row[1]:
                            some.append(row)
                if len(some) >= READ_ROWS:
                    yield some
                    some = []
        except sqlite3.Error as error:
            raise self._refused(error) from None
        if some:
            yield some

    def oldest(self, facts: int) -> tuple[int, list[Tuple]]:
        """The facts of the oldest groups, so many or those of one group, and the number of the last of these groups."""
        until, found = 0, list[Tuple]()
        with contextlib.closing(self._opened.execute("SELECT number, rows FROM groups ORDER BY number")) as groups:
            for number, record in groups:
                some = [fact for fact, _ in self._rows(record)]
                if found and len(found) + len(some) > facts:
                    break
                found += some
                until = number
        return until, found

    def _rows(self, record: object) -> list[Row]:
        try:
            return rows_of(record)  # type: ignore[arg-type]  # else ValueError
        except ValueError as error:
            raise self._damaged(str(error)) from None

    def begin(self, past: Past) -> None:
        """A new life of the peer begins. Raises BadData."""
        try:
            with _transaction(self._opened) as connection:
                rows = (("peer", past.peer), ("life", past.life), ("port", past.port), ("clock", past.clock))
                connection.executemany("REPLACE INTO self VALUES (?, ?)", rows)
        except sqlite3.Error as error:
            raise self._refused(error) from None

    def entered(self, port: int) -> None:
        """The peer is known at this port. Raises BadData."""
        try:
            with _transaction(self._opened) as connection:
                connection.execute("REPLACE INTO self VALUES ('port', ?)", (port,))
        except sqlite3.Error as error:
            raise self._refused(error) from None

    def commit(self, group: Group) -> None:
        """Write a group, and let those go that it has done with; it is on disk on return.

        Raises sqlite3.Error, and nothing of it is written.
        """
        weight, newest = self.weight, self.newest

        def encoded() -> Iterator[tuple[int, int, int, bytes]]:
            nonlocal weight, newest
            for share, record in records(group.rows):
                newest += 1
                weight += share
                yield newest, group.clock, share, record

        with _transaction(self._opened) as connection:
            if group.until:
                [(gone,)] = connection.execute("SELECT ifnull(sum(weight), 0) FROM groups WHERE number <= ?", (group.until,))
                connection.execute("DELETE FROM groups WHERE number <= ?", (group.until,))
                weight -= gone
            if group.rows:
                connection.executemany("INSERT INTO groups VALUES (?, ?, ?, ?)", encoded())
            else:
                connection.execute("REPLACE INTO self VALUES ('clock', ?)", (group.clock,))
        self.weight, self.newest = weight, newest

    def close(self) -> None:
        """Others may open the directory."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                # As closing does, which would not say that it failed: one process has the file, so nobody else is in the way.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                # A file that cannot be used at all has none.
                if log_bytes := _size_bytes(self.path.with_name(FILE + "-wal")):
                    log.warning(
                        "%s is whole, but its log of %s bytes could not be folded into it (%s): make as much room before this "
                        "peer is started again",
                        *(self.path, f"{log_bytes:,}", error),
                    )
            with contextlib.suppress(sqlite3.Error):  # what was committed is in the log
                connection.close()

    @property
    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise sqlite3.ProgrammingError("the data directory is closed")
        return self._connection


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise

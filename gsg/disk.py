"""A peer's data directory: one SQLite file in WAL mode that this process alone has open, and the address book beside it.

    DIR/peer.sqlite3     self: what the peer is, by name; facts: each with its marks (position, 1 or -1, stamp) as msgpack
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
from itertools import chain
from pathlib import Path
from typing import Annotated

import msgspec

import dht
from dht.identity_file import read_identity, write_identity

from .audiences import MAX_READERS, PeerId, Restricted, restricted
from .entries import Mark
from .errors import BadData, reason
from .journal import Group
from .model import Term, Tuple

log = logging.getLogger(__name__)

FILE, BOOK, IDENTITY = "peer.sqlite3", "addresses", "identity"
FORMAT = 2
"""The version of the file; 1 had no facts for named readers. A greater one was written by a later version, and is refused."""
APPLICATION = 0x67736770
"""``gsgp``: tells a peer's file from other SQLite files."""
SYNCHRONOUS = "FULL"
READ_ROWS = 10_000
"""Rows that are read at once."""
STATEMENT_ROWS = 100
"""Rows that are written by one statement where there are so many: for each statement the thread lets go of the interpreter's lock,
and waits for it again. SQLite takes at least 999 parameters."""
CHECKPOINT_PAGES = 4_000
"""The log is folded into the file when it has so many pages of 4 KiB. Each fold costs two more calls of fsync."""


OWNER_ONLY = 0o600
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
MAX_LIFE = 2**53
"""In milliseconds since 1970, as lives mostly are, the year 287,000."""
MAX_CLOCK = 2**60
"""In microseconds since 1970, the year 38,000."""


class _Readers(msgspec.Struct, frozen=True, array_like=True, tag=8, gc=False):
    """Stands after the last term of a fact for named readers: their ids, ascending, so that one fact has one row."""

    ids: Annotated[list[PeerId], msgspec.Meta(min_length=1, max_length=MAX_READERS)]


_REPLACE_MANY = "REPLACE INTO facts VALUES " + ", ".join(["(?, ?)"] * STATEMENT_ROWS)
_encode = msgspec.msgpack.Encoder().encode
_decode_fact: msgspec.msgpack.Decoder[tuple[Term | _Readers, ...]] = msgspec.msgpack.Decoder(tuple[Term | _Readers, ...])
_decode_marks: msgspec.msgpack.Decoder[list[Mark]] = msgspec.msgpack.Decoder(list[Mark])


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
            past = self._past(connection)
            connection.execute("SELECT count(*) FROM (SELECT fact, marks FROM facts LIMIT 1)").fetchone()
            connection.execute(f"PRAGMA user_version={FORMAT}")
            return past
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
            connection.execute("CREATE TABLE facts (fact BLOB PRIMARY KEY, marks BLOB NOT NULL) WITHOUT ROWID")
            connection.execute(f"PRAGMA application_id={APPLICATION}")
            connection.execute(f"PRAGMA user_version={FORMAT}")

    def _past(self, connection: sqlite3.Connection) -> Past:
        said = dict(connection.execute("SELECT name, value FROM self"))
        try:
            return msgspec.convert(said, Past)
        except msgspec.ValidationError as error:
            raise self._damaged(f"what it says of the peer itself cannot be ({error})") from None

    def facts(self) -> Iterator[list[tuple[Tuple, list[Mark]]]]:
        """All facts with their marks, READ_ROWS at a time."""
        try:
            rows = self._opened.execute("SELECT fact, marks FROM facts")
            while some := rows.fetchmany(READ_ROWS):
                yield [self._row(fact, marks) for fact, marks in some]
        except sqlite3.Error as error:
            raise self._refused(error) from None

    def _row(self, fact: object, marks: object) -> tuple[Tuple, list[Mark]]:
        try:
            items, known = _fact(_decode_fact.decode(fact)), _decode_marks.decode(marks)  # type: ignore[arg-type]  # else TypeError
        except (msgspec.MsgspecError, TypeError, RecursionError, UnicodeDecodeError) as error:
            raise self._damaged(f"a row is no fact ({error})") from None
        if any(not 0 <= position < len(items) or abs(sign) != 1 or not 0 <= stamp <= MAX_CLOCK for position, sign, stamp in known):
            raise self._damaged("a row has marks that its fact cannot have")
        return items, known

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
        """Write a group; it is on disk on return. Raises sqlite3.Error, and nothing of it is written."""
        rows = [(_encoded(fact), _encode(marks)) for fact, marks in group.rows if marks]
        gone = [(_encoded(fact),) for fact, marks in group.rows if not marks]
        with _transaction(self._opened) as connection:
            many = len(rows) - len(rows) % STATEMENT_ROWS
            for start in range(0, many, STATEMENT_ROWS):
                connection.execute(_REPLACE_MANY, list(chain.from_iterable(rows[start : start + STATEMENT_ROWS])))
            connection.executemany("REPLACE INTO facts VALUES (?, ?)", rows[many:])
            connection.executemany("DELETE FROM facts WHERE fact = ?", gone)
            connection.execute("REPLACE INTO self VALUES ('clock', ?)", (group.clock,))

    def close(self) -> None:
        """Others may open the directory."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):  # what was committed is in the log
                connection.close()

    @property
    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise sqlite3.ProgrammingError("the data directory is closed")
        return self._connection


def _encoded(fact: Tuple) -> bytes:
    """A fact as the key of its row."""
    return _encode((*fact, _Readers(sorted(fact.audience))) if isinstance(fact, Restricted) else fact)


def _fact(items: tuple[Term | _Readers, ...]) -> Tuple:
    """The inverse of :func:`_encoded`. Raises ValidationError for readers where a term must be."""
    if _Readers not in map(type, items):
        return items  # type: ignore[return-value]  # as just seen
    *terms, last = items
    if not terms or not isinstance(last, _Readers) or _Readers in map(type, terms):
        raise msgspec.ValidationError("readers that do not follow the last term")
    return restricted([tuple(terms)], frozenset(last.ids))[0]  # type: ignore[arg-type]  # as just seen


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

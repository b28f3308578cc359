"""A peer's data directory: one SQLite file in WAL mode that this process alone has open, and the address book beside it.

    DIR/peer.sqlite3     self: what the peer is, by name; groups: what changed together, facts with all their marks (position,
                         1 or -1, stamp) as msgpack (gsg/storage/disk/records.py), one after the other: of a fact the last one
                         holds; each row with its checksum (gsg/storage/disk/record_checksums.py)
    DIR/acknowledged     the number of the newest group that was acknowledged (gsg/storage/disk/acknowledged_mark.py)
    DIR/identity         the key that the peer proves its id by (dht/identity/key_pair_file.py)
    DIR/addresses        where other peers were last (dht/overlay/address_book_file.py)

All rows are looked at as the directory is opened: what is damaged is told by :attr:`DataDirectory.damage`, and what is sound goes
into a new file then (gsg/storage/disk/salvage.py).

Everything here blocks, and belongs into the thread of :mod:`gsg.storage.disk.group_commit`. A transaction is on disk when
:meth:`DataDirectory.commit` returns: SQLite has called fsync on its log by then (https://www.sqlite.org/wal.html,
``synchronous=FULL``).
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
from dht.identity.key_pair_file import read_identity, write_identity

from ...errors import BadData, reason
from ...tuples.audiences import PeerId
from ...tuples.long_constants import Remains, remains_of
from .acknowledged_mark import AcknowledgedMark
from .database import (
    FORMAT,
    GROUPS,
    INSERT,
    UNREADABLE,
    check_format,
    connect,
    damaged,
    make_tables,
    refused,
    say,
    transaction,
    write_ahead,
)
from .directory_identity import DirectoryIdentity
from .journal import Group
from .old_formats import convert
from .record_checksums import Said, is_sound_group, sum_of_group
from .records import MAX_CLOCK, Row, records, rows_of
from .salvage import Damage, DamagedGroup, said_of, sound_groups, write_anew
from .scrub import Looked, look_at
from .wal_check import examine, write_mended

log = logging.getLogger(__name__)

FILE, BOOK, IDENTITY, ACKNOWLEDGED = "peer.sqlite3", "addresses", "identity", "acknowledged"
LOG = f"{FILE}-wal"
ANEW, LOG_ANEW = f"{FILE}.anew", f"{LOG}.anew"
"""A new file, or log, until it takes the place of a damaged one."""
DAMAGED, DAMAGED_LOG = f"{FILE}.damaged", f"{LOG}.damaged"
"""The damaged ones, of which the last one each is kept."""
READ_ROWS = 10_000
"""Facts that are read at once, and as many as a group has besides."""
OWNER_ONLY = 0o600
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
MAX_LIFE = 2**53
"""In milliseconds since 1970, as lives mostly are, the year 287,000."""


@dataclass(frozen=True, slots=True)
class Past:
    """What a peer knows of itself from before; ``peer`` is its id, and ``life`` counts its starts, at least. ``port`` is that by
    which others know it, 0 where it has never entered the overlay, and ``clock`` a time that it has seen, in microseconds."""

    peer: PeerId | None = None
    life: Annotated[int, msgspec.Meta(ge=0, le=MAX_LIFE)] = 0
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    clock: Annotated[int, msgspec.Meta(ge=0, le=MAX_CLOCK)] = 0


class DataDirectory:
    """One data directory. Raises BadData, which names the file, for what it cannot use; :meth:`commit` raises sqlite3.Error."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._log = folder / LOG
        self._connection: sqlite3.Connection | None = None
        self._acknowledged = AcknowledgedMark(folder / ACKNOWLEDGED)
        self._directory: DirectoryIdentity
        self._is_ours = False
        """Whether this process has the file: nobody else, from then on."""
        self.damage = Damage()
        """What the directory had lost when it was opened."""
        self.is_new = False
        """Whether there was no database when the directory was opened."""
        self.newest = 0
        """The number of the last group."""
        self._oldest = 1
        """That of the first one that there is to be."""
        self.weight = 0
        """What all groups weigh (:func:`gsg.storage.disk.records.weight_of`)."""

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
        """Open the directory, or make it, for this process alone; what the peer was, as far as that is sound."""
        self._make_folder()
        self.damage = Damage()
        self._directory = DirectoryIdentity((self.path, self._log))
        try:
            self._finish_replacing()
            with contextlib.suppress(FileExistsError):
                # Its log gets the mode of the file.
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
            self._connection = connect(self.path)
            self._is_ours = True
            if self._mend_log():
                self._connection = connect(self.path)
            self._keep_to_owner()
            return self._read_all()
        except (BadData, OSError, *UNREADABLE) as error:
            self.close()
            raise error if isinstance(error, BadData) else refused(self.path, error) from None

    def _make_folder(self) -> None:
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

    def _mend_log(self) -> bool:
        """Whether the write-ahead log was damaged, and another is in its place. SQLite has read it by now, and not changed it."""
        [page_bytes] = self._opened.execute("PRAGMA page_size").fetchone()
        broken = examine(self._log, page_bytes)
        if broken is None:
            return False
        kept, anew = self._log.with_name(DAMAGED_LOG), self._log.with_name(LOG_ANEW)
        try:
            write_mended(broken, self._log, anew)
        except OSError:
            # As where the disk is full: closing would remove the log, and what follows the damage with it.
            self._log.replace(kept)
            self._opened.close()
            self._connection = None
            kept.replace(self._log)
            anew.unlink(missing_ok=True)
            raise
        # From here on the new log has all that was acknowledged. Closing folds what comes before the damage into the file.
        self._log.replace(kept)
        self._opened.close()
        self._finish_replacing()
        self.damage.log_frames, self.damage.kept = broken.damaged, kept
        log.error(
            "%s is damaged: %s; what was written after that was read all the same, and the damaged log is kept as %s until another "
            "one is",
            self._log,
            f"{broken.damaged} of {len(broken.frames)} frames that were acknowledged, the first of them number {broken.first}"
            if broken.first
            else f"its head, before {len(broken.frames)} frames that were acknowledged",
            kept.name,
        )
        return True

    def _read_all(self) -> Past:
        """Look at all that is there, and mend what is damaged."""
        connection = self._opened
        version = check_format(connection, self.path)
        self.is_new = not version
        write_ahead(connection)
        is_missing, acknowledged = self._acknowledged.is_missing(), self._acknowledged.read()
        if acknowledged is None:
            self.damage.mark, acknowledged = True, 0
        lost = 0
        if self.is_new:
            with transaction(connection):
                make_tables(connection)
                say(connection, oldest=1)
            lost, acknowledged = acknowledged, 0
        elif version < FORMAT:
            try:
                self.damage.times = convert(connection, version)
            except ValueError as error:
                raise damaged(self.path, str(error)) from None
        said = said_of(connection, self.damage)
        oldest = _number(said.pop("oldest", 0))
        last = self._look_through(connection, oldest, acknowledged)
        self._oldest = oldest or 1
        if is_missing and version == FORMAT and self.newest:
            # It is there before the first group is.
            self.damage.mark = True
        if self.is_new:
            self.damage.records = lost
        elif self.damage.is_in_file:
            connection, self._oldest = self._replace(said, oldest, max(self.newest, acknowledged))
        self._acknowledged.write(self.newest)
        self._directory.check()
        try:
            if type(said.get("clock", 0)) is int:
                said["clock"] = max(_number(said.get("clock", 0)), last)
            return msgspec.convert(said, Past)
        except msgspec.ValidationError as error:
            raise damaged(self.path, f"what it says of the peer itself cannot be ({error})") from None

    def _look_through(self, connection: sqlite3.Connection, oldest: int, acknowledged: int) -> int:
        """Read all groups; the clock of the newest one that is sound."""
        self.newest = self.weight = last = 0
        for number, clock, weight, _ in sound_groups(connection, oldest, acknowledged, self.damage):
            if not self.newest:
                self.newest, last = number, clock
            self.weight += weight
        if not self.damage.pages:
            # Also pages that nothing is read from: what is written next may go there.
            [found] = connection.execute("PRAGMA quick_check(1)").fetchone()
            self.damage.pages = "" if found == b"ok" else found.decode("utf-8", "replace").replace("\n", " ")
        return last

    def _replace(self, said: dict[str, Said], oldest: int, newest: int) -> tuple[sqlite3.Connection, int]:
        """Put what is sound into a new file, which takes the place of this one; and the number of its oldest group."""
        anew, kept = self.path.with_name(ANEW), self.path.with_name(DAMAGED)
        anew.unlink(missing_ok=True)
        found = sound_groups(self._opened, oldest, newest, Damage())
        # Numbers that are never given twice: what was acknowledged is not to look like something later.
        first, self.weight = write_anew(anew, found, newest, said)
        self.newest = newest
        anew.chmod(OWNER_ONLY)
        # All that the log has is in the damaged file before that goes: what is left of a log would be taken for the new one's.
        self._opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._opened.close()
        self.path.replace(kept)
        self._finish_replacing()
        self.damage.kept = kept
        self._connection = connect(self.path)
        connection = self._opened
        write_ahead(connection)
        return connection, first

    def _finish_replacing(self) -> None:
        """A new file, or log, takes the place of a damaged one, which has gone from there by now; also where the peer ended in
        between."""
        anew, log_anew = self.path.with_name(ANEW), self._log.with_name(LOG_ANEW)
        if self.path.exists():
            if log_anew.exists() and not self._log.exists():
                log_anew.replace(self._log)
        elif anew.exists():
            self._log.unlink(missing_ok=True)
            anew.replace(self.path)

    def _keep_to_owner(self) -> None:
        """Let nobody else read what is there, whatever the directory's mode: facts may be for named readers."""
        others = (LOG, f"{FILE}-shm", f"{FILE}-journal", ACKNOWLEDGED, BOOK, DAMAGED, DAMAGED_LOG)
        for path in (self.path, *map(self.path.with_name, others)):
            try:
                if stat.S_IMODE(path.stat().st_mode) & ~OWNER_ONLY:
                    path.chmod(OWNER_ONLY)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise BadData(
                    f"{path} may be read by others, and cannot be kept from them: {reason(error)}; expected a file of this user's"
                ) from None

    def all_rows(self) -> Iterator[list[Row]]:
        """All facts with their marks as they were written last, READ_ROWS at a time or some more."""
        seen: set[Remains] = set()
        some: list[Row] = []
        try:
            for found in self._opened.execute(f"{GROUPS} ORDER BY number DESC"):
                for row in self._rows(*found):
                    remains = remains_of(row[0])
                    if remains not in seen:
                        seen.add(remains)
                        if row[1]:
                            some.append(row)
                if len(some) >= READ_ROWS:
                    yield some
                    some = []
        except sqlite3.Error as error:
            raise refused(self.path, error) from None
        if some:
            yield some

    def oldest_facts(self, facts: int) -> tuple[int, list[Remains]]:
        """What would remain of the facts of the oldest groups, so many or those of one group, and the last group's number.

        Raises DamagedGroup.
        """
        until, found = 0, list[Remains]()
        with contextlib.closing(self._opened.execute(f"{GROUPS} ORDER BY number")) as groups:
            for expected, group in enumerate(groups, self._oldest):
                if group[0] != expected:
                    raise DamagedGroup(f"{self.path} is damaged: group {expected} is missing")
                some = [remains_of(fact) for fact, _ in self._rows(*group)]
                if found and len(found) + len(some) > facts:
                    break
                found += some
                until = group[0]
        return until, found

    def _rows(self, number: int, clock: int, weight: int, checksum: bytes, rows: bytes) -> list[Row]:
        if not is_sound_group(number, clock, weight, checksum, rows):
            raise DamagedGroup(f"{self.path} is damaged: group {number} is not what was written")
        try:
            return rows_of(rows)
        except ValueError as error:
            raise damaged(self.path, str(error)) from None

    def scrub_some(self, after: int) -> Looked:
        """Whether some of the groups after this number are what was written, and whether the directory is the one that was opened.

        Raises sqlite3.Error and OSError.
        """
        self.check()
        return look_at(self._opened, after, self._oldest, self.newest)

    def check(self) -> None:
        """Raise OSError where the directory is not the one that was opened."""
        self._directory.check()

    def begin_life(self, past: Past) -> None:
        """A new life of the peer begins. Raises BadData."""
        self._say(peer=past.peer, life=past.life, port=past.port, clock=past.clock)

    def note_port(self, port: int) -> None:
        """The peer is known at this port. Raises BadData."""
        self._say(port=port)

    def _say(self, **said: Said) -> None:
        try:
            with transaction(self._opened) as connection:
                say(connection, **said)
        except sqlite3.Error as error:
            raise refused(self.path, error) from None

    def commit(self, group: Group) -> None:
        """Write a group, and let those go that it has done with; it is on disk on return.

        Raises sqlite3.Error, and nothing of it is written, or OSError where the directory is not the one that was opened.
        """
        weight, newest = self.weight, self.newest

        def encoded() -> Iterator[tuple[int, int, int, bytes, bytes]]:
            nonlocal weight, newest
            for share, record in records(group.rows):
                newest += 1
                weight += share
                yield newest, group.clock, share, sum_of_group(newest, group.clock, share, record), record

        with transaction(self._opened) as connection:
            if group.until:
                [(gone,)] = connection.execute("SELECT ifnull(sum(weight), 0) FROM groups WHERE number <= ?", (group.until,))
                connection.execute("DELETE FROM groups WHERE number <= ?", (group.until,))
                weight -= gone
                say(connection, oldest=group.until + 1)
            if group.rows:
                connection.executemany(INSERT, encoded())
            else:
                say(connection, clock=group.clock)
        self.weight, self.newest = weight, newest
        self._oldest = max(self._oldest, group.until + 1)
        # On disk it is; but whether anybody finds it there?
        self._directory.check()
        self._acknowledged.write(newest)

    def close(self) -> None:
        """Others may open the directory."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        is_ours, self._is_ours = self._is_ours, False
        if is_ours:
            try:
                # As closing does, which would not say that it failed: one process has the file, so nobody else is in the way.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                # A file that cannot be used at all has none.
                if log_bytes := _size_bytes(self._log):
                    log.warning(
                        "%s is whole, but its log of %s bytes could not be folded into it (%s): make as much room before this "
                        "peer is started again",
                        *(self.path, f"{log_bytes:,}", error),
                    )
        with contextlib.suppress(OSError):  # it says too little then, as after a failure of the power
            self._acknowledged.close()
        with contextlib.suppress(sqlite3.Error):  # what was committed is in the log
            connection.close()

    @property
    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise sqlite3.ProgrammingError("the data directory is closed")
        return self._connection


def _number(value: Said) -> int:
    return value if isinstance(value, int) else 0


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0

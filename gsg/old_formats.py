"""Data directories of earlier versions, whose records have no checksums: they are read once, and written anew with them.

    format 1, 2    a row for each fact
    format 3       groups of facts, without checksums
    format 4       groups with checksums

A bit that was wrong in them by then cannot be told from what was written, except where it says what cannot be: then it is damage.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import TypeAlias

from .database import INSERT, make_tables, say, transaction
from .framing import Said, sum_of_group
from .journal import GROUP_FACTS
from .records import joined, rows_of, weight_of

Record: TypeAlias = tuple[int, int, int, bytes, bytes]
"""A group as a row of the table: number, clock, weight, checksum and rows."""


def convert(connection: sqlite3.Connection, version: int) -> None:
    """Write a file of an earlier version anew, or leave it as it is. Raises ValueError for what cannot be, and sqlite3.Error."""
    with transaction(connection):
        said = dict(_said_in(connection))
        connection.execute("ALTER TABLE groups RENAME TO old" if version == 3 else "ALTER TABLE facts RENAME TO old")
        connection.execute("DROP TABLE self")
        make_tables(connection)
        connection.executemany(INSERT, _groups_in(connection, version))
        [oldest] = connection.execute("SELECT ifnull(min(number), 1) FROM groups").fetchone()
        say(connection, **said, oldest=oldest)
        connection.execute("DROP TABLE old")


def _said_in(connection: sqlite3.Connection) -> Iterator[tuple[str, Said]]:
    for name, value in connection.execute("SELECT name, value FROM self").fetchall():
        yield name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name), value


def _groups_in(connection: sqlite3.Connection, version: int) -> Iterator[Record]:
    """The groups of an old file, in order. Raises ValueError for what cannot be."""
    if version < 3:
        with contextlib.closing(connection.execute("SELECT fact, marks FROM old")) as rows:
            for number, (weight, record) in enumerate(joined(rows, GROUP_FACTS), 1):
                yield number, 0, weight, sum_of_group(number, 0, weight, record), record
        return
    with contextlib.closing(connection.execute("SELECT number, clock, weight, rows FROM old ORDER BY number")) as groups:
        for number, clock, _, record in groups:
            weight = weight_of(rows_of(record))
            yield number, clock, weight, sum_of_group(number, clock, weight, record), record

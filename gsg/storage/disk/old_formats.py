"""Data directories of earlier versions, whose records have no checksums: they are read once, and written anew with them.

    format 1, 2    a row for each fact
    format 3       groups of facts, without checksums
    format 4       groups with checksums

A bit that was wrong in them by then cannot be told from what was written, except where it says what cannot be: a time that is later
than all at which something was written is damage (gsg/storage/disk/records.py).
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from ..clock import MAX_AHEAD_S
from .database import INSERT, make_tables, say, transaction
from .journal import GROUP_FACTS
from .record_checksums import Said, sum_of_group
from .records import in_reason, joined, latest_in_reason, records, rows_of, weight_of


def convert(connection: sqlite3.Connection, version: int) -> int:
    """Write a file of an earlier version anew, or leave it as it is; how many times in it cannot be.

    Raises ValueError for what else cannot be, and sqlite3.Error.
    """
    with transaction(connection):
        said = dict(_said_in(connection))
        connection.execute("ALTER TABLE groups RENAME TO old" if version == 3 else "ALTER TABLE facts RENAME TO old")
        connection.execute("DROP TABLE self")
        make_tables(connection)
        clocks = [clock for name, clock in said.items() if name == "clock" and isinstance(clock, int)]
        if version == 3:
            clocks += [clock for (clock,) in connection.execute("SELECT clock FROM old ORDER BY clock DESC LIMIT 2")]
        until = latest_in_reason(clocks, MAX_AHEAD_S * 1_000_000)
        late = sum(clock > until for clock in clocks)
        if late and isinstance(clock := said.get("clock"), int):
            said["clock"] = min(clock, until)
        number = 0
        for clock, old in _groups_in(connection, version):
            rows = rows_of(old)
            kept, found = in_reason(rows, until)
            late += found
            for share, record in records(kept) if found else [(weight_of(rows), old)]:
                number += 1
                at = min(clock, until)
                connection.execute(INSERT, (number, at, share, sum_of_group(number, at, share, record), record))
        say(connection, **said, oldest=1)
        connection.execute("DROP TABLE old")
    return late


def _said_in(connection: sqlite3.Connection) -> Iterator[tuple[str, Said]]:
    for name, value in connection.execute("SELECT name, value FROM self").fetchall():
        yield name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name), value


def _groups_in(connection: sqlite3.Connection, version: int) -> Iterator[tuple[int, bytes]]:
    """The groups of an old file, in order, each with its clock."""
    if version < 3:
        with contextlib.closing(connection.execute("SELECT fact, marks FROM old")) as rows:
            for _, record in joined(rows, GROUP_FACTS):
                yield 0, record
        return
    with contextlib.closing(connection.execute("SELECT clock, rows FROM old ORDER BY number")) as groups:
        yield from groups

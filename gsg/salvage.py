"""What is sound in a peer's database, read back whatever else is in it, and written into a new one.

    every group from the newest to the oldest: its checksum holds, and its number is the next ──> sound
    otherwise, or where SQLite finds its pages damaged: each number is asked for by itself     ──> sound, or lost

Of a fact the last group holds, so groups count from the newest on; one that stands out of order is left out like a damaged one.
A database with anything lost is not written to any more: what is sound goes into a new file, which takes its place.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from .framing import Said, is_sound_group, is_sound_said, sum_of_group

Sound: TypeAlias = tuple[int, int, int, bytes]
"""A group: number, clock, weight and rows."""

ALL = "SELECT number, clock, weight, sum, rows FROM groups ORDER BY number DESC"
ONE = "SELECT number, clock, weight, sum, rows FROM groups WHERE number = ?"


@dataclass(slots=True)
class Damage:
    """What a directory has lost; all false for nothing."""

    records: int = 0
    """Groups that are damaged or missing."""
    pages: str = ""
    """What SQLite says of its pages, where they are damaged."""
    said: tuple[str, ...] = ()
    """The names under which it does not say any more what the peer was."""
    log_frames: int = 0
    """Damaged pages in the write-ahead log that were acknowledged."""
    mark: bool = False
    """Whether it is not known which group was acknowledged last."""
    kept: Path | None = None
    """The damaged file."""

    @property
    def is_in_file(self) -> bool:
        """Whether the database itself is damaged."""
        return bool(self.records or self.pages or self.said)


def said_of(connection: sqlite3.Connection, damage: Damage) -> dict[str, Said]:
    """What is said of the peer itself, and is sound."""
    said: dict[str, Said] = {}
    lost: list[str] = []
    try:
        for name, value, checksum in connection.execute("SELECT name, value, sum FROM self"):
            text = name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else str(name)
            if is_sound_said(text, value, checksum):
                said[text] = value
            else:
                lost.append(text)
    except sqlite3.DatabaseError as error:
        damage.pages = str(error)
    damage.said = tuple(lost)
    return said


def sound_groups(connection: sqlite3.Connection, oldest: int, newest: int, damage: Damage) -> Iterator[Sound]:
    """All sound groups, the newest first; ``damage`` counts what is lost once they have been read to the end.

    ``oldest``: the number of the oldest group there is to be, 0 where that is not known; ``newest``: that of the last one that was
    acknowledged, or less where that is not known.
    """
    damaged = missing = 0
    last = 0
    """The number of the group that was read last."""
    try:
        for number, clock, weight, checksum, rows in connection.execute(ALL):
            # One that stands before a later one, or was cleaned away, is on a page that is not where or when it should be.
            if not is_sound_group(number, clock, weight, checksum, rows) or number < oldest or (last and number >= last):
                damaged += 1
                continue
            missing += max(0, newest - number) if not last else last - 1 - number
            last = number
            yield number, clock, weight, rows
        missing += max(0, last - oldest) if last and oldest else 0
    except sqlite3.DatabaseError as error:
        damage.pages = str(error)
        for number in range(last - 1 if last else newest, max(oldest, 1) - 1, -1):
            found = _one(connection, number)
            if found is None:
                missing += 1
            else:
                yield found
    damage.records = max(damaged, missing)


def _one(connection: sqlite3.Connection, number: int) -> Sound | None:
    try:
        found = connection.execute(ONE, (number,)).fetchone()
    except sqlite3.DatabaseError:
        return None
    if found is None or not is_sound_group(*found):
        return None
    _, clock, weight, _, rows = found
    return number, clock, weight, rows


def write_anew(
    path: Path, make_tables: Callable[[sqlite3.Connection], None], groups: Iterable[Sound], newest: int
) -> tuple[int, int]:
    """Put groups, the newest first, into a new database, with numbers up to this one and none missing; the number of the oldest,
    one more than the newest where there are none, and what all weigh. Raises sqlite3.Error."""
    oldest, all_weigh = newest + 1, 0
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # What is not finished is never opened, so there is nothing to roll back.
        connection.execute("PRAGMA journal_mode=OFF")
        connection.execute("PRAGMA synchronous=FULL")
        make_tables(connection)
        connection.execute("BEGIN IMMEDIATE")
        for _, clock, weight, rows in groups:
            oldest -= 1
            all_weigh += weight
            checksum = sum_of_group(oldest, clock, weight, rows)
            connection.execute("INSERT INTO groups VALUES (?, ?, ?, ?, ?)", (oldest, clock, weight, checksum, rows))
        connection.execute("COMMIT")
    return oldest, all_weigh

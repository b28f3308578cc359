"""What is sound in a peer's database, read back whatever else is in it, and written into a new one.

    every group from the newest to the oldest: its checksum holds, and its number is the next ──> sound
    one bit of it is wrong                                                                    ──> put right
    otherwise, or where SQLite finds its pages damaged: each number is asked for by itself    ──> sound, or lost

Of a fact the last group holds, so groups count from the newest on; one that stands out of order is left out like a damaged one.
A database with anything wrong is not written to any more: what is sound goes into a new file, which takes its place.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...errors import BadData
from . import database
from .record_checksums import Said, Sound, corrected_group, is_sound_group, sound_said, sum_of_group, sum_of_said

CORRECTED_BYTES = 64 * 1024 * 1024
"""In so many bytes of damaged groups a wrong bit is looked for, which takes some 10 s; those beyond are lost as they are."""
NAMES = ("peer", "life", "port", "clock", "oldest")
"""What is said of a peer."""


class DamagedGroup(BadData):
    """A group is not what was written, found while the peer runs, which has all of it in memory."""


@dataclass(slots=True)
class Damage:
    """What is wrong with a directory; all false for nothing."""

    records: int = 0
    """Groups that are lost: damaged or missing."""
    corrected: int = 0
    """Those of which one bit was wrong, and was put right."""
    pages: str = ""
    """What SQLite says of its pages, where they are damaged."""
    said: tuple[str, ...] = ()
    """The names under which it does not say any more what the peer was."""
    times: int = 0
    """Those in a file of an earlier version that cannot be."""
    log_frames: int = 0
    """Damaged pages in the write-ahead log that were acknowledged."""
    mark: bool = False
    """Whether it is not known which group was acknowledged last."""
    kept: Path | None = None
    """The damaged file."""
    looked_at_bytes: int = 0
    """Of damaged groups."""

    @property
    def is_in_file(self) -> bool:
        """Whether the database itself is damaged."""
        return bool(self.records or self.corrected or self.pages or self.said)


def said_of(connection: sqlite3.Connection, damage: Damage) -> dict[str, Said]:
    """What is said of the peer itself, as far as it can be known."""
    said: dict[str, Said] = {}
    wrong: list[str] = []
    try:
        for name, value, checksum in connection.execute("SELECT name, value, sum FROM self"):
            text = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
            is_known = text in NAMES
            if is_known and (value is None or isinstance(value, bytes | int)) and sum_of_said(text, value) == checksum:
                said[text] = value
                continue
            damage.corrected += 1
            for known in (text,) if is_known else NAMES:
                with contextlib.suppress(ValueError, OverflowError):
                    said[known] = sound_said(known, value, checksum)
                    break
            else:
                damage.corrected -= 1
                wrong.append(text)
    except database.UNREADABLE as error:
        damage.pages = str(error)
    damage.said = tuple(wrong)
    return said


def sound_groups(connection: sqlite3.Connection, oldest: int, newest: int, damage: Damage) -> Iterator[Sound]:
    """All groups that are sound, or can be put right, the newest first; ``damage`` counts what is wrong once they have been read.

    ``oldest``: the number of the oldest group there is to be, 0 where that is not known; ``newest``: that of the last one that was
    acknowledged, or less where that is not known.
    """
    damaged = missing = 0
    last = 0
    """The number of the group that was read last."""
    try:
        for row in connection.execute(f"{database.GROUPS} ORDER BY number DESC"):
            found = sound(row, damage)
            # One that stands before a later one, or was cleaned away, is on a page that is not where or when it should be.
            if found is None or found[0] < oldest or (last and found[0] >= last):
                damaged += 1
                continue
            missing += max(0, newest - found[0]) if not last else last - 1 - found[0]
            last = found[0]
            yield found
        missing += max(0, last - oldest if last else newest - oldest + 1) if oldest else 0
    except database.UNREADABLE as error:
        damage.pages = str(error)
        for number in range(last - 1 if last else newest, max(oldest, 1) - 1, -1):
            found = _one(connection, number, damage)
            if found is None:
                missing += 1
            else:
                yield found
    damage.records = max(damaged, missing)


def _one(connection: sqlite3.Connection, number: int, damage: Damage) -> Sound | None:
    try:
        row = connection.execute(f"{database.GROUPS} WHERE number = ?", (number,)).fetchone()
    except database.UNREADABLE:
        return None
    found = None if row is None else sound(row, damage)
    return found if found is not None and found[0] == number else None


def sound(row: tuple[object, object, object, object, object], damage: Damage) -> Sound | None:
    """A group as it was written, put right where one bit is wrong, which is counted; None where nobody knows."""
    if is_sound_group(*row):
        number, clock, weight, _, rows = row
        return number, clock, weight, rows  # type: ignore[return-value]  # its checksum says so
    damage.looked_at_bytes += len(row[-1]) if isinstance(row[-1], bytes) else 0
    found = corrected_group(*row) if damage.looked_at_bytes <= CORRECTED_BYTES else None
    damage.corrected += found is not None
    return found


def write_anew(path: Path, groups: Iterable[Sound], newest: int, said: Mapping[str, Said]) -> tuple[int, int]:
    """Put groups, the newest first, into a new database, with numbers up to this one, and what is said of the peer.

    There is a group for each number from the oldest on. Returns that of the oldest, one more than the newest where there are none,
    and what all weigh. Raises sqlite3.Error.
    """
    oldest, all_weigh = newest + 1, 0
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # What is not finished is never opened, so there is nothing to roll back.
        connection.execute("PRAGMA journal_mode=OFF")
        connection.execute(f"PRAGMA synchronous={database.SYNCHRONOUS}")
        database.make_tables(connection)
        connection.execute("BEGIN IMMEDIATE")
        for _, clock, weight, rows in groups:
            oldest -= 1
            all_weigh += weight
            checksum = sum_of_group(oldest, clock, weight, rows)
            connection.execute(database.INSERT, (oldest, clock, weight, checksum, rows))
        database.say(connection, **{**said, "oldest": oldest})
        connection.execute("COMMIT")
    return oldest, all_weigh

"""A look at some groups at a time finds each that is not what was written, once, however few are read at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

import gsg.storage.disk.scrub
from gsg.storage.disk.database import INSERT, make_tables
from gsg.storage.disk.record_checksums import sum_of_group
from gsg.storage.disk.scrub import Looked, look_at

FIRST, LAST = 4, 23
ROWS = b"x" * 100


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    """Groups 4 to 23: those before were cleaned away."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        make_tables(connection)
        for number in range(FIRST, LAST + 1):
            connection.execute(INSERT, (number, 1, 1, sum_of_group(number, 1, 1, ROWS), ROWS))
        yield connection


def look_through(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many groups are damaged, and how many looks that took."""
    after = damaged = looks = 0
    while looks < 100:
        looked = look_at(connection, after, FIRST, LAST)
        damaged, looks, after = damaged + looked.damaged, looks + 1, looked.last
        if not after:
            break
    return damaged, looks


@pytest.mark.parametrize(("size_bytes", "looks"), [(1, 21), (450, 5), (10_000, 1)])
@pytest.mark.parametrize(
    ("damage", "damaged"),
    [
        ("SELECT 1", 0),
        ("UPDATE groups SET rows = zeroblob(100) WHERE number IN (4, 7, 8, 23)", 4),
        ("UPDATE groups SET clock = 2 WHERE number = 4", 1),
        ("DELETE FROM groups WHERE number IN (4, 10, 11, 23)", 4),
        ("DELETE FROM groups", 20),
        ("UPDATE groups SET number = 1000 WHERE number = 9", 1),
        ("UPDATE groups SET number = -1000 WHERE number = 9", 1),
        ("UPDATE groups SET rows = 'text', sum = 0 WHERE number = 9", 1),
    ],
    ids=["nothing", "zeroed", "of another time", "lost", "all lost", "far away", "before all", "no bytes"],
)
def test_what_is_damaged_or_missing_is_counted(
    connection: sqlite3.Connection, damage: str, damaged: int, size_bytes: int, looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gsg.storage.disk.scrub, "SCRUB_BYTES", size_bytes)
    connection.execute(damage)

    found, looks_taken = look_through(connection)

    assert found == damaged
    assert looks_taken <= looks


def test_one_look_reads_no_more_than_it_is_to(connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.disk.scrub, "SCRUB_BYTES", 250)

    assert look_at(connection, 0, FIRST, LAST) == Looked(6, 0)
    assert look_at(connection, 6, FIRST, LAST) == Looked(9, 0)
    # Those that went meanwhile are not missing.
    assert look_at(connection, 6, 9, LAST) == Looked(11, 0)

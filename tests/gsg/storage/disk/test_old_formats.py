"""Data directories of earlier versions: read, and written anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from data_files import facts, sql

import gsg.storage.disk.data_directory
import gsg.storage.disk.old_formats
import gsg.storage.disk.records
from gsg.errors import BadData
from gsg.storage.disk.data_directory import DataDirectory, Past
from gsg.storage.disk.database import APPLICATION, FORMAT
from gsg.storage.disk.journal import Group


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[DataDirectory]:
    disk = DataDirectory(tmp_path / "new" / "data")
    yield disk
    disk.close()


def as_format_3(path: Path, *groups: str) -> None:
    """Make a file of the format before there were checksums, with these rows of its log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sql(
        path,
        "CREATE TABLE self (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
        "CREATE TABLE groups (number INTEGER PRIMARY KEY, clock INTEGER NOT NULL, weight INTEGER NOT NULL, rows BLOB NOT NULL)",
        "INSERT INTO self VALUES ('peer', x'" + "70" * 20 + "'), ('life', 3), ('port', 7400), ('clock', 8)",
        *(f"INSERT INTO groups VALUES ({group})" for group in groups),
        f"PRAGMA application_id={APPLICATION}",
        "PRAGMA user_version=3",
    )


def as_before_there_was_a_log(path: Path, version: int, *rows: str) -> None:
    path.parent.mkdir(parents=True)
    sql(
        path,
        "CREATE TABLE self (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
        "CREATE TABLE facts (fact BLOB PRIMARY KEY, marks BLOB NOT NULL) WITHOUT ROWID",
        "INSERT INTO self VALUES ('peer', x'" + "70" * 20 + "'), ('life', 3), ('port', 7400), ('clock', 8)",
        *(f"INSERT INTO facts VALUES ({row})" for row in rows),
        f"PRAGMA application_id={APPLICATION}",
        f"PRAGMA user_version={version}",
    )


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_in_which_each_fact_has_a_row_is_read_and_has_groups_from_then_on(
    disk: DataDirectory, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gsg.storage.disk.old_formats, "GROUP_FACTS", 2)
    as_before_there_was_a_log(
        disk.path, version, "x'9101', x'9193000101'", "x'9102', x'92930001029300ff03'", "x'9103', x'9193000104'"
    )

    past = disk.open()

    assert past == Past(b"p" * 20, 3, 7400, 8)
    assert facts(disk) == {(1,): [(0, 1, 1)], (2,): [(0, 1, 2), (0, -1, 3)], (3,): [(0, 1, 4)]}
    assert (disk.newest, disk.weight) == (2, 4)
    disk.commit(Group([((1,), [])], clock=10))
    disk.close()
    assert disk.open() == Past(b"p" * 20, 3, 7400, 10)
    assert facts(disk).keys() == {(2,), (3,)}
    assert disk._opened.execute("PRAGMA user_version").fetchone() == (FORMAT,)


def test_large_facts_of_such_a_file_are_in_groups_that_are_not_too_large(
    disk: DataDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gsg.storage.disk.records, "MAX_RECORD_BYTES", 1_000)
    fact = msgspec.msgpack.encode(("x" * 400,))
    as_before_there_was_a_log(
        disk.path, 2, *(f"x'{fact.replace(b'xx', bytes((97, 97 + at)), 1).hex()}', x'9193000101'" for at in range(9))
    )

    disk.open()

    assert disk.newest == 3
    assert len(facts(disk)) == disk.weight == 9


@pytest.mark.parametrize("row", ["'text', x'90'", "x'9101', 1", "x'c1', x'90'", "x'9101', x'9193000501'"])
def test_a_row_of_such_a_file_that_cannot_be_is_damage_and_the_file_stays_as_it_is(disk: DataDirectory, row: str) -> None:
    as_before_there_was_a_log(disk.path, 2, row)

    for _ in range(2):
        with pytest.raises(BadData, match=r"peer.sqlite3 is damaged: a r[a-z]+ "):
            disk.open()


def test_a_file_without_checksums_is_read_and_has_them_from_then_on(disk: DataDirectory) -> None:
    as_format_3(disk.path, "7, 20, 1, x'91929101919300010c'", "8, 21, 1, x'919291029193000102'", "9, 22, 1, x'9192910190'")

    past = disk.open()

    assert past == Past(b"p" * 20, 3, 7400, 22)
    assert facts(disk) == {(2,): [(0, 1, 2)]}
    assert (disk.newest, disk.weight, disk.damage.times) == (3, 3, 0)
    disk.commit(Group([((3,), [(0, 1, 5)])], clock=30))
    disk.close()
    assert disk.open() == Past(b"p" * 20, 3, 7400, 30)
    assert facts(disk) == {(2,): [(0, 1, 2)], (3,): [(0, 1, 5)]}
    assert not disk.damage.is_in_file


@pytest.mark.parametrize("year_us", [2**45, 2**51, 2**59])
def test_a_time_far_from_all_others_in_a_file_without_checksums_is_not_one(disk: DataDirectory, year_us: int) -> None:
    as_format_3(
        disk.path,
        f"1, {20 + year_us}, 1, x'919291019193000109'",
        f"2, 21, 1, x'9192910291930001cf{8 + year_us:016x}'",
        "3, 22, 1, x'919291039193000105'",
    )

    past = disk.open()

    # Whatever anybody else says of the fact is later.
    assert facts(disk) == {(1,): [(0, 1, 9)], (2,): [(0, 1, gsg.storage.disk.records.EARLIEST)], (3,): [(0, 1, 5)]}
    assert past.clock == 22
    assert disk.damage.times == 2

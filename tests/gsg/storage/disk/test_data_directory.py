"""A data directory: what is committed comes back, and what cannot be used is refused by name."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from data_files import facts, sql

import gsg.storage.disk.data_directory
import gsg.storage.disk.old_formats
import gsg.storage.disk.records
from gsg.errors import BadData
from gsg.storage.disk.data_directory import DataDirectory, Past
from gsg.storage.disk.database import FORMAT, INSERT, say
from gsg.storage.disk.journal import Group
from gsg.storage.disk.record_checksums import sum_of_group
from gsg.storage.disk.salvage import Damage, DamagedGroup
from gsg.storage.facts_by_key import Mark
from gsg.tuples.audiences import Restricted
from gsg.tuples.terms import IRI, BlankNode, Compound, List, Literal, Symbol, Tuple, fact

KINDS: list[Tuple] = [
    fact(("a", 1, 1.0, True)),
    fact((Symbol("a"), IRI("x:a"), BlankNode("a"))),
    (Literal("a", language="en"), Literal("1"), "", -(2**63)),
    (Compound((Symbol("f"), "x", 1)), List(("a",))),
    Restricted(("a", 1), frozenset(bytes((number,)) * 20 for number in range(9))),
    Restricted(("a", 1), frozenset((b"r" * 20,))),
    ("a", 1),
]
MARKS: list[Mark] = [(0, 1, 2**53), (1, -1, 3)]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[DataDirectory]:
    disk = DataDirectory(tmp_path / "new" / "data")
    yield disk
    disk.close()


def test_what_is_committed_comes_back(disk: DataDirectory) -> None:
    assert disk.open() == Past()
    disk.begin_life(Past(b"me" * 10, 3, 7400, 1))
    disk.commit(Group([(items, MARKS) for items in KINDS], clock=9))
    disk.close()

    assert disk.open() == Past(b"me" * 10, 3, 7400, 9)
    assert facts(disk) == dict.fromkeys(KINDS, MARKS)


def test_of_each_fact_what_was_written_last_comes_back_once(disk: DataDirectory) -> None:
    disk.open()
    for stamp in (1, 2):
        disk.commit(Group([((number,), [(0, 1, stamp * number)]) for number in range(stamp, 100 + stamp)], clock=9))

    first, *others = sorted(row for some in disk.all_rows() for row in some)
    assert first == ((1,), [(0, 1, 1)])
    assert others == [((number,), [(0, 1, 2 * number)]) for number in range(2, 102)]


def test_what_is_forgotten_is_gone(disk: DataDirectory) -> None:
    disk.open()
    disk.commit(Group([(items, MARKS) for items in KINDS], clock=9))

    disk.commit(Group([(KINDS[0], []), (KINDS[1], [(0, 1, 5)])], clock=10))

    assert facts(disk) == {KINDS[1]: [(0, 1, 5)]} | dict.fromkeys(KINDS[2:], MARKS)


def test_a_fact_for_named_readers_is_one_row_in_whatever_order_they_are_named(disk: DataDirectory) -> None:
    readers = [bytes((number,)) * 20 for number in range(64)]
    disk.open()
    disk.commit(Group([(Restricted(("a", 1), frozenset(readers)), MARKS)], clock=9))

    disk.commit(Group([(Restricted(("a", 1), frozenset(reversed(readers))), [])], clock=10))

    assert facts(disk) == {}


def test_the_oldest_groups_are_read_and_go_with_the_next_one(disk: DataDirectory) -> None:
    disk.open()
    for number in range(4):
        disk.commit(Group([((number, at), [(0, 1, 1), (1, 1, 1)]) for at in range(3)], clock=9))

    assert disk.oldest_facts(1) == (1, [(0, 0), (0, 1), (0, 2)])
    assert disk.oldest_facts(8) == (2, [(number, at) for number in range(2) for at in range(3)])
    disk.commit(Group([((0, 0), [(0, 1, 1)]), ((9,), [])], clock=9, until=2))

    assert facts(disk).keys() == {(0, 0), *((number, at) for number in (2, 3) for at in range(3))}
    weight = disk.weight
    disk.close()
    disk.open()
    assert (disk.newest, disk.weight) == (5, weight) == (5, 6 * 2 + 2)


def test_many_facts_or_large_ones_are_several_records(disk: DataDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.disk.records, "MAX_RECORD_BYTES", 1_000)
    rows: list[tuple[Tuple, list[Mark]]] = [(("x" * 400 * number, number), MARKS) for number in range(9)]
    disk.open()

    disk.commit(Group(rows, clock=9))

    assert disk.newest > 7
    assert facts(disk) == dict(rows)


def test_records_are_as_large_as_they_may_be_and_no_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[tuple[Tuple, list[Mark]]] = [(("x" * 400, number), MARKS) for number in range(4)]
    [(_, all_of_them)] = gsg.storage.disk.records.records(rows)
    monkeypatch.setattr(gsg.storage.disk.records, "MAX_RECORD_BYTES", len(all_of_them) + gsg.storage.disk.records.ARRAY_BYTES - 1)
    [(weight, one)] = gsg.storage.disk.records.records(rows)
    monkeypatch.setattr(gsg.storage.disk.records, "MAX_RECORD_BYTES", len(all_of_them) - 1)

    cut = list(gsg.storage.disk.records.records(rows))

    assert (weight, one) == (4 * len(MARKS), all_of_them)
    assert [len(gsg.storage.disk.records.rows_of(record)) for _, record in cut] == [3, 1]
    assert [row for _, record in cut for row in gsg.storage.disk.records.rows_of(record)] == rows


def test_a_group_of_large_facts_is_never_in_memory_as_a_whole(disk: DataDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.disk.records, "MAX_RECORD_BYTES", 64 * 1024)
    rows: list[tuple[Tuple, list[Mark]]] = [(("x" * 32 * 1024, number), MARKS) for number in range(64)]
    disk.open()

    tracemalloc.start()
    disk.commit(Group(rows, clock=9))
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most_bytes < 512 * 1024
    assert disk.newest == 64


def test_a_batch_is_written_whole_or_not_at_all(disk: DataDirectory) -> None:
    disk.open()
    disk._opened.execute("PRAGMA max_page_count=8")

    with pytest.raises(sqlite3.OperationalError, match="full"):
        disk.commit(Group([(("x" * 3_000, number), MARKS) for number in range(20)], clock=1))

    assert facts(disk) == {}
    disk.commit(Group([(("x",), [(0, 1, 1)])], clock=1))
    assert facts(disk) == {("x",): [(0, 1, 1)]}


def test_a_directory_belongs_to_one_peer_at_a_time(disk: DataDirectory, caplog: pytest.LogCaptureFixture) -> None:
    disk.open()

    with pytest.raises(BadData, match=r"peer.sqlite3 is in use by another peer; stop that one"):
        DataDirectory(disk.path.parent).open()

    # Nothing is wrong with the disk, and nobody is to make room there.
    assert caplog.messages == []
    with pytest.raises(BadData, match=r"peer.sqlite3 is in use by another peer"):
        DataDirectory(disk.path.parent).open()
    disk.close()
    again = DataDirectory(disk.path.parent)
    again.open()
    again.close()


def test_a_file_of_a_later_version_is_refused(disk: DataDirectory) -> None:
    disk.open()
    disk.close()
    sql(disk.path, f"PRAGMA user_version={FORMAT + 1}")

    with pytest.raises(BadData, match=rf"peer.sqlite3 has format {FORMAT + 1}, and this version reads up to {FORMAT}"):
        disk.open()


def test_a_database_of_something_else_is_refused_and_left_alone(disk: DataDirectory) -> None:
    disk.path.parent.mkdir(parents=True)
    sql(disk.path, "CREATE TABLE theirs (x)")
    before = disk.path.read_bytes()

    with pytest.raises(BadData, match=r"peer.sqlite3 is a database of something else"):
        disk.open()

    assert disk.path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_by_name(disk: DataDirectory) -> None:
    disk.open()
    disk.close()
    disk.path.write_bytes(
        b"no database at all, and long enough to have a header of one hundred bytes, which is looked at first" * 9
    )

    with pytest.raises(BadData, match=r"peer.sqlite3 is damaged: .*; move the directory away"):
        disk.open()


@pytest.mark.parametrize(
    "record",
    [
        "x'c1'",
        "x'9192910191930501cd0100'",
        "x'919291019193000501'",
        "x'9192910191930001ff'",
        f"x'919291920891c414{'11' * 20}90'",
        f"x'919292920891c414{'11' * 20}0190'",
        "x'9192920192089090'",
        "x'91929201920891c402111190'",
    ],
    ids=[
        "no msgpack",
        "a position that it has not",
        "no sign",
        "a stamp before time",
        "readers of nothing",
        "readers before the last term",
        "no readers",
        "readers that are none",
    ],
)
def test_a_record_that_cannot_be_is_damage(disk: DataDirectory, record: str) -> None:
    disk.open()
    [rows] = disk._opened.execute(f"SELECT {record}").fetchone()
    disk._opened.execute(INSERT, (1, 1, 1, sum_of_group(1, 1, 1, rows), rows))

    with pytest.raises(BadData, match=r"peer.sqlite3 is damaged: a record"):
        facts(disk)
    with pytest.raises(BadData, match=r"peer.sqlite3 is damaged: a record"):
        disk.oldest_facts(1)


def test_nonsense_about_the_peer_itself_is_damage(disk: DataDirectory) -> None:
    disk.open()
    say(disk._opened, life=b"nine")
    disk.close()

    with pytest.raises(BadData, match=r"peer.sqlite3 is damaged: what it says of the peer itself cannot be .Expected `int`"):
        disk.open()


@pytest.mark.parametrize(
    "said",
    [{"life": 2**63 - 1}, {"port": -1}, {"port": 65536}, {"clock": 2**63 - 1}, {"peer": b"\0"}],
    ids=str,
)
def test_numbers_that_no_peer_has_are_damage(disk: DataDirectory, said: dict[str, int | bytes]) -> None:
    disk.open()
    say(disk._opened, **said)
    disk.close()

    with pytest.raises(BadData, match=r"peer.sqlite3 is damaged: what it says of the peer itself cannot be"):
        disk.open()


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_what_is_kept_is_for_its_owner_alone_in_whatever_directory(disk: DataDirectory, caplog: pytest.LogCaptureFixture) -> None:
    folder = disk.path.parent
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    disk.open()
    disk.begin_life(Past(b"p" * 20, 1))
    made = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    # As an earlier version left them.
    for path in folder.iterdir():
        path.chmod(0o644)
    disk.close()
    folder.chmod(0o777)
    disk.open()
    disk.commit(Group([(("a",), MARKS)], clock=1))
    kept = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}

    assert made == kept == dict.fromkeys(["peer.sqlite3", "peer.sqlite3-wal", "acknowledged"], 0o600)
    assert caplog.messages == [f"{folder} can be written to by others, who may put a database of theirs there; chmod 700 it"]


def test_a_place_where_no_folder_can_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(BadData, match=r"cannot keep data in .*below: not a directory; expected a folder, or a place for one"):
        DataDirectory(tmp_path / "file" / "below").open()


def test_what_may_not_be_written_is_refused_at_once(disk: DataDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    disk.open()
    disk.close()
    # As root, which tests may run as, no file is protected from us: SQLite is told.
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **how: connect(f"file:{path}?mode=ro", uri=True, **how))

    with pytest.raises(BadData, match=r"peer.sqlite3 cannot be used: .*; expected a directory that this user may write to"):
        disk.open()


def test_a_closed_directory_takes_nothing(disk: DataDirectory) -> None:
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        disk.commit(Group([], clock=1))


def test_a_log_that_cannot_be_folded_as_the_peer_ends_is_said_with_what_it_takes(
    disk: DataDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    disk.open()
    connection = disk._opened

    class Full:
        """A connection to a disk without room."""

        def execute(self, statement: str) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        def close(self) -> None:
            connection.close()

    disk._connection = Full()  # type: ignore[assignment]  # as far as it is asked
    log_bytes = disk.path.with_name("peer.sqlite3-wal").stat().st_size
    disk.close()

    assert f"its log of {log_bytes:,} bytes could not be folded into it (database or disk is full)" in caplog.text
    assert "make as much room before this peer is started again" in caplog.text


def test_where_the_peer_ended_while_a_new_file_took_its_place_it_does_so_then(disk: DataDirectory) -> None:
    disk.open()
    disk.commit(Group([(("a",), MARKS[:1])], clock=1))
    disk._opened.execute("UPDATE groups SET weight = 77")
    disk.close()
    damaged = disk.path.read_bytes()
    disk.open()
    assert disk.damage.records == 1
    disk.commit(Group([(("b",), MARKS[:1])], clock=2))
    disk.close()
    assert disk.path.with_name("peer.sqlite3.damaged").read_bytes() == damaged

    # As if it had not got farther than to move the damaged one away.
    disk.path.rename(disk.path.with_name("peer.sqlite3.anew"))
    disk.open()

    assert facts(disk) == {("b",): MARKS[:1]}
    assert not disk.is_new


def test_where_there_is_no_room_for_a_new_file_the_damaged_one_stays_as_it_is(
    disk: DataDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.open()
    disk.commit(Group([(("a",), MARKS[:1])], clock=1))
    disk._opened.execute("UPDATE groups SET rows = zeroblob(9)")
    disk.close()
    before = disk.path.read_bytes()

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(gsg.storage.disk.data_directory, "write_anew", full)
    with pytest.raises(BadData, match=r"peer.sqlite3 cannot be used: database or disk is full; expected .*, with room"):
        disk.open()

    assert disk.path.read_bytes() == before


def test_a_group_that_is_damaged_or_missing_is_not_cleaned_away(disk: DataDirectory) -> None:
    disk.open()
    for number in range(4):
        disk.commit(Group([((number,), MARKS[:1])], clock=1))
    disk._opened.execute("UPDATE groups SET rows = zeroblob(9) WHERE number = 3")
    assert disk.oldest_facts(1) == (1, [(0,)])
    with pytest.raises(DamagedGroup, match=r"peer.sqlite3 is damaged: group 3 is not what was written"):
        disk.oldest_facts(4)

    disk._opened.execute("DELETE FROM groups WHERE number = 2")
    with pytest.raises(DamagedGroup, match=r"peer.sqlite3 is damaged: group 2 is missing"):
        disk.oldest_facts(4)


WRITING = """
import sys
from pathlib import Path
import gsg.storage.disk.database
from gsg.storage.disk.data_directory import DataDirectory
from gsg.storage.disk.journal import Group
gsg.storage.disk.database.CHECKPOINT_PAGES = 20
disk = DataDirectory(Path(sys.argv[1]))
disk.open()
while True:
    number = disk.newest + 1
    until = max(0, number - 40) if number % 9 == 0 else 0
    disk.commit(Group([((number, "x" * (number % 7 * 500)), [(0, 1, 1)])], clock=1, until=until))
    print(disk.newest, flush=True)
"""


def test_what_was_being_written_as_a_process_was_killed_is_no_damage(disk: DataDirectory) -> None:
    acknowledged = 0
    for lines in (1, 29, 64):
        with subprocess.Popen([sys.executable, "-c", WRITING, str(disk.path.parent)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(lines):
                process.stdout.readline()
            process.kill()
            acknowledged = int((["0"] + [line for line in process.stdout if line.endswith("\n")])[-1]) or acknowledged + lines

        disk.open()

        assert disk.newest >= acknowledged
        assert disk.damage == Damage()
        assert {number for number, _ in facts(disk)} >= {disk.newest, disk.newest - 1} - {0}
        disk.close()

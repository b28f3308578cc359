"""Bits that turn over in the files of a data directory: no fact is ever taken for another, and whatever is lost is told."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import gsg.storage.disk.database
from gsg.errors import BadData
from gsg.storage.disk.data_directory import DataDirectory, Past
from gsg.storage.disk.journal import Group
from gsg.storage.disk.wal_check import BrokenLog
from gsg.storage.facts_by_key import Mark
from gsg.tuples.terms import Tuple

FLIPS = 700
FLIPS_OF_LOG = 200
"""With those of test_framing.py 10,000."""
PAST = Past(b"p" * 20, 3, 7400, 5)


@pytest.fixture(autouse=True)
def disks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody waits for a real disk, and what is told is looked for elsewhere."""
    monkeypatch.setattr(gsg.storage.disk.database, "SYNCHRONOUS", "OFF")
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where it is quick to make very many files."""
    ram = Path("/dev/shm")
    if not os.access(ram, os.W_OK):
        yield tmp_path / "data"
        return
    with tempfile.TemporaryDirectory(dir=ram) as made:
        yield Path(made) / "data"


class Written:
    """A directory with facts, some changed again, and groups that were cleaned away."""

    def __init__(self, folder: Path, *, killed: bool) -> None:
        self.folder = folder
        self.ever: set[tuple[Tuple, tuple[Mark, ...]]] = set()
        """Facts with their marks, as they were written at any time."""
        self.last: dict[Tuple, tuple[Mark, ...]] = {}
        rng = Random(5)
        disk = DataDirectory(folder)
        disk.open()
        disk.begin_life(PAST)
        for number in range(24):
            rows: dict[Tuple, list[Mark]] = {}
            for _ in range(rng.choice((1, 2, 6, 20))):
                fact = f"thing{rng.randrange(30)}", "says", f"the quick brown fox {rng.randrange(9)}"
                rows[fact] = [(0, rng.choice((1, 1, -1)), 1_000 + number)]
            again = {fact: list(marks) for fact, marks in self.last.items() if fact not in rows} if number == 9 else {}
            rows |= again
            disk.commit(Group(list(rows.items()), clock=2_000 + number, until=number - 2 if again else 0))
            self.last |= {fact: tuple(marks) for fact, marks in rows.items()}
            self.ever |= {(fact, tuple(marks)) for fact, marks in rows.items()}
        if killed:
            self.files = {path.name: path.read_bytes() for path in folder.iterdir()}
        disk.close()
        if not killed:
            self.files = {path.name: path.read_bytes() for path in folder.iterdir()}

    def read(self, name: str, *bits: int) -> tuple[Past, dict[Tuple, tuple[Mark, ...]], DataDirectory]:
        """What is read where these bits of a file have turned over."""
        shutil.rmtree(self.folder)
        self.folder.mkdir(mode=0o700)
        for each, data in self.files.items():
            damaged = bytearray(data)
            for bit in bits if each == name else ():
                damaged[bit // 8] ^= 1 << bit % 8
            (self.folder / each).write_bytes(damaged)
        disk = DataDirectory(self.folder)
        try:
            past = disk.open()
            return past, {fact: tuple(marks) for some in disk.all_rows() for fact, marks in some}, disk
        finally:
            disk.close()

    def bits(self, name: str) -> int:
        return 8 * len(self.files[name])


def judge(written: Written, name: str, flips: int, rng: Random, bits: int = 1) -> Counter[str]:
    """Turn bits over, time and again, and say what came of it."""
    came = Counter[str]()
    for _ in range(flips):
        chosen = rng.sample(range(written.bits(name)), bits)
        try:
            past, found, disk = written.read(name, *chosen)
        except BadData as error:
            came["refused" if "peer.sqlite3 " in str(error) else "refused without its name"] += 1
            continue
        assert set(found.items()) <= written.ever, f"another fact, by bits {chosen}"
        damage = disk.damage
        is_told = damage.is_in_file or damage.log_frames or damage.mark
        if found == written.last and (past.peer, past.life, past.port) == (PAST.peer, PAST.life, PAST.port):
            came["kept"] += 1
        else:
            assert is_told, f"without a word, by bits {chosen}"
            came["told"] += 1
    return came


def test_no_bit_of_the_database_makes_another_fact_without_a_word(folder: Path) -> None:
    written = Written(folder, killed=False)
    assert written.read("peer.sqlite3")[1] == written.last

    came = judge(written, "peer.sqlite3", FLIPS, Random(11))

    # Mostly nothing is lost at all.
    assert came["kept"] > 0.95 * FLIPS
    assert came.keys() <= {"kept", "told", "refused"}


def test_no_bit_of_the_log_takes_later_changes_along_without_a_word(folder: Path) -> None:
    written = Written(folder, killed=True)
    assert written.read("peer.sqlite3")[1] == written.last

    came = judge(written, "peer.sqlite3-wal", FLIPS_OF_LOG, Random(12))

    assert came["kept"] > 0.8 * FLIPS_OF_LOG


class Killed(BaseException):
    """The process ends here."""


def is_made_up_for_by_the_next_start(written: Written, bit: int) -> bool:
    disk = DataDirectory(written.folder)
    disk.open()
    found = {fact: tuple(marks) for some in disk.all_rows() for fact, marks in some}
    disk.close()
    return found == written.read("peer.sqlite3-wal", bit)[1]


def test_a_start_that_is_killed_as_it_mends_the_log_loses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = Written(folder, killed=True)
    bit, real = written.bits("peer.sqlite3-wal") // 2, Path.replace

    def replace(path: Path, target: Path) -> Path:
        if target.name == "peer.sqlite3-wal":
            raise Killed
        return real(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace)
        with pytest.raises(Killed):
            written.read("peer.sqlite3-wal", bit)

    assert is_made_up_for_by_the_next_start(written, bit)


def test_a_log_that_cannot_be_mended_for_want_of_room_is_mended_by_the_next_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Written(folder, killed=True)
    bit = written.bits("peer.sqlite3-wal") // 2

    def is_full(broken: BrokenLog, source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes()[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("gsg.storage.disk.data_directory.write_mended", is_full)
        with pytest.raises(BadData, match="no space left"):
            written.read("peer.sqlite3-wal", bit)

    assert is_made_up_for_by_the_next_start(written, bit)


@pytest.mark.parametrize(("name", "killed"), [("peer.sqlite3", False), ("peer.sqlite3-wal", True)])
def test_many_wrong_bits_are_told(name: str, killed: bool, folder: Path) -> None:
    written = Written(folder, killed=killed)

    came = judge(written, name, 60, Random(13), bits=40)

    assert came["told"] + came["refused"] > 30
    assert came.keys() <= {"kept", "told", "refused"}


def test_no_bit_of_what_was_acknowledged_makes_anything_of_it(folder: Path) -> None:
    written = Written(folder, killed=False)

    for bit in range(written.bits("acknowledged")):
        _, found, disk = written.read("acknowledged", bit)
        assert found == written.last
        assert disk.damage.mark
        assert not disk.damage.is_in_file


@pytest.mark.parametrize("end", ["zeroed", "swapped", "an earlier one", "doubled"])
def test_a_page_that_is_not_what_was_written_is_told(end: str, folder: Path) -> None:
    written = Written(folder, killed=False)
    page = 4096
    whole = written.files["peer.sqlite3"]
    pages = [whole[begin : begin + page] for begin in range(0, len(whole), page)]
    with_rows = [number for number, each in enumerate(pages) if number > 1 and b"thing" in each]
    first, last = with_rows[0], with_rows[-1]
    assert first != last
    match end:
        case "zeroed":
            pages[last] = bytes(page)
        case "swapped":
            pages[first], pages[last] = pages[last], pages[first]
        case "an earlier one":
            pages[last] = pages[last][:3] + (1).to_bytes(2, "big") + pages[last][5:]
        case "doubled":
            pages[last] = pages[first]
    written.files["peer.sqlite3"] = b"".join(pages)

    _, found, disk = written.read("peer.sqlite3")

    assert disk.damage.records
    assert set(found.items()) <= written.ever
    assert (folder / "peer.sqlite3.damaged").read_bytes() == written.files["peer.sqlite3"]
    # All is well from then on.
    again = DataDirectory(folder)
    again.open()
    assert not again.damage.is_in_file
    assert {fact: tuple(marks) for some in again.all_rows() for fact, marks in some} == found
    again.close()

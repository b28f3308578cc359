"""A spool: positions, what is folded, what is bounded, and what is told of folders that are no spool of this stream."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from simulations.errors import BadSpool
from simulations.streams import spool as spools
from simulations.streams.columns import ColumnMaker
from simulations.streams.disk import Disk
from simulations.streams.row_schema import segment_schema
from simulations.streams.segments import read_segment, rows_between
from simulations.streams.spool import BLOCK_BYTES, Spool

COLUMNS = [("x", "string")]
SCHEMA = segment_schema(COLUMNS)
ABOUT = {"query": "(?x)", "columns": [["x", "string"]]}
AT = datetime(2026, 11, 29, tzinfo=UTC)


def rows(*signed: str) -> list[pa.RecordBatch]:
    """Rows such as +a and -a, as one batch."""
    maker = ColumnMaker(COLUMNS, "plain", SCHEMA)
    maker.set_variables(("x",))
    return [maker.make_batch([{"+": 1, "-": -1, "!": 0}[one[0]] for one in signed], [(one[1:],) for one in signed], AT)]


@contextmanager
def opened(folder: Path, **options: Any) -> Iterator[Spool]:  # Any: those of Spool
    spool = Spool(folder, ABOUT, SCHEMA, **options)
    spool.open()
    try:
        yield spool
    finally:
        spool.close()


def texts(spool: Spool, start: int, end: int) -> list[tuple[int, str]]:
    found = rows_between(spool.folder, spool.segments_between(start, end), start, end)
    return [(first + at, x) for first, batch in found for at, x in enumerate(batch.column(0).to_pylist())]


def held(spool: Spool) -> dict[str, int]:
    return {row["v0"]: row["count"] for row in spool.held_rows().to_pylist()}


def test_rows_have_positions_and_any_range_of_them_can_be_read(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        spool.append(rows("+a", "+b"))
        spool.append(rows("-a", "+c", "!d"))

        assert spool.end == 5
        assert texts(spool, 1, 4) == [(2, "b"), (3, "a"), (4, "c")]
        assert texts(spool, 5, 5) == []


def test_it_goes_on_where_the_last_process_was(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        number = spool.number
        spool.append(rows("+a", "+b"))

    with opened(tmp_path) as again:
        again.append(rows("-a", "!e"))

        assert (again.number, again.existed, again.end) == (number, True, 4)
        assert held(again) == {"b": 1}


def test_what_spark_is_done_with_is_folded_and_what_holds_stays_known(tmp_path: Path) -> None:
    with opened(tmp_path, fold_files=2) as spool:
        for signed in (["+a"], ["+a", "+b"], ["-b", "+c"]):
            spool.append(rows(*signed))
        spool.commit(1)
        before = spool.folded
        spool.commit(4)

        assert (before, spool.folded) == (0, 3)
        assert held(spool) == {"a": 2, "c": 1}
        assert texts(spool, 3, 5) == [(4, "b"), (5, "c")]
    assert len(list(tmp_path.glob("rows-*"))) == len(list(tmp_path.glob("held-*"))) == 1

    with opened(tmp_path) as again:
        assert (again.folded, again.end, held(again)) == (3, 5, {"a": 2, "c": 1})


def test_a_fold_takes_the_place_of_the_last_one(tmp_path: Path) -> None:
    with opened(tmp_path, fold_files=1) as spool:
        for signed in (["+a", "+b"], ["-b"], ["+c"]):
            spool.append(rows(*signed))
            spool.commit(spool.end)

        assert held(spool) == {"a": 1, "c": 1}
    assert [path.name.split("-")[1] for path in tmp_path.glob("held-*")] == [f"{4:020d}"]


def test_small_segments_wait_until_folding_is_worth_it(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        for _ in range(5):
            spool.append(rows("+a"))
            spool.commit(spool.end)

        assert spool.folded == 0


def test_there_is_room_until_so_many_bytes_are_unread_and_again_when_they_are_read(tmp_path: Path) -> None:
    looked = []
    with opened(tmp_path, limit_bytes=1) as spool:
        spool.on_room = partial(looked.append, "looked")
        had_room = spool.has_room()
        spool.append(rows("+a"))
        was_full = not spool.has_room()
        spool.mark_read(1)

        assert had_room
        assert was_full
        assert spool.has_room()
        assert looked == ["looked"]


def test_the_number_of_unread_segments_is_bounded_however_small_they_are(tmp_path: Path) -> None:
    with opened(tmp_path, limit_bytes=3 * BLOCK_BYTES) as spool:
        while spool.has_room():
            spool.append(rows("+a"))
        full = spool.end
    with opened(tmp_path, limit_bytes=3 * BLOCK_BYTES) as again:
        has_room_unread = again.has_room()
        again.mark_read(1)

        assert full == 3
        assert not has_room_unread
        assert again.has_room()


def test_what_a_killed_process_left_unfinished_goes(tmp_path: Path) -> None:
    with opened(tmp_path, fold_files=1) as spool:
        spool.append(rows("+a"))
        segment = next(tmp_path.glob("rows-*"))
        kept = segment.read_bytes()
        spool.commit(1)
    # As where it was killed between the new fold and the removal of what is in it.
    segment.write_bytes(kept)
    (tmp_path / "rows-0.arrow.open").write_bytes(b"half")

    with opened(tmp_path) as again:
        assert held(again) == {"a": 1}
    assert not segment.exists()
    assert not list(tmp_path.glob("*.open"))


class Watched(Disk):
    """Says what is done, by the kinds of names."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def write(self, path: Path, content: bytes) -> None:
        self._say("write", path)
        super().write(path, content)

    def sync(self, path: Path) -> None:
        self._say("sync", path)
        super().sync(path)

    def rename(self, path: Path, to: Path) -> None:
        self._say("rename", to)
        super().rename(path, to)

    def remove(self, path: Path) -> None:
        self._say("remove", path)
        super().remove(path)

    def _say(self, what: str, path: Path) -> None:
        kind = path.name.partition("-")[0] if "-" in path.name and not path.is_dir() else "folder"
        self.done.append(f"{what} {kind}" + (" .open" if path.suffix == ".open" else ""))


def test_a_file_counts_once_it_and_its_name_are_on_the_disk_and_what_is_folded_goes_last(tmp_path: Path) -> None:
    disk = Watched()
    with opened(tmp_path / "spool", fold_files=1, disk=disk) as spool:
        disk.done.clear()
        spool.append(rows("+a"))
        spool.commit(1)

    put = ["write {} .open", "sync {} .open", "rename {}", "sync folder"]
    assert disk.done == [*(one.format("rows") for one in put), *(one.format("held") for one in put), "remove rows"]


def test_a_folder_is_on_the_disk_with_those_above_it_before_anything_in_it_counts(tmp_path: Path) -> None:
    disk = Watched()
    with opened(tmp_path / "shared" / "spool", disk=disk):
        pass

    assert disk.done[:3] == ["sync folder", "sync folder", "write folder .open"]


class FullDisk(Disk):
    """Takes no file of rows."""

    def write(self, path: Path, content: bytes) -> None:
        if path.name.startswith("rows-"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        super().write(path, content)


def test_a_disk_that_is_full_is_told_with_the_next_step(tmp_path: Path) -> None:
    with (
        opened(tmp_path, disk=FullDisk()) as spool,
        pytest.raises(
            BadSpool, match=r"cannot be written: no space left on device; make room for it, .* and start the query again"
        ),
    ):
        spool.append(rows("+a"))


def test_rows_that_were_folded_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path, fold_files=1) as spool:
        spool.append(rows("+a", "+b"))
        spool.commit(2)

        with pytest.raises(BadSpool, match=r"rows 1 to 2 of the spool .* have been read and folded"):
            spool.segments_between(0, 2)


def test_a_checkpoint_that_is_further_than_the_spool_is_told(tmp_path: Path) -> None:
    with opened(tmp_path) as spool, pytest.raises(BadSpool, match=r"the checkpoint has come to row 9 and the spool .* to 0"):
        spool.segments_between(5, 9)


def test_the_spool_of_another_query_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path):
        pass

    with pytest.raises(BadSpool, match=re.escape("is of another stream: its query is '(?x)' and not '(?y)'")):
        Spool(tmp_path, ABOUT | {"query": "(?y)"}, SCHEMA).open()


def test_a_spool_that_is_refused_is_left_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spools, "LOCK_TIMEOUT_S", 0)
    with opened(tmp_path) as first:
        first.append(rows("+a"))
    refused = Spool(tmp_path, ABOUT | {"query": "(?y)"}, SCHEMA)
    with pytest.raises(BadSpool, match="is of another stream"):
        refused.open()

    with opened(tmp_path) as again:
        assert again.end == 1


def test_no_rows_are_no_segment(tmp_path: Path) -> None:
    with opened(tmp_path, fold_files=1) as spool:
        spool.append(rows("+a"))
        spool.commit(1)
        spool.append([])
        spool.commit(1)

        assert held(spool) == {"a": 1}


def test_a_spool_that_somebody_has_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spools, "LOCK_TIMEOUT_S", 0)
    with opened(tmp_path), pytest.raises(BadSpool, match="is in use by another query, or twice by this one"):
        Spool(tmp_path, ABOUT, SCHEMA).open()


def test_a_damaged_segment_is_told_by_its_checksum(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        spool.append(rows("+a"))
        [segment] = spool.segments_between(0, 1)
        path = tmp_path / segment.name
        path.write_bytes(path.read_bytes().replace(b"a", b"b", 1))

        with pytest.raises(BadSpool, match=r"rows-.* is damaged: its checksum is"):
            read_segment(tmp_path, segment)


def test_rows_without_a_description_are_those_of_nobody(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        spool.append(rows("+a"))
    (tmp_path / "spool.json").unlink()

    with pytest.raises(BadSpool, match=r"has rows-\S+ and no spool.json, which says of what stream it is: restore it"):
        Spool(tmp_path, ABOUT, SCHEMA).open()


def test_a_lost_fold_is_told_and_files_of_others_are_let_be(tmp_path: Path) -> None:
    with opened(tmp_path, fold_files=1) as spool:
        spool.append(rows("+a"))
        spool.commit(spool.end)
        (tmp_path / "held-by-me").touch()

    with opened(tmp_path) as again:
        next(tmp_path.glob("held-0*")).unlink()
        with pytest.raises(BadSpool, match=r"held-\S+ cannot be read \(No such file or directory\)"):
            held(again)
    assert (tmp_path / "held-by-me").exists()


def test_a_damaged_fold_is_told(tmp_path: Path) -> None:
    with opened(tmp_path, fold_files=1) as spool:
        spool.append(rows("+a"))
        spool.commit(1)
    next(tmp_path.glob("held-*")).write_bytes(b"")

    with opened(tmp_path) as again, pytest.raises(BadSpool, match="is damaged; expected it as it was written"):
        again.held_rows()


def test_a_segment_that_is_missing_is_told(tmp_path: Path) -> None:
    with opened(tmp_path) as spool:
        for one in ("+a", "+b", "+c"):
            spool.append(rows(one))
    sorted(tmp_path.glob("rows-*"))[1].unlink()

    with pytest.raises(BadSpool, match="has no rows 2 to 2"):
        Spool(tmp_path, ABOUT, SCHEMA).open()


@pytest.mark.parametrize("written", ["", "[]", json.dumps({"format": 1})], ids=["nothing", "a list", "no number"])
def test_a_damaged_description_is_told(tmp_path: Path, written: str) -> None:
    (tmp_path / "spool.json").write_text(written)

    with pytest.raises(BadSpool, match=r"spool.json is damaged"):
        Spool(tmp_path, ABOUT, SCHEMA).open()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(BadSpool, match=r"file/spool cannot be used: not a directory"):
        Spool(tmp_path / "file" / "spool", ABOUT, SCHEMA).open()

"""The file with the keys of events: what was written is read, whatever its end, and it is bounded."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

import gsg.storage.disk.event_keys_file as file_module
from gsg.storage.disk.event_keys_file import EventKeysFile
from gsg.storage.event_keys import RECORD_BYTES, EventsHash, KeyRecord, record_of

RECORDS = [record_of("", f"key {number}", EventsHash([(number,)]), None, number) for number in range(5)]
PACKED = [record.pack() for record in RECORDS]


@pytest.fixture
def file(tmp_path: Path) -> EventKeysFile:
    return EventKeysFile(tmp_path / "event_keys")


def read_anew(file: EventKeysFile) -> list[KeyRecord]:
    return EventKeysFile(file.path).read()


def test_there_is_no_file_before_there_is_a_key(file: EventKeysFile) -> None:
    assert file.read() == []
    assert not file.path.exists()


def test_what_was_written_is_read_in_its_order(file: EventKeysFile) -> None:
    file.append(PACKED[:2])
    file.append(PACKED[2:])

    assert read_anew(file) == RECORDS


def test_only_its_owner_reads_it(file: EventKeysFile) -> None:
    file.append(PACKED)
    appended = stat.S_IMODE(file.path.stat().st_mode)
    file.write_anew(PACKED)

    assert (appended, stat.S_IMODE(file.path.stat().st_mode)) == (0o600, 0o600)


@pytest.mark.parametrize("left", range(1, RECORD_BYTES))
def test_half_a_record_at_the_end_is_cut_off_and_those_that_follow_are_read(file: EventKeysFile, left: int) -> None:
    file.append([*PACKED[:2], PACKED[2][:left]])

    assert read_anew(file) == RECORDS[:2]
    file.append(PACKED[3:])
    assert read_anew(file) == [*RECORDS[:2], *RECORDS[3:]]


def test_a_damaged_record_is_left_out_and_said(file: EventKeysFile, caplog: pytest.LogCaptureFixture) -> None:
    file.append(PACKED)
    data = bytearray(file.path.read_bytes())
    data[2 * RECORD_BYTES] ^= 1
    file.path.write_bytes(data)

    assert read_anew(file) == [*RECORDS[:2], *RECORDS[3:]]
    assert "1 of 5 records in" in caplog.text
    assert read_anew(file) == [*RECORDS[:2], *RECORDS[3:]]
    assert len(caplog.records) == 1


def test_it_says_when_it_is_to_be_written_anew(file: EventKeysFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_module, "REWRITE", 4)

    assert [file.append(PACKED[:3]), file.append(PACKED[3:4])] == [False, True]
    file.write_anew(PACKED[3:4])
    assert file.append(PACKED[4:]) is False
    assert read_anew(file) == RECORDS[3:]


def test_what_fails_while_it_is_written_leaves_nothing(file: EventKeysFile, monkeypatch: pytest.MonkeyPatch) -> None:
    file.append(PACKED[:2])

    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="No space left"):
            file.append(PACKED[2:4])

    file.append(PACKED[4:])
    assert read_anew(file) == [*RECORDS[:2], RECORDS[4]]


def failing(*_: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_nothing_is_written_behind_what_could_not_be_cut_off(file: EventKeysFile, monkeypatch: pytest.MonkeyPatch) -> None:
    file.append(PACKED[:2])
    with monkeypatch.context() as patched:
        patched.setattr(os, "ftruncate", failing)
        with patched.context() as writing:
            writing.setattr(os, "fsync", failing)
            with pytest.raises(OSError, match="Input/output error"):
                file.append([PACKED[2][:7]])

        with pytest.raises(
            OSError, match=f"what a write that failed has left behind byte {2 * RECORD_BYTES} cannot be cut off: input"
        ):
            file.append(PACKED[3:4])

    file.append(PACKED[4:])
    assert read_anew(file) == [*RECORDS[:2], RECORDS[4]]


def test_a_file_that_is_written_anew_has_nothing_to_cut_off(file: EventKeysFile, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "ftruncate", failing)
        patched.setattr(os, "fsync", failing)
        with pytest.raises(OSError, match="Input/output error"):
            file.append([PACKED[0][:7]])

    file.write_anew(PACKED[:3])
    file.append(PACKED[3:])

    assert read_anew(file) == RECORDS


def test_a_file_whose_name_was_not_synced_has_it_synced_by_the_next_write(
    file: EventKeysFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []

    def sync(folder: Path) -> None:
        synced.append(folder)
        if len(synced) == 1:
            failing()

    monkeypatch.setattr(file_module, "_sync_folder", sync)
    with pytest.raises(OSError, match="Input/output error"):
        file.append(PACKED[:1])
    for number in (1, 2):
        file.append([PACKED[number]])

    assert synced == [file.path.parent] * 2
    assert read_anew(file) == RECORDS[1:3]

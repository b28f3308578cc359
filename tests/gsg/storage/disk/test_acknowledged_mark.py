"""The number of the newest group that was acknowledged, in its file."""

from __future__ import annotations

from pathlib import Path

from gsg.storage.disk.acknowledged_mark import MAX_NUMBER, AcknowledgedMark


def test_what_was_written_last_is_read_also_when_nobody_closed_it(tmp_path: Path) -> None:
    mark = AcknowledgedMark(tmp_path / "acknowledged")
    assert mark.read() == 0

    for number in (1, 20, MAX_NUMBER, 7):
        mark.write(number)
        assert AcknowledgedMark(tmp_path / "acknowledged").read() == number

    mark.close()
    mark.write(8)
    mark.close()
    assert mark.read() == 8


def test_what_was_damaged_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "acknowledged"
    mark = AcknowledgedMark(path)
    mark.write(1234)
    mark.close()
    whole = path.read_bytes()

    for damaged in (b"", whole[:-1], whole + b"x", b"nonsense", whole.replace(b"4", b"5", 1)):
        path.write_bytes(damaged)
        assert mark.read() is None

"""Whether a file has changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gsg.doors.file_state import state_of


def _write(path: Path) -> None:
    path.write_text("another text")


def _write_as_long(path: Path) -> None:
    path.write_text("TEXT")
    os.utime(path, ns=(0, 1))


def _replace(path: Path) -> None:
    """By another file that has its times and its length."""
    before = path.stat()
    other = path.with_name("other")
    other.write_text("TEXT")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize("change", [_write, _write_as_long, _replace, Path.unlink])
def test_a_file_that_changes_has_another_state(tmp_path: Path, change: Callable[[Path], None]) -> None:
    path = tmp_path / "file"
    path.write_text("text")
    before = state_of(path)
    same = state_of(path)

    change(path)

    assert before is not None
    assert same == before
    assert state_of(path) != before


def test_what_cannot_be_looked_at_has_none(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("text")

    assert state_of(tmp_path / "none") is None
    assert state_of(path / "in a file") is None

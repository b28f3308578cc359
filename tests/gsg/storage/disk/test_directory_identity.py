"""A data directory that is removed, replaced or cut short under a peer is noticed before anything is acknowledged."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gsg.storage.disk.directory_identity import DirectoryIdentity


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "file").write_bytes(b"what was written")
    return folder


@pytest.fixture
def directory(folder: Path) -> DirectoryIdentity:
    directory = DirectoryIdentity([folder / "file", folder / "log"])
    directory.check()
    return directory


def replace_by_copy(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("copy"))
    folder.rename(folder.with_name("old"))
    folder.with_name("copy").rename(folder)


def replace_file_by_copy(folder: Path) -> None:
    shutil.copy(folder / "file", folder / "copy")
    (folder / "copy").replace(folder / "file")


def cut(folder: Path) -> None:
    (folder / "file").write_bytes(b"what")


@pytest.mark.parametrize(
    ("happens", "told"),
    [
        (shutil.rmtree, r"data/file was removed or renamed under this peer; put it back, or stop this peer"),
        (lambda folder: folder.rename(folder.with_name("other")), r"data/file was removed or renamed under this peer"),
        (lambda folder: (folder / "file").unlink(), r"data/file was removed or renamed under this peer"),
        (replace_by_copy, r"data/file was replaced by another under this peer; put it back"),
        (replace_file_by_copy, r"data/file was replaced by another under this peer"),
        (cut, r"data/file was cut from 16 bytes to 4 under this peer; stop it, start it again"),
    ],
    ids=["removed", "renamed", "a file removed", "a copy", "a copy of a file", "cut"],
)
def test_what_is_not_the_same_any_more_is_told(
    directory: DirectoryIdentity, folder: Path, happens: Callable[[Path], object], told: str
) -> None:
    happens(folder)

    for _ in range(2):
        with pytest.raises(OSError, match=told):
            directory.check()


def test_what_is_put_back_is_as_before(directory: DirectoryIdentity, folder: Path) -> None:
    folder.rename(folder.with_name("other"))
    with pytest.raises(OSError, match="removed or renamed"):
        directory.check()

    folder.with_name("other").rename(folder)

    directory.check()


def test_a_file_that_comes_later_is_watched_from_then_on(directory: DirectoryIdentity, folder: Path) -> None:
    (folder / "log").write_bytes(b"x")
    directory.check()
    with (folder / "log").open("ab") as file:
        file.write(b"more")
    directory.check()

    (folder / "log").unlink()

    with pytest.raises(OSError, match=r"data/log was removed"):
        directory.check()

"""Whether a file has changed since it was last looked at, without reading it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class FileState(NamedTuple):
    """A file as it was at some time; it may have changed where another state is found later."""

    modified_ns: int
    inode: int
    """Another file that is put in the place of one has another, whatever its times."""
    size_bytes: int


def state_of(path: Path) -> FileState | None:
    """The state of a file now; None where it cannot be looked at, such as one that is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return FileState(found.st_mtime_ns, found.st_ino, found.st_size)

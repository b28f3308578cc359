"""Whether a data directory is still the one that was opened: what is written to files that were removed, nobody finds again.

A system lets a program go on with a file that has no name any more, or whose name is another file's by now, and reports no error.
So the identity of the folder and of the files in it is compared before anything is acknowledged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from .errors import reason


class Directory:
    """A folder, and files in it that are opened as long as this lives; each is watched from when it is first seen."""

    def __init__(self, folder: Path, files: Iterable[Path]) -> None:
        self._folder = folder
        self._files = tuple(files)
        self._known: dict[Path, tuple[int, int]] = {}
        """Device and number of each. Bounded by the files."""
        self._size_bytes: dict[Path, int] = {}

    def check(self) -> None:
        """Raise OSError where something is not what it was. None of these files ever gets shorter while it is open."""
        for path in (self._folder, *self._files):
            try:
                found = os.stat(path)
            except FileNotFoundError:
                if path in self._known:
                    raise OSError(f"{path} was removed or renamed under this peer; {_ADVICE}") from None
                continue
            except OSError as error:
                raise OSError(f"{path} is out of reach: {reason(error)}; {_ADVICE}") from None
            now = found.st_dev, found.st_ino
            if self._known.setdefault(path, now) != now:
                raise OSError(f"{path} was replaced by another under this peer; {_ADVICE}")
            if path is self._folder:
                continue
            if found.st_size < self._size_bytes.get(path, 0):
                raise OSError(
                    f"{path} was cut from {self._size_bytes[path]:,} bytes to {found.st_size:,} under this peer; stop it, "
                    "start it again, and others give it what is lost"
                )
            self._size_bytes[path] = found.st_size


_ADVICE = "put it back, or stop this peer, which starts again with what is there then"

"""Whether a data directory is still the one that was opened: what is written to files that were removed, nobody finds again.

A system lets a program go on with a file that has no name any more, or whose name is another file's by now, and reports no error.
So the identity of the files in it is compared before anything is acknowledged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ...errors import reason


@dataclass(slots=True)
class _Watched:
    path: str
    identity: tuple[int, int] | None = None
    """Its device and number, once it is there."""
    size_bytes: int = 0


class DirectoryIdentity:
    """Files of a folder that are open as long as this lives; each is watched from when it is first seen.

    By their paths, so that a folder that is renamed or replaced shows as well.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._watched = [_Watched(str(path)) for path in files]

    def check(self) -> None:
        """Raise OSError where something is not what it was. None of these files ever gets shorter while it is open."""
        for watched in self._watched:
            try:
                found = os.stat(watched.path)
            except FileNotFoundError:
                if watched.identity is not None:
                    raise OSError(f"{watched.path} was removed or renamed under this peer; {_ADVICE}") from None
                continue
            except OSError as error:
                raise OSError(f"{watched.path} is out of reach: {reason(error)}; {_ADVICE}") from None
            identity = found.st_dev, found.st_ino
            if watched.identity != identity:
                if watched.identity is not None:
                    raise OSError(f"{watched.path} was replaced by another under this peer; {_ADVICE}")
                watched.identity = identity
            if found.st_size < watched.size_bytes:
                raise OSError(
                    f"{watched.path} was cut from {watched.size_bytes:,} bytes to {found.st_size:,} under this peer; stop it, "
                    "start it again, and others give it what is lost"
                )
            watched.size_bytes = found.st_size


_ADVICE = "put it back, or stop this peer, which starts again with what is there then"

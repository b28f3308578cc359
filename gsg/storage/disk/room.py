"""How much a data directory takes, and how much is left for it. To ask may take long where a disk does not answer."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple


class Room(NamedTuple):
    """In bytes."""

    used: int = 0
    """The length of all files."""
    free: int = 0
    """What this user may still write."""


def room_of(folder: Path) -> Room:
    """That of a directory; nothing where it cannot be looked at."""
    try:
        with os.scandir(folder) as files:
            used = sum(file.stat(follow_symlinks=False).st_size for file in files if file.is_file(follow_symlinks=False))
        return Room(used, shutil.disk_usage(folder).free)
    except OSError:
        return Room()

"""What a spool does to a disk, step by step, so that a test can stop it between any two of them."""

from __future__ import annotations

import os
from pathlib import Path


class Disk:
    """A folder of this machine, or one that is mounted: what was synchronised is there after a crash."""

    def write(self, path: Path, content: bytes) -> None:
        """Write a file, which may not be on the disk yet."""
        path.write_bytes(content)

    def sync(self, path: Path) -> None:
        """Wait until a file, or the names in a folder, are on the disk."""
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)

    def rename(self, path: Path, to: Path) -> None:
        """Give a file its name, in the place of another one that has it."""
        path.replace(to)

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""
        path.unlink(missing_ok=True)

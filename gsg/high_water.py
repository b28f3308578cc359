"""The number of the newest group that was acknowledged, in a file of its own beside the database.

It is written when a group is on disk, and not synced: so it never says too much, and says all after any end of the process. Where
the power failed it may be some seconds behind. What the database lacks up to this number was acknowledged, and is lost: an end of
its log that cannot be read looks like one that was never written, and by this they are told apart.
"""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from .framing import SUM_BYTES

MAX_NUMBER = 2**63 - 1


class HighWater:
    """The file, in the thread of the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None

    def read(self) -> int | None:
        """The number; 0 where there is no file, None where it is damaged. Raises OSError."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return 0
        found = re.match(rb"(\d{19}) ", data)
        number = int(found[1]) if found else 0
        return number if data == _line(number) else None

    def write(self, number: int) -> None:
        """This group is on disk. Raises OSError."""
        if self._file is None:
            # For its owner alone, as all that is there.
            opened = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
            self._file = os.fdopen(opened, "r+b", buffering=0)
        self._file.seek(0)
        # In one call, and always as long: no end of the process can leave half of it.
        self._file.write(_line(number))

    def close(self) -> None:
        """Let the file go, with all on disk that was written to it."""
        file, self._file = self._file, None
        if file is not None:
            with file:
                os.fsync(file.fileno())


def _line(number: int) -> bytes:
    digits = b"%019d" % number
    return digits + b" " + blake2b(digits, digest_size=SUM_BYTES).hexdigest().encode() + b"\n"

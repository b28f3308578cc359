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

from .record_checksums import SUM_BYTES

MAX_NUMBER = 2**63 - 1


class AcknowledgedMark:
    """The file, in the thread of the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def read(self) -> int | None:
        """The number; 0 where there is no file, None where it is damaged. Raises OSError."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return 0
        found = re.match(rb"(\d{19}) ", data)
        number = int(found[1]) if found else 0
        return number if data == _line(number) else None

    def is_missing(self) -> bool:
        """Whether there is no file."""
        return not self.path.exists()

    def write(self, number: int) -> None:
        """This group is on disk. Raises OSError."""
        if self._descriptor is None:
            # For its owner alone, as all that is there.
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        # In one call, and always as long: no end of the process can leave half of it.
        os.write(self._descriptor, _line(number))

    def close(self) -> None:
        """Let the file go, with all on disk that was written to it."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def __del__(self) -> None:
        """Whoever forgets it, as where a start is cancelled, lets it go like the database."""
        if self._descriptor is not None:
            os.close(self._descriptor)


def _line(number: int) -> bytes:
    digits = b"%019d" % number
    return digits + b" " + blake2b(digits, digest_size=SUM_BYTES).hexdigest().encode() + b"\n"

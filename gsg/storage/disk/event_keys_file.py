"""The file of a data directory that has the keys of events (gsg/storage/event_keys.py): records of one length, the newest last.

    DIR/event_keys    for each key that was acknowledged one record with its checksum

Records are appended and synced before their events are acknowledged. When there are REWRITE of them the file is written anew with
those that are known still, and what ends in half a record, or has a damaged one, is written anew as it is read. What a write that
failed has left is cut off before anything else is written. Everything here blocks, and several threads may call it.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ...errors import reason
from ..event_keys import KEYS, RECORD_BYTES, KeyRecord

log = logging.getLogger(__name__)

NAME = "event_keys"
REWRITE = 2 * KEYS
"""Records of the file, some 10 MB, after which it is written anew."""


class EventKeysFile:
    """The file, which is made when there is something to keep."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._count = 0
        self._is_named = False
        """Whether its name is on disk, as a folder that was synced says it."""
        self._cut_at: int | None = None
        """Where a write began that failed, until what it has left is cut off."""
        # Held while it is read or written: who waited for a write may have gone, and the next one begins.
        self._lock = threading.Lock()

    def read(self) -> list[KeyRecord]:
        """The records that are sound, in their order; what is damaged is left out, and logged. Raises OSError."""
        with self._lock:
            try:
                data = self.path.read_bytes()
            except FileNotFoundError:
                return []
            found = [KeyRecord.unpack(data[at : at + RECORD_BYTES]) for at in range(0, len(data), RECORD_BYTES)]
            sound = [record for record in found if record is not None]
            self._count = len(sound)
            # The last one may be half written, which nobody was told of.
            damaged = len(data) // RECORD_BYTES - len(sound)
            if damaged:
                log.error(
                    "%d of %d records in %s are damaged, and left out: events whose keys they had are told once more if they are "
                    "published again",
                    *(damaged, len(found), self.path),
                )
            if len(sound) * RECORD_BYTES != len(data):
                self._write_anew([record.pack() for record in sound])
            return sound

    def append(self, records: Sequence[bytes]) -> bool:
        """Add records, which are on disk on return; whether the file is to be written anew. Raises OSError, and none is there."""
        with self._lock:
            # For its owner alone, as all that is there.
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
            try:
                self._cut_off(descriptor)
                self._cut_at = os.fstat(descriptor).st_size
                if not self._cut_at:
                    self._is_named = False  # it may have been made just now
                try:
                    with os.fdopen(descriptor, "ab", closefd=False) as file:
                        file.write(b"".join(records))
                    os.fsync(descriptor)
                    if not self._is_named:
                        _sync_folder(self.path.parent)
                        self._is_named = True
                except OSError:
                    # What cannot be cut off now is before the next write, or that fails too.
                    with suppress(OSError):
                        self._cut_off(descriptor)
                    raise
                self._cut_at = None
            finally:
                os.close(descriptor)
            self._count += len(records)
            return self._count >= REWRITE

    def _cut_off(self, descriptor: int) -> None:
        """Cut off what a write that failed has left: half a record would shift those that follow."""
        if self._cut_at is None:
            return
        try:
            os.ftruncate(descriptor, self._cut_at)
        except OSError as error:
            raise OSError(
                None, f"what a write that failed has left behind byte {self._cut_at:,} cannot be cut off: {reason(error)}"
            ) from error
        self._cut_at = None

    def write_anew(self, records: Sequence[bytes]) -> None:
        """These records alone. Raises OSError, and the file has these or those that it had."""
        with self._lock:
            self._write_anew(records)

    def _write_anew(self, records: Sequence[bytes]) -> None:
        anew = self.path.with_name(f"{NAME}.anew")
        descriptor = os.open(anew, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(b"".join(records))
            file.flush()
            os.fsync(file.fileno())
        anew.replace(self.path)
        self._count, self._cut_at, self._is_named = len(records), None, False
        _sync_folder(self.path.parent)
        self._is_named = True


def _sync_folder(folder: Path) -> None:
    """The name of a file is on disk, on systems that sync folders."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

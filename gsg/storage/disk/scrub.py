"""A slow look through all groups on a disk, over and over: what has become damaged is found while memory has it still.

    for each SCRUB_BYTES of groups, in their order: checksums hold, numbers follow ──pause of SCRUB_S──> the next
                                                    one does not ──> told and counted, and all facts are written anew from memory
    the newest group was looked at ──pause of SCRUB_AGAIN_S──> from the oldest one again

So an idle disk of 1 GiB is read in 17 minutes, at 1 MiB a second, which takes some 3 ms of the disk's thread. It is read past the
cache of SQLite, and through that of the system: damage shows once the system reads from the disk again.
"""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass

from .database import GROUPS
from .record_checksums import is_sound_group

SCRUB_BYTES = 1024 * 1024
"""Groups that are read at once; more only where one of them is longer (MAX_RECORD_BYTES in :mod:`gsg.storage.disk.records`)."""
SCRUB_S = 1.0
SCRUB_AGAIN_S = 10.0


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at some groups came to."""

    last: int
    """The number of the last of them; 0 where there are no more."""
    damaged: int
    """Groups that are not what was written, or are missing."""


def look_at(connection: sqlite3.Connection, after: int, oldest: int, newest: int) -> Looked:
    """Look at some of the groups after this number, 0 for the first ones; ``oldest`` and ``newest`` are the numbers that there are
    to be. Raises sqlite3.Error, also where pages are damaged."""
    # Else pages that were read before would be looked at as they were then.
    connection.execute("PRAGMA shrink_memory")
    damaged = size_bytes = 0
    last = max(after, oldest - 1)
    with contextlib.closing(connection.execute(f"{GROUPS} WHERE number > ? ORDER BY number", (last,))) as groups:
        for group in groups:
            # One that is damaged may have any number: where it should be, one is missing.
            if is_sound_group(*group) and last < group[0] <= newest:
                damaged += group[0] - last - 1
                last = group[0]
            size_bytes += len(group[4]) if isinstance(group[4], bytes) else 0
            if size_bytes >= SCRUB_BYTES and last > after:
                return Looked(last, damaged)
    return Looked(0, damaged + newest - last)

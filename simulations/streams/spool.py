"""The spool: what a stream has received and Spark has not done with yet, in a folder, so that nothing is lost or told twice.

    spool.json                     which query's rows these are
    held-00000000000000004096-...  how often each row held at position 4,096, folded from the segments until there
    rows-00000000000000004096-...  the signed rows behind it, segment by segment

A file is written under a name that ends with .open, synchronised, renamed, and its folder synchronised; then its positions count.
So whatever moment a process is killed at, the folder has a fold and all segments behind it, and perhaps files that are no longer or
not yet part of it, which the next one removes. What the signs of all of that add up to is what was received.

The rule that keeps it simple: one process has a spool at a time, by a lock that dies with it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from ..errors import BadSpool
from .disk import Disk
from .held_rows import add_up, no_rows
from .segments import Segment, encode, read_segment, segment_named

LIMIT_BYTES = 1024**3
"""Bytes of segments that Spark has not read yet, where nobody says otherwise. At the limit the receiver takes no more; as much
again may wait for Spark to commit it."""
FOLD_BYTES = 16 * 1024**2
"""Segments that are done with are folded when they are as large as the last fold and this: each byte is then folded a few times at
most, however long the stream is, and what a folder has of them is bounded by its answer."""
FOLD_FILES = 256
"""Or when there are so many of them."""
BLOCK_BYTES = 4096
"""What a file takes of a disk at least: each segment counts for so much, so that the limit of bytes bounds their number too."""
LOCK_RETRY_S = 0.05
"""How often a lock that another process has is tried again, until LOCK_TIMEOUT_S have passed."""
LOCK_TIMEOUT_S = 15.0
"""How long to wait for the process that has the spool: that of a query which was stopped takes a moment to end."""

_HELD = re.compile(r"held-\d+-[0-9a-f]+\.arrow")
"""The file of a fold."""
NEXT_STEP = "restore it, or begin with a new checkpoint and another spool"
_FORMAT = 1
_OPEN = ".open"


class Spool:
    """A folder with a stream. ``about`` says whose rows they are; opening the spool of another stream raises BadSpool.

    One thread appends and one commits; whoever waits for rows or for room may be in any.
    """

    def __init__(
        self,
        folder: Path,
        about: Mapping[str, object],
        schema: pa.Schema,
        *,
        limit_bytes: int = LIMIT_BYTES,
        fold_files: int = FOLD_FILES,
        disk: Disk | None = None,
    ) -> None:
        self.folder = folder
        self.number = ""
        """Which spool it is: offsets name it, so that a checkpoint is not continued with another one."""
        self.existed = False
        """Whether it was there before it was opened."""
        self.on_room: Callable[[], object] = lambda: None
        """Called when there may be room again."""
        self._about = about
        self._schema = schema
        self._limit_bytes = limit_bytes
        self._fold_files = fold_files
        self._disk = Disk() if disk is None else disk
        self._changed = threading.Condition()
        """Held for what follows; told when there is more to read."""
        self._segments: list[Segment] = []
        """Bounded by bytes: ``limit_bytes`` that are unread, as many that are read, FOLD_BYTES or a fold that are committed."""
        self._folded = 0
        self._read = 0
        self._unread_bytes = 0
        """Of segments that hold a row behind ``_read``, each BLOCK_BYTES at least."""
        self._files_lock = threading.Lock()
        """Held while files are read or folded: none goes meanwhile."""
        self._held_name = ""
        self._held_bytes = 0
        self._locked: int | None = None

    def open(self) -> None:
        """Take the spool and find what is in it. Raises BadSpool, and leaves the spool to others then."""
        try:
            self._make_folder()
            self._lock()
            self._identify()
            self._recover()
        except BadSpool:
            self.close()
            raise
        except OSError as error:
            self.close()
            raise BadSpool(f"the spool {self.folder} cannot be used: {(error.strerror or str(error)).lower()}") from None

    def close(self) -> None:
        """Leave it to others. Closing twice is allowed."""
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None

    @property
    def folded(self) -> int:
        """The position until which rows are no longer there one by one."""
        return self._folded

    @property
    def end(self) -> int:
        """The position of the last row that is on the disk."""
        with self._changed:
            return self._end()

    def wait_beyond(self, position: int, timeout_s: float, or_else: Callable[[], bool]) -> int:
        """Wait for a row behind a position, or something else, so long at most; returns :attr:`end`."""
        with self._changed:
            self._changed.wait_for(lambda: self._end() > position or or_else(), timeout_s)
            return self._end()

    def wake_waiters(self) -> None:
        """Let whoever waits look whether something else is so."""
        with self._changed:
            self._changed.notify_all()

    def mark_read(self, position: int) -> None:
        """Spark has read the rows up to a position, which makes room; they go when it commits them."""
        with self._changed:
            if position > self._read:
                self._read = position
                self._unread_bytes = sum(_disk_bytes(one) for one in self._segments if one.end > position)
        self.on_room()

    def has_room(self) -> bool:
        """Whether more may be appended."""
        with self._changed:
            return self._unread_bytes < self._limit_bytes

    def segments_between(self, start: int, end: int) -> list[Segment]:
        """The segments that hold the rows behind ``start``, up to and with ``end``. Raises BadSpool where they are not there."""
        with self._changed:
            if start < self._folded:
                raise BadSpool(
                    f"rows {start + 1} to {self._folded} of the spool {self.folder} have been read and folded; expected to go on "
                    "behind them: give a new checkpoint a spool of its own"
                )
            if end > self._end():
                raise BadSpool(
                    f"the checkpoint has come to row {end} and the spool {self.folder} to {self._end()}; expected the spool of "
                    f"this checkpoint: {NEXT_STEP}"
                )
            return [one for one in self._segments if one.end > start and one.start < end]

    def append(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Put rows behind the others, as one segment; returns when they are on the disk. Raises BadSpool where they cannot be."""
        rows = sum(batch.num_rows for batch in batches)
        if not rows:  # a segment of none would have no position of its own
            return
        start = self.end
        written = encode(batches, self._schema)
        segment = Segment(start, start + rows, zlib.crc32(written), len(written))
        self._write_durably(segment.name, written)
        with self._changed:
            self._segments.append(segment)
            self._unread_bytes += _disk_bytes(segment)
            self._changed.notify_all()

    def commit(self, position: int) -> None:
        """Spark will not ask for rows up to a position again: segments before it are folded, when that is worth it."""
        self.mark_read(position)
        with self._changed:
            done = [one for one in self._segments if one.end <= position]
        if len(done) >= self._fold_files or sum(one.size_bytes for one in done) >= max(FOLD_BYTES, self._held_bytes):
            self._fold(done)

    def held_rows(self) -> pa.Table:
        """How often each row holds, by all that is in the spool."""
        with self._files_lock:
            with self._changed:
                segments = list(self._segments)
            return add_up(self._last_fold(), (read_segment(self.folder, one) for one in segments))

    def _end(self) -> int:
        return self._segments[-1].end if self._segments else self._folded

    def _fold(self, done: Sequence[Segment]) -> None:
        with self._files_lock:
            folded = add_up(self._last_fold(), (read_segment(self.folder, one) for one in done))
            written = encode(folded.to_batches(), folded.schema)
            name = f"held-{done[-1].end:020d}-{zlib.crc32(written):08x}.arrow"
            self._write_durably(name, written)
            with self._changed:
                self._segments = self._segments[len(done) :]
                self._folded = done[-1].end
            before, self._held_name, self._held_bytes = self._held_name, name, len(written)
            with self._writing():
                for old in [*([before] if before else []), *(one.name for one in done)]:
                    self._disk.remove(self.folder / old)

    def _last_fold(self) -> pa.Table:
        if not self._held_name:
            return no_rows(self._schema)
        path = self.folder / self._held_name
        try:
            written = path.read_bytes()
        except OSError as error:
            raise BadSpool(f"{path} cannot be read ({error.strerror}); expected it as it was written: {NEXT_STEP}") from None
        if zlib.crc32(written) != _checksum_of(self._held_name):
            raise BadSpool(f"{path} is damaged; expected it as it was written: {NEXT_STEP}")
        return pa.ipc.open_file(pa.BufferReader(written)).read_all()

    def _write_durably(self, name: str, content: bytes) -> None:
        unfinished = self.folder / (name + _OPEN)
        with self._writing():
            self._disk.write(unfinished, content)
            self._disk.sync(unfinished)
            self._disk.rename(unfinished, self.folder / name)
            self._disk.sync(self.folder)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise BadSpool(
                f"the spool {self.folder} cannot be written: {(error.strerror or str(error)).lower()}; make room for it, or mend "
                "its disk, and start the query again, which goes on where it was"
            ) from None

    # --- what is there when it is opened --------------------------------------------------------------------------------------

    def _make_folder(self) -> None:
        made = [one for one in (self.folder, *self.folder.parents) if not one.exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        for one in made:
            # A folder is on the disk when its name is: without that, all that is synchronised inside may go in a crash.
            self._disk.sync(one.parent)

    def _lock(self) -> None:
        self._locked = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        until = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            try:
                fcntl.flock(self._locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    self.close()
                    raise BadSpool(
                        f"the spool {self.folder} is in use by another query, or twice by this one; expected one for each stream"
                    ) from None
                # flock knows no time limit of its own, and who was killed a moment ago lets go when the system has cleared it away.
                time.sleep(LOCK_RETRY_S)

    def _identify(self) -> None:
        path = self.folder / "spool.json"
        self.existed = path.exists()
        if not self.existed:
            rows = next((name for name in sorted(os.listdir(self.folder)) if _HELD.fullmatch(name) or segment_named(name)), None)
            if rows is not None:
                raise BadSpool(
                    f"the spool {self.folder} has {rows} and no {path.name}, which says of what stream it is: {NEXT_STEP}"
                )
            said = {"format": _FORMAT, "number": secrets.token_hex(8), **self._about}
            self._write_durably(path.name, json.dumps(said, indent=1).encode())
        try:
            said = json.loads(path.read_bytes())
            self.number = str(said.pop("number"))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BadSpool(f"{path} is damaged; expected it as it was written: {NEXT_STEP}") from None
        for key, value in {"format": _FORMAT, **self._about}.items():
            if said.get(key) != value:
                raise BadSpool(
                    f"the spool {self.folder} is of another stream: its {key} is {said.get(key)!r:.300} and not {value!r:.300}; "
                    "expected the same as before: begin with a new checkpoint and another spool"
                )

    def _recover(self) -> None:
        names = {entry.name: entry.stat().st_size for entry in os.scandir(self.folder)}
        folds = sorted(name for name in names if _HELD.fullmatch(name))
        if folds:
            self._held_name = folds[-1]
            self._held_bytes, self._folded = names[folds[-1]], int(folds[-1].split("-")[1])
        found = sorted(one for name, size in names.items() if (one := segment_named(name, size)) is not None)
        self._segments = [one for one in found if one.start >= self._folded]
        self._unread_bytes = sum(map(_disk_bytes, self._segments))
        left = [one.name for one in found if one.start < self._folded]
        for name in [*folds[:-1], *left, *(name for name in names if name.endswith(_OPEN))]:
            self._disk.remove(self.folder / name)
        at = self._folded
        for one in self._segments:
            if one.start != at:
                raise BadSpool(f"the spool {self.folder} has no rows {at + 1} to {one.start}; expected all of them: {NEXT_STEP}")
            at = one.end


def _disk_bytes(segment: Segment) -> int:
    return max(BLOCK_BYTES, segment.size_bytes)


def _checksum_of(name: str) -> int:
    return int(name.removesuffix(".arrow").rpartition("-")[2], 16)

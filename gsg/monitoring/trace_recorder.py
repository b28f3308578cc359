"""Writes the rows of a trace to Parquet, beside a peer that goes on whatever the disk does.

    add ──> waiting rows ──a thread, by time or number──> row group of the open part ──by time or number──> closed, renamed

A part is whole once it is closed, so a peer that is killed loses what came in the last PART_S at most. Whatever cannot be written
is counted and told, and the numbers of its rows are missing in the trace. pyarrow is imported only when a peer is told to trace.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import LocalError, Unsupported, reason
from ..languages.files.locations import scheme_of
from .trace import OPEN, Record, What, condition_text, part_name, schema, text_of

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet

log = logging.getLogger(__name__)

GROUP_ROWS = 16_384
"""Rows of a row group at most; turning them into columns keeps Python for some milliseconds."""
GROUP_S = 2.0
"""How long a row waits before it is written, in however small a group."""
PART_ROWS = 1 << 20
PART_S = 30.0
"""A part is closed at so many rows or this age, whichever comes first."""
WAITING_ROWS = 8 * GROUP_ROWS
WAITING_BYTES = 64 * 1024 * 1024
"""Rows, and bytes of their terms, that wait for the disk at most. Beyond, rows are lost, which is counted and told."""
CLOSE_S = 10.0
"""How long stopping waits for a disk that does not answer."""
TELL_S = 60.0
"""How often losses are logged while they go on."""

Row: TypeAlias = tuple[Any, ...]  # Any: a value for each column that the rows of a run do not share, and the bytes of its texts


class Parts:
    """The part files of one run of a peer, written by whoever calls; ``now_s`` must not go back. ``columns`` makes their schema,
    the first two of which are the peer and when its run began; ``name`` is what is written, a noun that is also the verb.

    Raises Unsupported without pyarrow, LocalError for a folder that cannot be written to.
    """

    def __init__(
        self, folder: Path, peer: bytes, run_us: int, *, columns: Callable[[], pyarrow.Schema] = schema, name: str = "trace"
    ) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError as error:
            how = "pip install 'gsg-router[sim]', or in a clone: make .venv/.installed"
            raise Unsupported(f"a {name} needs pyarrow ({error}); install the extra: {how}") from None
        if (elsewhere := scheme_of(folder)) is not None:
            raise LocalError(f"cannot {name} to {elsewhere}: that is another file system; expected a folder of this machine")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise LocalError(f"cannot {name} to {folder}: {reason(error)}; expected a folder, or a place for one") from None
        if not os.access(folder, os.W_OK | os.X_OK):
            raise LocalError(f"cannot {name} to {folder}: permission denied; expected a folder that can be written to")
        self._arrow, self._parquet = pyarrow, parquet
        self._schema = columns()
        self.name = name
        self.folder = folder
        self._peer = peer
        self.run_us = run_us
        self._number = 0
        self._writer: parquet.ParquetWriter | None = None
        self._path = folder
        self._opened_s = 0.0
        self._rows = 0
        """Rows in the open part."""
        self.written = 0
        """Rows in parts that were closed."""
        self.lost = 0
        """Rows that were given here and are in no part."""

    def write(self, rows: Sequence[Row], now_s: float) -> str:
        """Write a row group; what went wrong, or nothing. A part that is large or old enough is closed."""
        problem = ""
        if rows:
            try:
                table = self._table(rows)
            except Exception as error:  # whatever it is, the peer goes on, and its next rows may be written
                self.lost += len(rows)
                return _said(error)
            problem = self._append(table, now_s)
        if self._writer is not None and (self._rows >= PART_ROWS or now_s - self._opened_s >= PART_S):
            problem = self.close()
        return problem

    def _append(self, table: pyarrow.Table, now_s: float) -> str:
        self._rows += len(table)
        try:
            if self._writer is None:
                self._open(now_s)
            assert self._writer is not None, "it was opened"
            self._writer.write_table(table)
        except Exception as error:  # as above
            # Closing would not raise, and leave a file that nobody can read. What comes next goes to another part.
            self._abandon()
            return _said(error)
        return ""

    def close(self) -> str:
        """Finish the part, if one is open; what went wrong, or nothing."""
        if self._writer is None:
            return ""
        try:
            self._writer.close()
            self._path.rename(self._path.with_name(self._path.name.removesuffix(OPEN)))
        except Exception as error:  # as above
            self._abandon()
            return _said(error)
        self.written += self._rows
        self._writer, self._rows = None, 0
        return ""

    def _abandon(self) -> None:
        """Give up the part with all that is in it; the disk may need the room."""
        writer, self._writer = self._writer, None
        self.lost += self._rows
        self._rows = 0
        with contextlib.suppress(Exception):
            if writer is not None:
                writer.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _open(self, now_s: float) -> None:
        self._number += 1
        self._path = self.folder / (part_name(self._peer, self.run_us, self._number) + OPEN)
        # For its owner alone, whatever the folder's mode: tuples for named readers are in it too.
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        self._writer = self._parquet.ParquetWriter(self._path, self._schema)
        self._opened_s = now_s

    def _table(self, rows: Sequence[Row]) -> pyarrow.Table:
        array, count = self._arrow.array, len(rows)
        *own, _ = zip(*rows, strict=True)
        columns = [[self._peer.hex()] * count, [self.run_us] * count, *own]
        arrays = [array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        return self._arrow.Table.from_arrays(arrays, schema=self._schema)


class RowWriter:
    """Takes rows from one peer's event loop and has a thread of its own write them, from :meth:`start` to :meth:`stop`.

    ``make_parts`` is told when the run began, in microseconds of the ``clock``.
    """

    def __init__(self, make_parts: Callable[[int], Parts], clock: Callable[[], float]) -> None:
        self._clock = clock
        self._make_parts = make_parts
        self._parts: Parts
        self._rows: list[Row] = []
        """Limits: WAITING_ROWS, WAITING_BYTES."""
        self._bytes = 0
        self._row = 0
        self._dropped = 0
        self._told = 0
        """Losses that were logged."""
        self._told_s = float("-inf")
        self._stopping = False
        self._wake = threading.Condition()
        """Guards what waits."""
        # Not waited for when Python ends: a disk that does not answer keeps nobody from leaving.
        self._thread = threading.Thread(target=self._write, name="gsg trace", daemon=True)

    def start(self) -> None:
        """Begin a run. Raises what making the parts raises."""
        now_us = self.now_us()
        self._parts = self._make_parts(now_us)
        self._thread.start()

    def now_us(self) -> int:
        """The peer's clock."""
        return int(self._clock() * 1_000_000)

    @property
    def lost(self) -> int:
        """Rows that are not in the trace and will not be."""
        return self._dropped + self._parts.lost

    @property
    def written(self) -> int:
        """Rows in parts that are whole."""
        return self._parts.written

    def put(self, columns: Row, size_bytes: int) -> None:
        """One row more: its columns but for the peer, the run and the row's number. A disk that is too slow loses it, counted."""
        with self._wake:
            if len(self._rows) >= WAITING_ROWS or self._bytes + size_bytes > WAITING_BYTES:
                self.drop()
                return
            self._row += 1
            self._bytes += size_bytes
            self._rows.append((self._row, *columns, size_bytes))
            if len(self._rows) == GROUP_ROWS:
                self._wake.notify()

    def drop(self) -> None:
        """Count a row that cannot be written."""
        # Only the peer's event loop comes here.
        self._row += 1
        self._dropped += 1

    def stop(self) -> None:
        """Write what waits and finish the part. Waits for the disk, for CLOSE_S at most, and logs what was lost.

        Without a start it does nothing.
        """
        if not self._thread.is_alive():
            return
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join(CLOSE_S)
        if self._thread.is_alive():
            said = "the %s in %s is not finished: its disk has not answered for %g s"
            log.warning(said, self._parts.name, self._parts.folder, CLOSE_S)
        else:
            self._tell("", float("inf"))

    def _write(self) -> None:
        while True:
            with self._wake:
                if len(self._rows) < GROUP_ROWS and not self._stopping:
                    self._wake.wait(GROUP_S)
                rows, self._rows = self._rows[:GROUP_ROWS], self._rows[GROUP_ROWS:]
                self._bytes -= sum(row[-1] for row in rows)
                done = self._stopping and not self._rows
            now_s = time.monotonic()
            problem = self._parts.write(rows, now_s)
            if done:
                problem = self._parts.close() or problem
            self._tell(problem, now_s)
            if done:
                return

    def _tell(self, problem: str, now_s: float) -> None:
        lost = self.lost
        if lost > self._told and now_s - self._told_s >= TELL_S:
            self._told, self._told_s = lost, now_s
            log.warning(
                "the %s in %s lacks %d rows so far: %s",
                self._parts.name,
                self._parts.folder,
                lost,
                problem or "its disk is too slow for what comes",
            )


class Recorder(RowWriter):
    """That of a trace, whose run begins and ends with a row of its own."""

    def start(self) -> None:
        """Begin a run. Raises what making the parts raises."""
        super().start()
        self.add(Record(self._parts.run_us, What.START))

    def add(self, record: Record) -> None:
        """One row more. Whatever is wrong with it, or with the disk, is counted and never raised."""
        try:
            terms = None if record.items is None else text_of(record.items)
            condition = None if record.condition is None else condition_text(*record.condition)
        except (UnicodeEncodeError, RecursionError):
            self.drop()
            return
        at_us, what, role, _, _, *rest = record
        self.put((at_us, what, role, terms, condition, *rest), len(terms or "") + len(condition or ""))

    def stop(self) -> None:
        """Write what waits and finish the part, as above."""
        if self._thread.is_alive():
            self.add(Record(self.now_us(), What.STOP))
            super().stop()


def _said(error: BaseException) -> str:
    return reason(error) if isinstance(error, OSError) else str(error).partition("\n")[0]

"""A reader with its receiver that is killed with SIGKILL at a step of the disk, and what Spark would do around it.

    python killed_reader.py URL FOLDER

Each line of standard input is a number: a process of its own is forked, reads what is available now, and is killed before its step
of that number, or in the middle of it where it is writing a file. The answer is how many steps it took, or "killed". As Spark does,
it writes down an offset before it reads up to it, and that a batch is done after its rows are in the sink.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

import pandas  # noqa: F401  # as pyarrow does: once, and not in each of the forked processes
from pyspark.sql.streaming.datasource import ReadMaxRows
from pyspark.sql.types import IntegerType, LongType, StringType, StructType

import gsg.http.client  # noqa: F401  # likewise
from simulations.streams import receiver
from simulations.streams.disk import Disk
from simulations.streams.spool import Spool
from simulations.streams.stream_reader import GsgStreamReader

SCHEMA = StructType().add("x", StringType()).add("y", LongType()).add("sign", IntegerType()).add("position", LongType())
QUERY = "(?x, ^on, ?y)"
BATCH_ROWS = 7
FOLD_FILES = 2
receiver.SEGMENT_ROWS = 8


class FatalDisk(Disk):
    """Kills its process at a step."""

    def __init__(self, last: int) -> None:
        self.steps = 0
        self._last = last

    def write(self, path: Path, content: bytes) -> None:
        if self.steps + 1 == self._last:
            path.write_bytes(content[: len(content) // 2])
        self.step()
        super().write(path, content)

    def sync(self, path: Path) -> None:
        self.step()
        super().sync(path)

    def rename(self, path: Path, to: Path) -> None:
        self.step()
        super().rename(path, to)

    def remove(self, path: Path) -> None:
        self.step()
        super().remove(path)

    def step(self) -> None:
        self.steps += 1
        if self.steps == self._last:
            os.kill(os.getpid(), signal.SIGKILL)


class Sink:
    """A sink that has each batch once, by its number, and Spark's log of offsets and of what is done."""

    def __init__(self, folder: Path, disk: FatalDisk) -> None:
        self._folder = folder
        self._disk = disk
        folder.mkdir(exist_ok=True)

    def read(self, name: str) -> dict[str, object] | None:
        path = self._folder / name
        return json.loads(path.read_text()) if path.exists() else None

    def write(self, name: str, content: object) -> None:
        self._disk.step()
        unfinished = self._folder / "unfinished"
        unfinished.write_text(json.dumps(content))
        unfinished.replace(self._folder / name)


def read_what_is_there(url: str, folder: Path, last: int) -> int:
    """Read until nothing more is available; returns how many steps it took."""
    disk = FatalDisk(last)
    sink = Sink(folder / "sink", disk)
    options = {"peers": url, "query": QUERY, "spool": str(folder / "spool")}
    reader = GsgStreamReader(options, SCHEMA, make_spool=partial(Spool, disk=disk, fold_files=FOLD_FILES))
    reader.prepareForTriggerAvailableNow()
    number, start = 0, reader.initialOffset() if sink.read("offset-0") is None else None
    if start is not None:
        sink.write("offset-0", start)
    while (done := sink.read(f"done-{number + 1}")) is not None:
        number += 1
        start = done
    start = sink.read(f"offset-{number}") if number == 0 else start
    while True:
        end = sink.read(f"offset-{number + 1}")
        if end is None:
            end = reader.latestOffset(start, ReadMaxRows(BATCH_ROWS))
            if end == start:
                break
            sink.write(f"offset-{number + 1}", end)
        rows = [row for part in reader.partitions(start, end) for batch in reader.read(part) for row in batch.to_pylist()]
        sink.write(f"rows-{number + 1}", rows)
        sink.write(f"done-{number + 1}", end)
        reader.commit(end)
        number, start = number + 1, end
    reader.stop()
    return disk.steps


def main() -> None:
    url, folder = sys.argv[1], Path(sys.argv[2])
    for line in sys.stdin:
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            # Whatever goes wrong in it must not go on with the loop of its parent.
            try:
                os.write(write_end, str(read_what_is_there(url, folder, int(line))).encode())
            finally:
                sys.stderr.flush()
                os._exit(0)
        os.close(write_end)
        os.waitpid(child, 0)
        print(os.read(read_end, 100).decode() or "killed", flush=True)
        os.close(read_end)


if __name__ == "__main__":
    main()

"""The files of a spool as executors read them: signed rows in Arrow's IPC format, named by their positions and a checksum.

    rows-00000000000000000000-00000000000000004096-5f3a0c11.arrow

holds the rows behind position 0, up to and with 4,096. Arrow's files have no checksum, so the name has the CRC-32 of all bytes.
Executors have neither gsg nor its dependencies: nothing here needs them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ..errors import BadSpool

_NAME = re.compile(r"rows-(\d{20})-(\d{20})-([0-9a-f]{8})\.arrow")


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A closed file with the rows behind position ``start``, up to and with ``end``."""

    start: int
    end: int
    checksum: int
    size_bytes: int = 0

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"rows-{self.start:020d}-{self.end:020d}-{self.checksum:08x}.arrow"


def segment_named(name: str, size_bytes: int = 0) -> Segment | None:
    """The segment whose file has this name; None for another file."""
    found = _NAME.fullmatch(name)
    return Segment(int(found[1]), int(found[2]), int(found[3], 16), size_bytes) if found else None


def encode(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> bytes:
    """Batches as a file of Arrow's."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def read_segment(folder: Path, segment: Segment) -> pa.Table:
    """The rows of a segment. Raises BadSpool where the file is not there, or is not what was written."""
    path = folder / segment.name
    try:
        written = path.read_bytes()
    except OSError as error:
        raise BadSpool(
            f"{path} cannot be read: {(error.strerror or str(error)).lower()}; expected the spool in a folder that all machines "
            "of the cluster see under this path"
        ) from None
    if zlib.crc32(written) != segment.checksum:
        raise BadSpool(f"{path} is damaged: its checksum is {zlib.crc32(written):08x}; restore it, or begin with another spool")
    return pa.ipc.open_file(pa.BufferReader(written)).read_all()


def rows_between(folder: Path, segments: Sequence[Segment], start: int, end: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows behind position ``start``, up to and with ``end``, as the position of the first and a batch. Raises BadSpool."""
    for segment in segments:
        at, stop = max(start, segment.start), min(end, segment.end)
        if at >= stop:
            continue
        for batch in read_segment(folder, segment).slice(at - segment.start, stop - at).to_batches():
            yield at + 1, batch
            at += batch.num_rows

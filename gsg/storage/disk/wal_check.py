"""SQLite's write-ahead log, looked at before SQLite relies on it (https://www.sqlite.org/fileformat2.html#walformat).

SQLite takes the log up to its first frame whose checksum does not hold, and says nothing of what follows: so one wrong bit takes
all later commits along. Each frame's checksum goes on from the one before it, so a frame can be told to be whole though one before
it is not. A commit is synced before anything is written after it. Hence:

    all frames are whole                                       nothing is wrong
    the last transaction has a bad frame                       it was being written as the power failed: as SQLite takes it
    a bad frame, and whole ones of a later transaction follow  it was acknowledged, and is damaged

A damaged log is written anew with checksums that hold. Then a bad frame does no more harm than a damaged page in the database,
where each record has a checksum of its own.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

HEADER = struct.Struct(">IIIIIIII")
"""Magic, version, page size, how often it was begun anew, two salts and two sums."""
FRAME = struct.Struct(">IIIIII")
"""The number of the page, the pages of the database after a commit or 0, two salts and two sums."""
MAGIC = 0x377F0682
"""The last bit says that sums are of big-endian words."""
VERSION = 3007000
_MASK = 0xFFFFFFFF

Sums: TypeAlias = tuple[int, int]


@dataclass(slots=True)
class Frame:
    """One frame, without its page."""

    at: int
    page: int
    pages: int
    """Of the database after the commit that ends with this frame; 0 where it ends none."""
    is_whole: bool


@dataclass(frozen=True, slots=True)
class BrokenLog:
    """What of a log is to be read."""

    damaged: int
    """Frames that are not whole, or 1 where that is the header alone."""
    first: int
    """The first of them, from 1; 0 for the header."""
    frames: list[Frame]
    """All that were acknowledged, in order. Limit: those of the log, which is folded into the database every 4,000 pages."""
    salts: tuple[int, int]
    page_bytes: int
    is_big: bool


def examine(path: Path, page_bytes: int) -> BrokenLog | None:
    """What is wrong with a log; None where nothing is that was acknowledged. Raises OSError."""
    try:
        with path.open("rb") as file:
            return _examine(file, page_bytes)
    except FileNotFoundError:
        return None


def _examine(file: BinaryIO, page_bytes: int) -> BrokenLog | None:
    header = file.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    magic, version, size, _, *rest = HEADER.unpack(header)
    is_big = magic == MAGIC | 1 if magic | 1 == MAGIC | 1 else sys.byteorder == "big"
    sums = _summed(header[:24], (0, 0), is_big)
    is_header_whole = sums == (rest[2], rest[3]) and magic | 1 == MAGIC | 1 and version == VERSION and size == page_bytes
    salts = (rest[0], rest[1]) if is_header_whole else _salts_of_first(file, page_bytes)
    frames = list(_frames(file, page_bytes, salts, (rest[2], rest[3]), is_big))
    acknowledged = _acknowledged(frames)
    damaged = [number for number, frame in enumerate(acknowledged, 1) if not frame.is_whole]
    if is_header_whole and not damaged:
        return None
    if not acknowledged:
        return None
    first = damaged[0] if is_header_whole else 0
    return BrokenLog(len(damaged) or 1, first, acknowledged, salts, page_bytes, is_big)


def _salts_of_first(file: BinaryIO, page_bytes: int) -> tuple[int, int]:
    """Where the header cannot be believed, the frames say what they belong to: most of the first three."""
    found = []
    for number in range(3):
        file.seek(HEADER.size + number * (FRAME.size + page_bytes))
        data = file.read(FRAME.size)
        if len(data) == FRAME.size:
            _, _, one, other, _, _ = FRAME.unpack(data)
            found.append((one, other))
    return max(found, key=found.count, default=(0, 0))


def _frames(file: BinaryIO, page_bytes: int, salts: tuple[int, int], sums: Sums, is_big: bool) -> Iterator[Frame]:
    """All frames up to the last one that is whole, each with whether it goes on from the sums that the one before it has."""
    waiting: list[Frame] = []
    at = HEADER.size
    while True:
        file.seek(at)
        data = file.read(FRAME.size + page_bytes)
        if len(data) < FRAME.size + page_bytes:
            return
        page, pages, one, other, *after = FRAME.unpack_from(data)
        # Those of a log before this one, which was folded into the database long ago, have other salts.
        is_whole = (one, other) == salts and _summed(data[FRAME.size :], _summed(data[:8], sums, is_big), is_big) == tuple(after)
        sums = (after[0], after[1])
        waiting.append(Frame(at, page, pages, is_whole))
        if is_whole:
            yield from waiting
            waiting.clear()
        at += len(data)


def _acknowledged(frames: list[Frame]) -> list[Frame]:
    """The frames of all transactions that are whole, or were synced as others were written after them."""
    last_whole = max((number for number, frame in enumerate(frames) if frame.is_whole), default=-1)
    until = begin = 0
    for number, frame in enumerate(frames):
        if frame.pages:
            if number < last_whole or all(each.is_whole for each in frames[begin : number + 1]):
                until = number + 1
            begin = number + 1
    return frames[:until]


def write_mended(broken: BrokenLog, source: Path, target: Path) -> None:
    """Write a log with what is to be read of a broken one. Raises OSError."""
    with (
        source.open("rb") as file,
        open(target, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as mended,
    ):
        head = HEADER.pack(MAGIC | broken.is_big, VERSION, broken.page_bytes, 0, *broken.salts, 0, 0)[:24]
        sums = _summed(head, (0, 0), broken.is_big)
        mended.write(head + struct.pack(">II", *sums))
        pages = 0
        for some, after in _transactions(broken.frames, pages):
            for frame in some:
                file.seek(frame.at + FRAME.size)
                page = file.read(broken.page_bytes)
                begin = struct.pack(">II", frame.page, after if frame is some[-1] else 0)
                sums = _summed(page, _summed(begin, sums, broken.is_big), broken.is_big)
                mended.write(begin + struct.pack(">IIII", *broken.salts, *sums) + page)
        mended.flush()
        os.fsync(mended.fileno())


def _transactions(frames: list[Frame], pages: int) -> Iterator[tuple[list[Frame], int]]:
    """What is committed together, with how many pages the database has afterwards. A bad frame may say nonsense of both: the
    database never shrinks, and a page that it would not have is left out."""
    some: list[Frame] = []
    for frame in frames:
        some.append(frame)
        if frame.pages:
            sure = max((each.page for each in some if each.is_whole), default=0)
            pages = frame.pages if frame.is_whole else max(pages, sure)
            kept = [each for each in some if each.is_whole or 0 < each.page <= pages]
            if kept:
                yield kept, pages
            some = []


def _summed(data: bytes, sums: Sums, is_big: bool) -> Sums:
    one, other = sums
    words = iter(struct.unpack(f"{'>' if is_big else '<'}{len(data) // 4}I", data))
    for word in words:
        one = (one + word + other) & _MASK
        other = (other + next(words) + one) & _MASK
    return one, other

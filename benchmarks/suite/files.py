"""A workload as a folder of plain files, written from a seed and read by whoever runs it.

    workload.json         what it is: version, seed, sizes, the end of each round with the digest of its rows, SHA-256 of files
    changes.jsonl         a change or an event a line, in order; the form that `gsg simulate replay` reads as well
    subscriptions.jsonl   a subscription a line, in order of the round before which it begins
    answers.jsonl         what is right for it; for some of them with the whole history

docs/suite.md says each field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
import numpy as np

from . import changes as happening
from . import users
from .campus import Campus, Size
from .changes import Changes
from .reference import Reference, Told, refer
from .users import Line, Subscriptions

NAME, VERSION = "standing-query-benchmark", 1
"""Whatever changes one byte of a workload makes another version."""
WORKLOAD, CHANGES, SUBSCRIPTIONS, ANSWERS = "workload.json", "changes.jsonl", "subscriptions.jsonl", "answers.jsonl"
_AT_ONCE = 100_000
"""Lines that are written together."""
_SIGNS = {1: "+", -1: "-", 0: "!"}
SIGN_OF = {"+": 1, "-": -1, "!": 0}

Progress = Callable[[str, int, int], None]
"""Told what is done, and how much of how much."""


class Change(NamedTuple):
    """A line of changes.jsonl: its sign, and the terms of N-Triples."""

    sign: int
    triple: tuple[str, str, str]


class _ChangeLine(msgspec.Struct, rename={"triple": "tuple"}):
    sign: str
    triple: tuple[str, str, str]


class Round(msgspec.Struct, frozen=True):
    """The end of a round."""

    ends: int
    """The position of its last change."""
    rows: int
    """Rows that all subscriptions hold then."""
    digest: str


class Difference(msgspec.Struct, frozen=True, array_like=True):
    """One entry of a history."""

    position: int
    sign: str
    row: tuple[str | None, ...]


class AnswerLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of answers.jsonl; digests in hexadecimal."""

    subscription: int
    rows: int
    events: int
    held: str
    by_round: str
    by_position: str
    history: tuple[Difference, ...] | None = None


class Described(msgspec.Struct, frozen=True):
    """The whole of workload.json."""

    benchmark: str
    version: int
    seed: int
    changes: int
    events: int
    subscriptions: int
    overlap: float
    narrowed: float
    told: int
    """Differences and events that subscribers are told of, where each change is told by itself."""
    queries: int
    """Different ones among the subscriptions."""
    users: int
    groups: int
    things: dict[str, int]
    rounds: list[Round]
    sha256: dict[str, str]


class BadFolder(Exception):
    """A folder holds no workload, or not the one that it says."""


def generate(
    folder: Path, size: Size, seed: int, *, sampled: int = 1_000, progress: Progress = lambda what, done, total: None
) -> Described:
    """Make a workload, with reference answers, and write it; of ``sampled`` subscriptions at most with the history.

    Raises BadParameter for a seed that is none, OSError where the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    campus = Campus(size, seed)
    changes = happening.generate(campus)
    subscriptions = users.generate(campus)
    reference = refer(
        campus, changes, subscriptions, sampled=sampled, progress=lambda done, total: progress("answers", done, total)
    )
    written = {
        CHANGES: _write(folder / CHANGES, _change_lines(campus, changes), len(changes), progress),
        SUBSCRIPTIONS: _write(
            folder / SUBSCRIPTIONS, map(msgspec.json.encode, users.lines(campus, subscriptions)), len(subscriptions), progress
        ),
        ANSWERS: _write(folder / ANSWERS, _answer_lines(campus, reference), len(subscriptions), progress),
    }
    described = _described(campus, changes, subscriptions, reference, written)
    (folder / WORKLOAD).write_bytes(msgspec.json.format(msgspec.json.encode(described), indent=2) + b"\n")
    return described


def _described(
    campus: Campus, changes: Changes, subscriptions: Subscriptions, reference: Reference, written: dict[str, str]
) -> Described:
    ends = zip(changes.ends.tolist(), reference.rows, reference.rounds, strict=True)
    queries = np.unique(np.column_stack((subscriptions.template, subscriptions.parameters)), axis=0)
    return Described(
        NAME,
        VERSION,
        campus.seed,
        changes=len(changes),
        events=int((changes.sign == 0).sum()),
        subscriptions=len(subscriptions),
        overlap=campus.size.overlap,
        narrowed=campus.size.narrowed,
        told=reference.told,
        queries=len(queries),
        users=len(np.unique(subscriptions.user)),
        groups=len(np.unique(subscriptions.group)),
        things=campus.counts,
        rounds=[Round(end, rows, _hex(digest)) for end, rows, digest in ends],
        sha256=written,
    )


def _write(path: Path, lines: Iterator[bytes], count: int, progress: Progress) -> str:
    """Write lines, each without its end; returns their SHA-256."""
    digest, done = sha256(), 0
    with path.open("wb") as file:
        while block := list(islice(lines, _AT_ONCE)):
            joined = b"\n".join(block) + b"\n"
            digest.update(joined)
            file.write(joined)
            done += len(block)
            progress(path.name, done, count)
    return digest.hexdigest()


def _change_lines(campus: Campus, changes: Changes) -> Iterator[bytes]:
    texts: dict[int, str] = {}

    def text(code: int) -> str:
        found = texts.get(code)
        if found is None:
            found = texts[code] = json.dumps(campus.text(code))
        return found

    for begin in range(0, len(changes), _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        columns = (changes.time_ms, changes.sign, changes.subject, changes.predicate, changes.object)
        for time_ms, sign, subject, predicate, object in zip(*(column[part].tolist() for column in columns), strict=True):
            time = f"{time_ms // 1000}.{time_ms % 1000:03}"
            triple = f"[{text(subject)},{text(predicate)},{text(object)}]"
            yield f'{{"time":{time},"sign":"{_SIGNS[sign]}","tuple":{triple}}}'.encode()


def _answer_lines(campus: Campus, reference: Reference) -> Iterator[bytes]:
    for number, answer in enumerate(reference.answers):
        known = reference.histories.get(number)
        history = None if known is None else tuple(_difference(campus, told) for told in known)
        yield msgspec.json.encode(
            AnswerLine(
                number, answer.rows, answer.events, _hex(answer.held), _hex(answer.by_round), _hex(answer.by_position), history
            )
        )


def _difference(campus: Campus, told: Told) -> Difference:
    row = tuple(None if code < 0 else campus.text(code) for code in told.row)
    return Difference(told.position, _SIGNS[told.sign], row)


def _hex(digest: int) -> str:
    return f"{digest:016x}"


class Workload:
    """A workload that was written before. Raises BadFolder where none is there, or another version."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.described = msgspec.json.decode((folder / WORKLOAD).read_bytes(), type=Described)
        except (OSError, msgspec.MsgspecError) as error:
            raise BadFolder(
                f"{folder} holds no workload: {error}; make one with python -m benchmarks.suite generate {folder}"
            ) from None
        if (self.described.benchmark, self.described.version) != (NAME, VERSION):
            raise BadFolder(
                f"{folder} holds version {self.described.version} of {self.described.benchmark}; expected {VERSION} of {NAME}"
            )

    def check(self) -> None:
        """Raises BadFolder where a file is not the one that was written."""
        for name, wanted in self.described.sha256.items():
            with (self.folder / name).open("rb") as file:
                digest = _digest_of(file)
            if digest != wanted:
                raise BadFolder(f"{self.folder / name} has SHA-256 {digest}; expected {wanted}; generate the workload again")

    def changes(self) -> Iterator[Change]:
        """All changes, in order."""
        decode = msgspec.json.Decoder(_ChangeLine).decode
        with (self.folder / CHANGES).open("rb") as file:
            for line in file:
                read = decode(line)
                yield Change(SIGN_OF[read.sign], read.triple)

    def subscriptions(self) -> Iterator[Line]:
        """All of them, in order."""
        decode = msgspec.json.Decoder(Line).decode
        with (self.folder / SUBSCRIPTIONS).open("rb") as file:
            yield from map(decode, file)

    def answers(self) -> Iterator[AnswerLine]:
        """What is right for each of them, in order."""
        decode = msgspec.json.Decoder(AnswerLine).decode
        with (self.folder / ANSWERS).open("rb") as file:
            yield from map(decode, file)


def _digest_of(file: BinaryIO) -> str:
    digest = sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()

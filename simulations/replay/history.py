"""A history: tuples that became true and stopped being true, each at its time, from files.

    .jsonl, .ndjson   an object with ``tuple`` (an array) or subject, predicate and object, and ``time`` and ``sign``; or the array
    .parquet          columns of those names; or what ``gsg peer --trace`` writes (gsg/monitoring/trace.py), of which what was
                      published counts
    .csv              columns of those names, named by its first line; a triple a line where that names none
    .nt, .tsv         a triple a line

Times are seconds, or dates and times in ISO 8601, which become seconds since 1970. What has no time has its line's number, counted
from 1; what has no sign is an insertion. Terms stand there as workload/files.py says. A line of none of these is counted and told,
and so are events, which are no facts.

A file is cut into pieces that can be read by themselves, on any machine that sees it (changes.py). The order of changes at one time
is that of lines, and of files by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import rete
from gsg.monitoring.trace import OPEN, What
from gsg.tuples.terms import Tuple

from ..engine.warnings_told import counted, files_ignored, malformed
from ..errors import BadWorkload
from ..workload.pieces import EXAMPLES, Malformed, Piece, failing
from ..workload.runs import Runs
from ..workload.sources import sources_of

PIECE_BYTES = 4 << 20
"""A plain file is cut at the first line's end before so many bytes; a longer line is refused."""
ORDER = 1 << 40
"""More lines than a file has: what orders changes is the file's number times this, and the line's number."""

TRACE = frozenset(("what", "role", "terms", "at_us"))
"""Columns by which the trace of a peer is known (gsg/monitoring/trace.py)."""
_RUN = ("peer", "run_us", "row")
TRACED = "trace"
"""The format of a piece of one."""


class Change(NamedTuple):
    """A fact that becomes true (sign 1) or stops being true (-1)."""

    order: int
    time: float
    sign: int
    fact: Tuple


class Seen(Malformed):
    """What there was in pieces that were read."""

    changes: int = 0
    events: int = 0
    failure: str = ""
    """Why a piece could not be read to its end."""

    def add(self, other: Seen) -> None:
        """What there was in another piece."""
        self.changes += other.changes
        self.events += other.events
        self.malformed += other.malformed
        self.examples = [*self.examples, *other.examples][:EXAMPLES]
        self.failure = self.failure or other.failure

    def said(self) -> list[str]:
        """What a user should know of it, a sentence each."""
        said = []
        if self.events:
            said.append(f"{counted(self.events, 'event')} left out: replay answers over facts, which stay")
        said += malformed(self.malformed, "line", self.examples)
        return said


@dataclass(frozen=True, slots=True)
class History:
    """The pieces of a file or folder, and the files of the folder that are none of ours."""

    pieces: tuple[Piece, ...]
    ignored: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    """What may be missing of the traces of peers, a sentence each."""

    def said(self) -> list[str]:
        """What a user should know of it, a sentence each."""
        return [*self.gaps, *files_ignored(self.ignored, "changes", EXAMPLES)]


class Sieve:
    """Which alpha memories a fact belongs to."""

    def __init__(self, alphas: Iterable[rete.AlphaSpec]) -> None:
        self._table: rete.TemplateTable[list[tuple[int, rete.AlphaSpec]]] = rete.TemplateTable()
        for number, alpha in enumerate(alphas):
            posted = self._table.get(alpha.template)
            if posted is None:
                self._table.post(alpha.template, [(number, alpha)])
            else:
                posted.append((number, alpha))

    def __call__(self, fact: Tuple) -> list[int]:
        """The numbers of the memories."""
        return [number for posted in self._table.matching(fact) for number, alpha in posted if alpha.admits(fact)]


def open_history(path: str | Path, *, piece_bytes: int = PIECE_BYTES) -> History:
    """A file, or all files of a folder whose names end as those of changes do. Raises BadWorkload where one cannot be read."""
    with failing(Path(path)):
        sources = sources_of(path, holding="changes")
    pieces: list[Piece] = []
    runs = Runs()
    for number, (file, format) in enumerate(sources.files):
        with failing(file):
            pieces += _pieces_of(file, format, number, piece_bytes)
            if format == "parquet":
                _count_runs(file, runs)
    whole = [name for name in sources.ignored if not name.endswith(OPEN)]
    return History(tuple(pieces), tuple(whole), tuple(runs.gaps(len(sources.ignored) - len(whole))))


def _count_runs(file: Path, runs: Runs) -> None:
    """Count the rows of a trace; another file has none."""
    from pyarrow import parquet

    with parquet.ParquetFile(file) as opened:
        metadata = opened.metadata
        places = {metadata.schema.column(place).path: place for place in range(metadata.num_columns)}
        if not TRACE.union(_RUN) <= places.keys():
            return
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            known = [group.column(places[name]).statistics for name in _RUN]
            # A part is of one run; a writer other than ours may leave the statistics out.
            if all(one is not None and one.has_min_max for one in known):
                peer, run_us, row = known
                run = peer.min, run_us.min
                runs.count_rows(run, row.max, group.num_rows)
                # A column of so few words is small, and no statistics say whether a certain one is among them.
                if What.STOP in opened.read_row_group(number, columns=["what"])["what"].unique().to_pylist():
                    runs.end_run(run)


def _pieces_of(file: Path, format: str, number: int, piece_bytes: int) -> Iterator[Piece]:
    path = str(file.absolute())
    if format == "parquet":
        from pyarrow import parquet

        metadata = parquet.read_metadata(file)
        format = TRACED if set(metadata.schema.to_arrow_schema().names) >= TRACE else format
        first = 1
        for group in range(metadata.num_row_groups):
            yield Piece(path, format, number, first, group)
            first += metadata.row_group(group).num_rows
        return
    with file.open("rb") as raw:
        if file.suffix == ".gz" or format == "csv":
            # Only from its beginning can it be read; a field of CSV may hold ends of lines.
            raw.read(1)
            yield Piece(path, format, number)
            return
        first = begin = 0
        while block := raw.read(piece_bytes):
            end = len(block) if len(block) < piece_bytes else block.rfind(b"\n") + 1
            if not end:
                raise BadWorkload(f"cannot read {file}: a line of more than {piece_bytes:,} bytes after line {first:,}")
            yield Piece(path, format, number, first + 1, begin, end)
            first += block.count(b"\n", 0, end)
            begin += end
            raw.seek(begin)

"""One replay from its request to its rows as text, on either engine, and what it leaves on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypedDict

from gsg.errors import GsgError
from gsg.languages import parse_query
from gsg.languages.query import Query
from gsg.tuples.terms import n3

from ..engine.places import writing
from ..engine.results import SUMMARY, prepare_folder, write_configuration
from ..engine.spark import shares_files
from ..engine.spark_progress import Progress, reported_progress, untold
from ..errors import BadParameter, BadWorkload
from .changes import read_piece
from .history import Change, History, Seen, open_history
from .in_memory import replay
from .intervals import FOREVER
from .relations import bound_names, check

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = "rows.parquet"
BATCH = 10_000
"""Rows that are written at once."""


class Line(NamedTuple):
    """A row as text, and when it came and went: None where it held from the beginning, or holds in the end."""

    came: float | None
    went: float | None
    terms: tuple[str, ...]


class Rows(Protocol):
    """The rows of an answer, in order of coming, going and text."""

    def count(self) -> tuple[int, int]:
        """How many there are, and how many of them hold in the end."""

    def lines(self, most: int | None = None) -> Iterator[Line]:
        """The first of them, or all."""

    def write(self, path: Path, variables: Sequence[str]) -> None:
        """Leave all of them as Parquet, in order: a file, or a folder of parts where several tasks write."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query has said of a history."""

    variables: tuple[str, ...]
    rows: Rows
    seen: Seen
    said: tuple[str, ...]
    """What the user should know of the query and of what was read."""


@dataclass(frozen=True, slots=True)
class Request:
    """A replay as it was asked for."""

    query: str
    events: str
    language: str = "gsg"


Replayed: TypeAlias = Callable[[Query, History], AbstractContextManager[tuple[Rows, Seen]]]
"""Whoever answers a query: rows can be had while its block lasts."""


@contextmanager
def answer(request: Request, replayed: Callable[[], Replayed], out: Path | None = None) -> Iterator[Answer]:
    """The answer, whose rows can be had inside the block, and be saved in the folder ``out``, which is made ready for them.

    What cannot be, a folder that cannot be written to as well, is refused before ``replayed`` starts anything.
    Raises SimulationError.
    """
    try:
        query = parse_query(request.query, request.language)
        check(query)
        variables = bound_names(query)
    except GsgError as error:
        raise BadParameter(str(error)) from None
    history = open_history(request.events)
    if out is not None:
        prepare_folder(out)
    with replayed()(query, history) as (rows, seen):
        if not seen.changes:
            raise BadWorkload("; ".join([f"{request.events} holds no changes of facts", *seen.said()]))
        yield Answer(variables, rows, seen, (*query.warnings, *history.said(), *seen.said()))


def in_this_process(progress: Progress = untold) -> Replayed:
    """Answers here and now, without Spark."""

    @contextmanager
    def replayed(query: Query, history: History) -> Iterator[tuple[Rows, Seen]]:
        seen = Seen()
        stays = replay(query, _changes_of(history, seen, progress))
        ordered = sorted((came, went, tuple(map(n3, row))) for row, came, went in stays)
        yield _Lines([Line(_known(came), _known(went), terms) for came, went, terms in ordered]), seen

    return replayed


def _changes_of(history: History, seen: Seen, progress: Progress) -> Iterator[Change]:
    for number, piece in enumerate(history.pieces, 1):
        for changes in read_piece(piece, seen):
            yield from changes
        if seen.failure:
            raise BadWorkload(seen.failure)
        progress(number, len(history.pieces))


def _known(moment: float) -> float | None:
    return None if abs(moment) == FOREVER else moment


@dataclass(frozen=True, slots=True)
class _Lines:
    """Rows that are in memory."""

    found: Sequence[Line]

    def count(self) -> tuple[int, int]:
        return len(self.found), sum(line.went is None for line in self.found)

    def lines(self, most: int | None = None) -> Iterator[Line]:
        return islice(self.found, most)

    def write(self, path: Path, variables: Sequence[str]) -> None:
        _write_lines(path, variables, self.lines())


def _write_lines(path: Path, variables: Sequence[str], lines: Iterator[Line]) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = [("came", pyarrow.float64()), ("went", pyarrow.float64())]
    schema = pyarrow.schema([*columns, *((f"?{name}", pyarrow.string()) for name in variables)])
    with parquet.ParquetWriter(path, schema) as writer:
        while batch := list(islice(lines, BATCH)):
            values = zip(*((came, went, *terms) for came, went, terms in batch), strict=True)
            arrays = [pyarrow.array(column, kind) for column, kind in zip(values, schema.types, strict=True)]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(arrays, schema=schema))


def on_spark(
    spark: SparkSession,
    *,
    partitions: int | None = None,
    progress: Progress = untold,
    title: Callable[[str], None] = lambda _: None,
) -> Replayed:
    """Answers in a session, in so many partitions, or as the session has it. Raises BadParameter for no partitions."""
    if partitions is not None and partitions < 1:
        raise BadParameter(f"{partitions} partitions; expected 1 or more")

    @contextmanager
    def replayed(query: Query, history: History) -> Iterator[tuple[Rows, Seen]]:
        from .on_spark import OnSpark, scan, stays_of, truth_of
        from .relations import alphas, relation_of

        memories = alphas(query)
        settings = {"spark.sql.caseSensitive": "true"}  # ?x and ?X are two variables
        if partitions is not None:
            settings["spark.sql.shuffle.partitions"] = str(partitions)
        with reported_progress(spark, None, progress), _set(spark, settings):
            scanned = scan(spark, history, memories, partitions=partitions)
            title("joining")
            counts = dict(zip(memories, scanned.counts, strict=True))
            facts = truth_of(scanned.changes).persist()
            relation = relation_of(query, OnSpark(spark, facts, memories), lambda alpha: counts.get(alpha, 0))
            stays = stays_of(relation, bound_names(query)).persist()
            try:
                yield Stays(stays), scanned.seen
            finally:
                for kept in (stays, facts, scanned.changes):
                    kept.unpersist()

    return replayed


@contextmanager
def _set(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, known in before.items():
            if known is not None:
                spark.conf.set(name, known)


@dataclass(frozen=True, slots=True)
class Stays:
    """Rows that Spark has."""

    frame: DataFrame

    def count(self) -> tuple[int, int]:
        from pyspark.sql import functions

        found = self.frame.agg(functions.count(functions.lit(1)), functions.count("went")).collect()[0]
        return found[0], found[0] - found[1]

    def _ordered(self) -> DataFrame:
        from pyspark.sql import functions

        came, went = functions.col("came").asc_nulls_first(), functions.col("went").asc_nulls_last()
        return self.frame.orderBy(came, went, *(f"`{name}`" for name in self.frame.columns[:-2]))

    def lines(self, most: int | None = None) -> Iterator[Line]:
        # A limited frame is one small part; all of it comes part by part.
        for row in self._ordered().toLocalIterator() if most is None else self._ordered().limit(most).collect():
            yield Line(row[-2], row[-1], tuple(row[:-2]))

    def write(self, path: Path, variables: Sequence[str]) -> None:
        if not shares_files(self.frame.sparkSession):
            # Tasks may be on machines from which there is no way to this folder.
            _write_lines(path, variables, self.lines())
            return
        names = ["came", "went", *(f"`?{name}`" for name in variables)]
        self._ordered().select(*names).write.parquet(f"file:{path.absolute()}")


class Numbers(TypedDict):
    """An answer in numbers."""

    variables: list[str]
    changes: int
    rows: int
    holding: int
    """Rows that hold in the end."""
    events_left_out: int
    malformed: int
    malformed_examples: list[str]


def summary(found: Answer) -> Numbers:
    """The numbers of an answer."""
    rows, holding = found.rows.count()
    return {
        "variables": list(found.variables),
        "changes": found.seen.changes,
        "rows": rows,
        "holding": holding,
        "events_left_out": found.seen.events,
        "malformed": found.seen.malformed,
        "malformed_examples": found.seen.examples,
    }


def save(folder: Path, request: Request, found: Answer, numbers: Numbers) -> None:
    """Write the rows (Parquet), their numbers (JSON) and what was asked for (JSON) into a folder. Raises BadParameter."""
    with writing(f"to {folder}"):
        write_configuration(folder, asdict(request), [ROWS, SUMMARY])
        found.rows.write(folder / ROWS, found.variables)
        (folder / SUMMARY).write_text(json.dumps(numbers, indent=2) + "\n")

"""Many runs of one experiment, each with other parameters: as tasks on Spark, or one after the other in this thread.

A case is played by itself and brings rows, records of numbers; the rows of all cases come back in the order of the cases. A case
holds all that its rows depend on, seeds as well, so that where it is played and beside which others makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter, check_range
from .randomness import check_seed
from .spark import check_partitions
from .spark_progress import Progress, reported_progress, untold

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

CaseT = TypeVar("CaseT")
RowT = TypeVar("RowT")
SettingT = TypeVar("SettingT")

MAX_RUNS = 1_000
"""How often one setting is run at most."""
MAX_CASES = 10_000
"""Each is a task of Spark's, which takes some milliseconds of its own."""

_DDL = {int: "long", float: "double", bool: "boolean", str: "string", tuple[int, ...]: "array<long>"}
"""What a field of a row may be."""


@dataclass(frozen=True, slots=True)
class Sweep(Generic[CaseT, RowT]):
    """What is to be played; ``row`` is the dataclass of the rows. Cases that take long come first: the end waits for none then."""

    row: type[RowT]
    cases: Sequence[CaseT]
    play: Callable[[CaseT], Iterable[RowT]]


class Player(Protocol):
    """Whoever plays all cases of a sweep."""

    def __call__(self, sweep: Sweep[CaseT, RowT]) -> list[RowT]:
        """The rows of all cases. Raises SimulationError."""


def by_setting(rows: Iterable[RowT], setting: Callable[[RowT], SettingT]) -> dict[SettingT, list[RowT]]:
    """The rows of each setting, in the order in which settings first come."""
    found: dict[SettingT, list[RowT]] = {}
    for row in rows:
        found.setdefault(setting(row), []).append(row)
    return found


def summed(counts: Iterable[Sequence[int]]) -> NDArray[np.int64]:
    """Counts by number, from 0 on, of several rows added up; a row may be shorter than others."""
    return np.array([sum(column) for column in zip_longest(*counts, fillvalue=0)], dtype=np.int64)


def check_size(seed: int, runs: int, *cases: int) -> None:
    """Raises BadParameter for a seed, a number of runs of each setting, or of cases of a sweep, that cannot be."""
    check_seed(seed)
    check_range(runs, 1, MAX_RUNS, "runs")
    for number in cases:
        check_cases(number)


def check_cases(number: int) -> None:
    """Raises BadParameter for too many cases: by their number, which is known before they are made."""
    if number > MAX_CASES:
        raise BadParameter(f"{number} runs; expected {MAX_CASES} at most: ask for fewer values of some option")


def checked(sweep: Sweep[CaseT, RowT]) -> Sweep[CaseT, RowT]:
    """The sweep itself; raises BadParameter for one of too many cases."""
    check_cases(len(sweep.cases))
    return sweep


def in_one_thread(progress: Progress = untold) -> Player:
    """Plays here and now, without Spark."""

    def play(sweep: Sweep[CaseT, RowT]) -> list[RowT]:
        rows: list[RowT] = []
        for number, case in enumerate(checked(sweep).cases, 1):
            rows += sweep.play(case)
            progress(number, len(sweep.cases))
        return rows

    return play


def on_spark(spark: SparkSession, *, partitions: int | None = None, progress: Progress = untold) -> Player:
    """Plays in a session, in so many partitions, or one for each case. Raises BadParameter for a number that cannot be."""
    check_partitions(partitions)

    def play(sweep: Sweep[CaseT, RowT]) -> list[RowT]:
        asked = frame(spark, sweep, partitions)
        with reported_progress(spark, partitions or len(sweep.cases), progress):
            table = asked.toArrow()
        # Rows of a case follow each other, and no two cases share a number.
        found = sorted(table.to_pylist(), key=lambda row: int(row["case"]))
        return [_row(sweep.row, row) for row in found]

    return play


def frame(spark: SparkSession, sweep: Sweep[CaseT, RowT], partitions: int | None = None) -> DataFrame:
    """The rows of a sweep as Spark makes them, with the number of their case in front."""
    checked(sweep)
    row, cases, play = sweep.row, sweep.cases, sweep.play
    schema = ", ".join(["`case` long", *(f"`{name}` {_DDL[kind]}" for name, kind in _kinds(row).items())])

    def played(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                table = arrow_table(list(play(cases[number])), row)
                yield from table.add_column(0, "case", [[number] * len(table)]).to_batches()

    return spark.range(0, len(cases), 1, partitions or max(1, len(cases))).mapInArrow(played, schema)


def _kinds(row: type) -> dict[str, Any]:  # Any: types, and such as tuple[int, ...], which are none
    """The kinds of a row's fields; a column of any kind may have nulls, so one that may be None is as one that may not."""
    hints = get_type_hints(row).items()
    return {name: next(iter(set(get_args(kind)) - {NoneType})) if isinstance(kind, UnionType) else kind for name, kind in hints}


def _row(row: type[RowT], found: dict[str, Any]) -> RowT:  # Any: numbers and texts, as the fields of the row are
    return row(**{name: tuple(value) if isinstance(value, list) else value for name, value in found.items() if name != "case"})


def arrow_table(rows: Sequence[object], row: type | None = None) -> pyarrow.Table:
    """Rows as a table; of what dataclass they are must be said where there may be none."""
    import pyarrow

    types = {int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_(), str: pyarrow.string()}
    columns = {
        name: pyarrow.array([getattr(one, name) for one in rows], types.get(kind, pyarrow.list_(pyarrow.int64())))
        for name, kind in _kinds(row or type(rows[0])).items()
    }
    return pyarrow.table(columns)

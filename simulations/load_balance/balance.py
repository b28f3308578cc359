"""How a strategy spreads the load of a workload over peers: one run, on Spark or in one thread.

Both ways count with the same kernels (counted_loads.py). On Spark each task makes and counts its share of the chunks by itself and
hands over a row for each block of peers; Spark brings the rows of a block together, where they are added up. So a result does not
depend on how the tuples are cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..engine.kernels import Whole
from ..engine.randomness import Words
from ..engine.spark import check_partitions
from ..engine.spark_progress import Progress, reported_progress
from ..workload.workload import Subscriptions, Workload, chunks_of
from .counted_loads import LoadCounter, Loads
from .loads import Spread, spread_of
from .meets_one_by_one import MeetingCheck, check_meetings
from .plan import Plan, make_plan
from .strategies import Strategy

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

Counter: TypeAlias = Callable[[Plan, Workload], Loads]
"""Whoever counts a workload's tuples by a plan."""

TASK_TUPLES = 100_000_000
"""Tuples of one task at most, some seconds' worth, where nobody says into how many parts they are to be cut. Fewer are one task for
each core: each hands over the loads of all peers."""
LEAST_TUPLES = 1 << 14
"""Tuples that are worth a task of their own, where nobody says so."""
BLOCK_PEERS = 1 << 12
"""Peers whose loads travel as one row."""
BLOCK_SCHEMA = "block long, tuples binary, work binary, first_epoch binary"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one strategy made of the peers."""

    strategy: Strategy
    loads: Loads
    subscriptions: Whole
    """Copies of subscriptions at each peer."""
    templates: Whole
    """As ``subscriptions``, equal ones counted once."""
    published: int
    subscribed: int
    lost: int
    """Subscriptions that are posted nowhere."""
    questions: int
    """Peers that were asked for their load before subscriptions were posted."""
    meetings: MeetingCheck

    @property
    def peers(self) -> int:
        """How many there are."""
        return len(self.templates)

    @property
    def busiest_tuples(self) -> float:
        """Copies of tuples at the busiest peer as a share of all tuples, which compares strategies whatever copies they send.

        Above 1 where that peer has several keys of one tuple.
        """
        return int(self.loads.tuples.max()) / self.published

    @property
    def busiest_work(self) -> float:
        """The busiest peer's share of all match work; 0 where there is none."""
        return int(self.loads.work.max()) / max(1, int(self.loads.work.sum()))

    @property
    def messages(self) -> int:
        """One for each copy of a tuple or a subscription, and two for each question; batching and look-ups are left out."""
        return int(self.loads.tuples.sum() + self.subscriptions.sum()) + 2 * self.questions

    def summary(self) -> dict[str, object]:
        """The numbers of this run by name."""
        return {
            "strategy": self.strategy.name,
            "peers": self.peers,
            "tuples": self.published,
            "subscriptions": self.subscribed,
            "copies_per_tuple": int(self.loads.tuples.sum()) / self.published,
            "copies_per_subscription": int(self.subscriptions.sum()) / self.subscribed,
            "messages": self.messages,
            "messages_per_tuple": self.messages / self.published,
            "busiest_share_of_tuples": self.busiest_tuples,
            "busiest_share_of_work": self.busiest_work,
            "lost_subscriptions": self.lost,
            "sampled_pairs": self.meetings.pairs,
            "sampled_pairs_met": self.meetings.met,
            "sampled_pairs_lost": self.meetings.lost,
            "sampled_pairs_missed": self.meetings.missed,
            **{name: asdict(spread) for name, spread in self.spreads().items()},
        }

    def spreads(self) -> dict[str, Spread]:
        """How each load is spread; ``first_epoch`` only where date ranges have keys of their own."""
        found = {
            "tuple_load": spread_of(self.loads.tuples),
            "subscription_load": spread_of(self.subscriptions),
            "template_load": spread_of(self.templates),
            "match_work": spread_of(self.loads.work),
        }
        if self.loads.first_epoch.any():
            found["first_epoch_tuple_load"] = spread_of(self.loads.first_epoch)
        return found


def run(strategy: Strategy, workload: Workload, subscriptions: Subscriptions, peers: Words, count: Counter) -> Outcome:
    """Post the subscriptions, count the tuples, and look whether they meet."""
    plan = make_plan(strategy, workload, subscriptions, peers)
    return Outcome(
        strategy=strategy,
        loads=count(plan, workload),
        subscriptions=plan.subscriptions,
        templates=plan.templates,
        published=workload.tuples,
        subscribed=len(subscriptions),
        lost=plan.lost,
        questions=plan.questions,
        meetings=check_meetings(plan, workload, subscriptions),
    )


def in_one_thread(progress: Progress | None = None) -> Counter:
    """Counts here and now, without Spark."""

    def count(plan: Plan, workload: Workload) -> Loads:
        counter = LoadCounter(plan)
        for begin, size in chunks_of(workload.tuples):
            counter.count_chunk(workload.chunk(begin, size))
            if progress is not None:
                progress(begin + size, workload.tuples)
        return counter.loads()

    return count


def on_spark(spark: SparkSession, *, partitions: int | None = None, progress: Progress | None = None) -> Counter:
    """Counts in a session, in so many partitions, or one for each core. Raises BadParameter for a number that cannot be."""
    check_partitions(partitions)

    def count(plan: Plan, workload: Workload) -> Loads:
        cores = spark.sparkContext.defaultParallelism
        cut = partitions or usual_cut(workload.tuples, cores)
        chunks = list(chunks_of(workload.tuples, parts=cut))
        # What tasks share travels once to each machine.
        nothing = np.zeros(0, dtype=np.int64)
        shared = spark.sparkContext.broadcast((replace(plan, subscriptions=nothing, templates=nothing), workload))

        def counted(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            counter = None
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    counter = counter or LoadCounter(shared.value[0])
                    counter.count_chunk(shared.value[1].chunk(*chunks[number]))
            if counter is not None:
                yield from blocks_of(counter.loads())

        parts = spark.range(0, len(chunks), 1, cut).mapInArrow(counted, BLOCK_SCHEMA)
        total = parts.repartition(min(cut, cores), "block").mapInArrow(sums_of_blocks, BLOCK_SCHEMA)
        try:
            with reported_progress(spark, cut, progress):
                table = total.toArrow()
        finally:
            shared.destroy()
        loads = Loads.zero(len(plan.peers))
        for batch in table.to_batches():
            add_blocks(loads, batch)
        return loads

    return count


def usual_cut(tuples: int, cores: int) -> int:
    """Into how many parts tuples are cut where nobody says: as many for each core, unless they are few."""
    return min(cores * -(-tuples // (cores * TASK_TUPLES)), -(-tuples // LEAST_TUPLES))


def blocks_of(loads: Loads) -> Iterator[pyarrow.RecordBatch]:
    """Loads as rows: a block of peers each, with the bytes of their part of each load. Spark copies bytes, and counts rows."""
    import pyarrow

    peers = len(loads.tuples)
    begins = [begin for begin in range(0, peers, BLOCK_PEERS) if loads.tuples[begin : begin + BLOCK_PEERS].any()]
    columns = [pyarrow.array([begin // BLOCK_PEERS for begin in begins], pyarrow.int64())]
    for load in fields(Loads):
        whole = getattr(loads, load.name)
        columns.append(pyarrow.array([packed(whole[begin : begin + BLOCK_PEERS]) for begin in begins], pyarrow.binary()))
    yield pyarrow.RecordBatch.from_arrays(columns, names=["block", *(load.name for load in fields(Loads))])


def packed(load: Whole) -> bytes:
    """The numbers of a block in the fewest bytes that hold the largest, after how many that are; nothing where all are 0.

    What travels is serialised, written to disk and read again, which costs more than all else that Spark adds to counting.
    """
    most = int(load.max(initial=0))
    if not most:
        return b""
    narrow = np.min_scalar_type(most)
    return bytes([narrow.itemsize]) + load.astype(narrow).tobytes()


def unpacked(part: bytes) -> Whole:
    """The numbers of a block; a single 0 where all are, which can be added to any block."""
    if not part:
        return np.zeros(1, dtype=np.int64)
    return np.frombuffer(part, dtype=f"u{part[0]}", offset=1).astype(np.int64)


def sums_of_blocks(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """All rows of each block added up."""
    import pyarrow

    names = [load.name for load in fields(Loads)]
    sums: dict[int, list[Whole]] = {}
    for batch in batches:
        for block, *parts in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            found = [unpacked(part) for part in parts]
            sums[block] = [one + other for one, other in zip(sums[block], found, strict=True)] if block in sums else found
    columns = [pyarrow.array(list(sums), pyarrow.int64())]
    for place in range(len(names)):
        columns.append(pyarrow.array([packed(parts[place]) for parts in sums.values()], pyarrow.binary()))
    yield pyarrow.RecordBatch.from_arrays(columns, names=["block", *names])


def add_blocks(loads: Loads, batch: pyarrow.RecordBatch) -> None:
    """Add rows of blocks to loads."""
    for block, *parts in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        peers = slice(block * BLOCK_PEERS, (block + 1) * BLOCK_PEERS)
        for load, part in zip(fields(Loads), parts, strict=True):
            getattr(loads, load.name)[peers] += unpacked(part)


def peers_table(outcome: Outcome, ids: list[str]) -> pyarrow.Table:
    """What each peer has; ``ids`` are those of the peers in hexadecimal, in order."""
    import pyarrow

    columns = {
        "peer": np.arange(outcome.peers),
        "id": ids,
        "tuples": outcome.loads.tuples,
        "subscriptions": outcome.subscriptions,
        "templates": outcome.templates,
        "work": outcome.loads.work,
    }
    return pyarrow.table(columns)

"""How a strategy spreads the load of a workload over peers: one run, on Spark or in one thread.

Both ways have the same two steps, by the same kernels. Tuples are counted by the slots of their keys (counted_tuples.py): on Spark
each task makes and counts its share of the chunks by itself, and rows of the same block of slots are added up. Then keys become
peers (peer_loads.py), region by region of the space of keys (peers.py): on Spark each region is a task, which keeps its peers to
itself, writes what each has, and hands over how many have how much. So a result does not depend on how anything is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from ..engine import sweep
from ..engine.spark import check_partitions, cores_of, shares_files
from ..engine.spark_progress import Progress, reported_progress, untold
from ..engine.sweep import Player
from ..workload.reading.distributed import Distributed
from ..workload.reading.on_spark import read_on_spark
from ..workload.workload import Chunk, Subscriptions, Workload, chunks_of
from .capacities import UNIT
from .counted_tuples import BLOCK_SCHEMA, Counts, TupleCounter, blocks_of, counts_of_blocks, rows_of_blocks, sums_of_blocks
from .learning import Learning, assigning_messages, interest_messages
from .loads import Histogram, Spread, spread_of
from .meets_one_by_one import MeetingCheck, check_meetings
from .peer_loads import UTILISATION, UTILISATION_UNIT, PeerLoads, loads_in
from .peers import Peers, Region, regions
from .plan import Plan, make_plan
from .strategies import Strategy

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

ChunksIn: TypeAlias = "Callable[[pyarrow.RecordBatch], Iterator[Chunk]]"
TASK_TUPLES = 100_000_000
"""Tuples that one task counts at most, in some seconds, where no number of parts is given. Up to so many for each core there is one
task for each core and not more, as each task hands over a count of every slot."""
LEAST_TUPLES = 1 << 14
"""Tuples that are worth a task of their own, where no number of parts is given."""
REGION_PEERS = 1 << 20
"""Peers of one region at most, unless there can be no more regions (peers.py). Up to so many for each core there is a region for
each core."""
COLLECTED_PEERS = 1 << 16
"""Peers of a part that comes through the driver, some 4 MB."""
LEAST_PEERS = 1 << 14
"""Peers that are worth a region of their own."""
PEERS_FOLDER = "peers"
"""In the folder of results: what each peer has, a folder ``strategy=NAME`` of Parquet for each strategy."""
WRITTEN = ("tuples", "subscriptions", "templates", "work")
"""The loads that are left of each peer."""
PEERS_SCHEMA = "peer long, id string, " + ", ".join(f"{name} long" for name in WRITTEN)
"""And ``capacity double`` where peers are not all alike."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one strategy made of the peers."""

    strategy: Strategy
    peers: int
    tuples: Histogram
    subscriptions: Histogram
    templates: Histogram
    """As ``subscriptions``, equal ones counted once."""
    work: Histogram
    first_epoch: Histogram
    published: int
    subscribed: int
    lost: int
    """Subscriptions that are posted nowhere."""
    questions: int
    """Peers that were asked for their load before subscriptions were posted."""
    meetings: MeetingCheck
    learning: Learning
    pointers: Histogram | None = None
    """Keys that others hold, of which peers say whom to ask; None where no keys are assigned."""
    capacity: Histogram | None = None
    """What peers are able to carry, in hundredths; None where they are alike."""
    utilisation: Histogram | None = None
    """Copies of tuples by capacity, in hundredths of a copy at a peer of capacity 1; None where they are alike."""

    @property
    def utilisation_max_over_mean(self) -> float | None:
        """What the busiest peer carries for its capacity, in times of what all do for all of theirs; None where all are alike."""
        if self.capacity is None or self.utilisation is None:
            return None
        return self.utilisation.largest * self.capacity.total / (UTILISATION_UNIT * max(1, self.tuples.total))

    @property
    def busiest_tuples(self) -> float:
        """Copies of tuples at the busiest peer as a share of all tuples, which compares strategies whatever copies they send.

        Above 1 where that peer has several keys of one tuple.
        """
        return self.tuples.largest / self.published

    @property
    def busiest_work(self) -> float:
        """The busiest peer's share of all match work; 0 where there is none."""
        return self.work.largest / max(1, self.work.total)

    @property
    def messages(self) -> int:
        """One for each copy of a tuple or a subscription, and what it takes to learn; batching and look-ups are left out."""
        return self.tuples.total + self.subscriptions.total + self.learning.total

    @property
    def has_epochs(self) -> bool:
        """Whether date ranges have keys of their own."""
        return self.first_epoch.largest > 0

    def summary(self) -> dict[str, object]:
        """The numbers of this run by name."""
        return {
            "strategy": self.strategy.name,
            "peers": self.peers,
            "tuples": self.published,
            "subscriptions": self.subscribed,
            "copies_per_tuple": self.tuples.total / self.published,
            "copies_per_subscription": self.subscriptions.total / self.subscribed,
            "messages": self.messages,
            "messages_per_tuple": self.messages / self.published,
            "messages_to_learn": asdict(self.learning),
            "busiest_share_of_tuples": self.busiest_tuples,
            "busiest_share_of_work": self.busiest_work,
            "lost_subscriptions": self.lost,
            "sampled_pairs": self.meetings.pairs,
            "sampled_pairs_met": self.meetings.met,
            "sampled_pairs_lost": self.meetings.lost,
            "sampled_pairs_missed": self.meetings.missed,
            **({} if self.utilisation_max_over_mean is None else {"utilisation_max_over_mean": self.utilisation_max_over_mean}),
            **({} if self.pointers is None else {"pointers": self.pointers.total, "most_pointers": self.pointers.largest}),
            **{name: asdict(spread) for name, spread in self.spreads().items()},
        }

    def spreads(self) -> dict[str, Spread]:
        """How each load is spread; ``first_epoch`` only where date ranges have keys of their own."""
        found = {
            "tuple_load": spread_of(self.tuples),
            "subscription_load": spread_of(self.subscriptions),
            "template_load": spread_of(self.templates),
            "match_work": spread_of(self.work),
        }
        if self.has_epochs:
            found["first_epoch_tuple_load"] = spread_of(self.first_epoch)
        return found


class Engine(Protocol):
    """Whoever counts."""

    def counted(self, plan: Plan, workload: Workload, peers: Peers) -> Counts:
        """All tuples of a workload. Raises SimulationError."""

    def spread(self, plan: Plan, counts: Counts, peers: Peers) -> dict[str, Histogram]:
        """How many peers have how much, by name of the load. Raises SimulationError."""

    def write(self, plan: Plan, counts: Counts, peers: Peers, folder: Path) -> None:
        """Leave what each peer has in a folder, as PEERS_SCHEMA in a partition of the strategy. Raises SimulationError."""

    def read(self, path: str, seconds: float) -> tuple[Workload, str]:
        """The tuples of files, published within so many seconds, and what is to be said of them. Raises SimulationError."""

    @property
    def player(self) -> Player:
        """Plays sweeps where tuples are counted too."""


def run(
    strategy: Strategy, workload: Workload, subscriptions: Subscriptions, peers: Peers, engine: Engine, out: Path | None = None
) -> Outcome:
    """Post the subscriptions, count the tuples, leave what each peer has in ``out`` if given, and look whether they meet."""
    plan = make_plan(strategy, workload, subscriptions, len(peers))
    counts = engine.counted(plan, workload, peers)
    spread = engine.spread(plan, counts, peers)
    if out is not None:
        engine.write(plan, counts, peers, out)
    assigning, finding = assigning_messages(spread, strategy.choices)
    return Outcome(
        strategy=strategy,
        peers=len(peers),
        tuples=spread["tuples"],
        subscriptions=spread["subscriptions"],
        templates=spread["templates"],
        work=spread["work"],
        first_epoch=spread["first_epoch"],
        published=workload.tuples,
        subscribed=len(subscriptions),
        lost=plan.lost,
        questions=plan.questions,
        meetings=check_meetings(plan, workload, subscriptions),
        learning=Learning(
            loads=2 * plan.questions,
            assigning=assigning,
            finding=finding,
            interest=interest_messages(len(peers), workload.tuples, workload.seconds) if strategy.demand else 0,
            splits=plan.split_messages,
        ),
        pointers=spread["pointers"] if strategy.choices > 1 else None,
        capacity=spread.get("capacity"),
        utilisation=spread.get(UTILISATION),
    )


class InOneThread(Engine):
    """Counts here and now, without Spark."""

    def __init__(self, progress: Progress = untold) -> None:
        self._progress = progress

    @property
    def player(self) -> Player:
        """One case after the other."""
        return sweep.in_one_thread()

    def read(self, path: str, seconds: float) -> tuple[Workload, str]:
        """The tuples of files of this machine, in memory."""
        from ..workload.files import read

        reading = read(path, seconds=seconds)
        return reading.recorded, "; ".join(reading.seen.said())

    def counted(self, plan: Plan, workload: Workload, peers: Peers) -> Counts:
        """All tuples of a workload."""
        counter = TupleCounter(plan, peers)
        for begin, size in chunks_of(workload.tuples):
            counter.count_chunk(workload.chunk(begin, size))
            self._progress(begin + size, workload.tuples)
        return counter.counts

    def spread(self, plan: Plan, counts: Counts, peers: Peers) -> dict[str, Histogram]:
        """How many peers have how much, by name of the load."""
        return loads_in(_ALL, plan, counts, peers).histograms(utilisation=peers.capacity is not None)

    def write(self, plan: Plan, counts: Counts, peers: Peers, folder: Path) -> None:
        """Leave what each peer has in a folder."""
        from pyarrow import parquet

        partition = folder / f"strategy={plan.strategy.name}"
        partition.mkdir(parents=True)
        parquet.write_table(peers_table(loads_in(_ALL, plan, counts, peers), peers), partition / "part-0.parquet")


_ALL = Region(0, 0)


class OnSpark(Engine):
    """Counts in a session: tuples in so many partitions, or one for each core. Raises BadParameter for a number that cannot be."""

    def __init__(self, spark: SparkSession, *, partitions: int | None = None, progress: Progress = untold) -> None:
        check_partitions(partitions)
        self._spark = spark
        self._partitions = partitions
        self._progress = progress
        self._cores = cores_of(spark)

    @property
    def player(self) -> Player:
        """As tasks."""
        return sweep.on_spark(self._spark, progress=self._progress)

    def read(self, path: str, seconds: float) -> tuple[Workload, str]:
        """The tuples of files, which stay with Spark."""
        with reported_progress(self._spark, None, self._progress):
            found = read_on_spark(self._spark, path, seconds=seconds)
        return found, "; ".join(found.seen.said())

    def counted(self, plan: Plan, workload: Workload, peers: Peers) -> Counts:
        """All tuples of a workload."""
        frame, chunks_in, cut = self._chunks(workload)

        def count(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            counter = None
            for batch in batches:
                for chunk in chunks_in(batch):
                    counter = counter or TupleCounter(plan, peers)
                    counter.count_chunk(chunk)
            if counter is not None:
                yield rows_of_blocks(blocks_of(counter.counts))

        summed = frame.mapInArrow(count, BLOCK_SCHEMA).repartition(min(cut or self._cores, self._cores), "block")
        total = summed.mapInArrow(lambda batches: iter([rows_of_blocks(sums_of_blocks(batches))]), BLOCK_SCHEMA)
        with reported_progress(self._spark, cut, self._progress):
            table = total.toArrow()
        return counts_of_blocks(sums_of_blocks(table.to_batches()), plan)

    def _chunks(self, workload: Workload) -> tuple[DataFrame, ChunksIn, int | None]:
        """Rows that stand for chunks, what makes chunks of a batch of them, and how many tasks there are; None where Spark says."""
        if isinstance(workload, Distributed):
            blocks = workload.blocks if self._partitions is None else workload.blocks.repartition(self._partitions)
            return blocks, workload.chunks, self._partitions
        cut = self._partitions or usual_cut(workload.tuples, self._cores)
        chunks = list(chunks_of(workload.tuples, parts=cut))

        def made(batch: pyarrow.RecordBatch) -> Iterator[Chunk]:
            return (workload.chunk(*chunks[number]) for number in batch.column(0).to_pylist())

        return self._spark.range(0, len(chunks), 1, cut), made, cut

    def spread(self, plan: Plan, counts: Counts, peers: Peers) -> dict[str, Histogram]:
        """How many peers have how much, by name of the load."""

        def spread(loads: PeerLoads) -> pyarrow.Table:
            import pyarrow

            found = loads.histograms(utilisation=peers.capacity is not None)
            columns = [[part.values.tobytes() for part in found.values()], [part.peers.tobytes() for part in found.values()]]
            return pyarrow.table([list(found), *columns], names=["load", "values", "peers"])

        frame, tasks = self._by_region(plan, counts, peers, spread, "load string, values binary, peers binary")
        with reported_progress(self._spark, tasks, self._progress):
            rows = frame.toArrow().to_pylist()
        parts: dict[str, list[Histogram]] = {}
        for row in rows:
            found = Histogram(np.frombuffer(row["values"], np.int64), np.frombuffer(row["peers"], np.int64))
            parts.setdefault(row["load"], []).append(found)
        return {name: Histogram.sum(some) for name, some in parts.items()}

    def write(self, plan: Plan, counts: Counts, peers: Peers, folder: Path) -> None:
        """Leave what each peer has in a folder, written by the tasks."""
        from pyspark.sql import functions

        if not shares_files(self._spark):
            self._collect(plan, counts, peers, folder)
            return
        schema = PEERS_SCHEMA if peers.capacity is None else f"{PEERS_SCHEMA}, capacity double"
        frame, tasks = self._by_region(plan, counts, peers, lambda loads: peers_table(loads, peers), schema)
        with reported_progress(self._spark, tasks, self._progress):
            named = frame.withColumn("strategy", functions.lit(plan.strategy.name))
            named.write.mode("append").partitionBy("strategy").parquet(f"file:{folder.absolute()}")

    def _collect(self, plan: Plan, counts: Counts, peers: Peers, folder: Path) -> None:
        """The same where tasks are on other machines: part by part through the driver, to whose folder they have no way."""
        import pyarrow
        from pyarrow import parquet

        def packed_parts(loads: PeerLoads) -> pyarrow.Table:
            parts = peers_table(loads, peers).to_batches(max_chunksize=COLLECTED_PEERS)
            return pyarrow.table({"part": [_ipc_of(part) for part in parts]})

        frame, tasks = self._by_region(plan, counts, peers, packed_parts, "part binary")
        partition = folder / f"strategy={plan.strategy.name}"
        partition.mkdir(parents=True)
        writer = None
        with reported_progress(self._spark, tasks, self._progress), ExitStack() as closing:
            for row in frame.toLocalIterator():
                part = pyarrow.ipc.open_stream(row["part"]).read_all()
                writer = writer or closing.enter_context(parquet.ParquetWriter(partition / "part-0.parquet", part.schema))
                writer.write_table(part)

    def _by_region(
        self,
        plan: Plan,
        counts: Counts,
        peers: Peers,
        rows: Callable[[PeerLoads], pyarrow.RecordBatch | pyarrow.Table],
        schema: str,
    ) -> tuple[DataFrame, int]:
        """Rows of the loads of each region, and how many tasks make them."""
        wanted = max(min(self._cores, -(-len(peers) // LEAST_PEERS)), -(-len(peers) // REGION_PEERS))
        strategy = plan.strategy
        cut = regions(peers, wanted, virtual=strategy.virtual, replicas=strategy.replicas, assigned=strategy.assigned)

        def made(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from rows(loads_in(cut[number], plan, counts, peers)).to_batches()

        return self._spark.range(0, len(cut), 1, len(cut)).mapInArrow(made, schema), len(cut)


def _ipc_of(part: pyarrow.RecordBatch) -> bytes:
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, part.schema) as writer:
        writer.write_batch(part)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def usual_cut(tuples: int, cores: int) -> int:
    """Into how many parts tuples are cut where no number is given: a multiple of the cores, unless tuples are few."""
    return min(cores * -(-tuples // (cores * TASK_TUPLES)), -(-tuples // LEAST_TUPLES))


def peers_table(loads: PeerLoads, peers: Peers) -> pyarrow.Table:
    """What some peers have, as PEERS_SCHEMA."""
    import pyarrow

    columns = {name: getattr(loads, name) for name in WRITTEN}
    if peers.capacity is not None:
        columns["capacity"] = loads.capacity / UNIT
    return pyarrow.table({"peer": loads.peers, "id": peers.names(loads.peers), **columns})

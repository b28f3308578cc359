"""The experiment ``subscribers`` as the command line calls it: from what was asked for to what it leaves in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine import sweep
from ..engine.provenance import Provenance, made_by
from ..engine.results import Results, prepare_folder, save
from ..engine.spark_progress import Progress, untold
from ..workload.workload import Synthetic
from . import counting, dates, joins, latency, memories, report, slow_readers
from .counting import Counter
from .notifications import notified
from .request import Asked, Part, SubscribersRequest, asked_for, check_traced
from .shown import Shown, results_of
from .slow_readers import Reader, readers_of
from .templates import ids_of, reseeded
from .traced import received

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Engine:
    """Who counts tuples, and who plays sweeps."""

    count: Counter
    play: sweep.Player


def in_one_thread(progress: Progress = untold) -> Engine:
    """All of it here and now."""
    return Engine(counting.in_one_thread(progress), sweep.in_one_thread(progress))


def on_spark(spark: SparkSession, *, partitions: int | None = None, progress: Progress = untold) -> Engine:
    """All of it in a session. Raises BadParameter for a number of partitions that cannot be."""
    given = {"partitions": partitions, "progress": progress}
    return Engine(counting.on_spark(spark, **given), sweep.on_spark(spark, **given))  # type: ignore[arg-type]  # by their names


def subscribers(
    request: SubscribersRequest,
    engine: Callable[[], Engine],
    out: Path,
    title: Callable[[str], None] = lambda _: None,
    provenance: Provenance = made_by,
) -> tuple[Results, str]:
    """Run all parts and save everything in a folder; also what is to be said of what was left out.

    Whatever is impossible is refused before ``engine`` starts anything. Raises SimulationError.
    """
    if request.trace is not None:
        return _of_trace(request, request.trace, out, provenance)
    asked = asked_for(request)
    prepare_folder(out)
    lead = f"{asked.workload.tuples:,} tuples and {asked.subscriptions:,} subscriptions of clients at {asked.peers:,} peers."
    results = results_of("What subscribers receive", lead, _parts(asked, engine(), title))
    save(out, results, {**asked.configuration(), **provenance()})
    return results, asked.left_out


def _parts(asked: Asked, engine: Engine, title: Callable[[str], None]) -> Iterator[Shown]:
    """What was asked for, part after part."""
    request = asked.request
    readers: list[Reader] = []
    if asked.has(Part.NOTIFICATIONS, Part.READERS):
        told, readers = _notifications(asked, engine.count, title)
        if asked.has(Part.NOTIFICATIONS):
            yield told
    if asked.has(Part.MEMORIES):
        title("alpha memories")
        of = asked.workload, asked.mix, asked.peers
        yield memories.shown(asked.peers, engine.play(memories.sweep_of(*of, asked.growth, request.seeds, request.seed)))
    if asked.has(Part.JOINS) and isinstance(asked.workload, Synthetic):  # as asked_for has seen to
        title("joins")
        seeds = range(request.seed, request.seed + request.seeds)
        rows = engine.play(joins.sweep_of(asked.workload, asked.rule, asked.joining, seeds))
        yield joins.shown(rows, joins.law_of(asked.workload, request.seed).tuples, asked.frames)
    if asked.has(Part.DATES):
        title("ranges of time")
        seeds = range(request.seed, request.seed + request.seeds)
        of_dates = asked.workload, asked.mix, asked.peers, asked.subscriptions, asked.rule, asked.dates, seeds
        yield dates.shown(engine.play(dates.sweep_of(*of_dates)), asked.dates)
    if asked.has(Part.LATENCY):
        title("latency")
        seeds = range(request.seed, request.seed + request.seeds)
        of_links = asked.workload, asked.mix, asked.peers, asked.subscriptions, asked.rule, asked.links, seeds
        yield latency.shown(engine.play(latency.sweep_of(*of_links)), asked.links)
    if asked.has(Part.READERS):
        title("slow readers")
        how = asked.kind, asked.frames, asked.reading
        yield slow_readers.shown(engine.play(slow_readers.sweep_of(asked.workload, readers, *how)), asked.kind)


def _of_trace(request: SubscribersRequest, folder: str, out: Path, provenance: Provenance) -> tuple[Results, str]:
    """What the peers of a trace received. It is gone through in the driver, row by row: no engine is started."""
    check_traced(request)
    rows, remarks = received(folder)
    shown = report.shown_received(rows, remarks)
    prepare_folder(out)
    results = results_of("What subscribers received", f"{len(rows)} peers that ran with a trace.", [shown])
    left_out = "; ".join(remarks)
    save(out, results, {"trace": folder, "left_out": left_out, **provenance()})
    return results, left_out


def _notifications(asked: Asked, count: Counter, title: Callable[[str], None]) -> tuple[Shown, list[Reader]]:
    """Over all seeds; and the readers of each whom we look at."""
    request, first = asked.request, None
    runs: list[dict[str, float]] = []
    rows: list[report.Peer] = []
    readers: list[Reader] = []
    for seed in range(request.seed, request.seed + request.seeds):
        title(f"notifications, seed {seed}")
        workload, ids = reseeded(asked.workload, seed), ids_of(asked.peers, seed)
        wanted = workload.subscriptions(asked.subscriptions, asked.mix, seed)
        found = notified(
            workload,
            wanted,
            ids=ids,
            rule=asked.rule,
            count=count,
            frames=asked.frames,
            seed=seed,
            kind=asked.kind,
            batch=request.batch,
        )
        runs.append(report.figures_of(found))
        readers += readers_of(found, seed)
        if first is None:
            first, rows = found, report.peers_of(found, [f"{one:016x}" for one in ids.tolist()], seed)
    assert first is not None, "there is one seed at least"
    return report.shown(first, runs, rows, asked.kind), readers

"""The simulation of large overlays on Spark: a whole run by stages, and its counting beside one numpy thread with the same kernels.

    .venv/bin/python -m benchmarks.simulation [--part NAME] [--tuples 1e8] [--peers 1e7] [--cores 2] [--json]

``whole`` is all that ``gsg simulate load-balance`` does between the start of Spark and the report, by the same code: how long each
stage takes, how much of all of it is one thread of the driver while no task runs, and what memory the driver takes: its Python, and
the Java that is driver and executor at once here. ``beside`` counts more tuples, on Spark and in one thread in turns; both counts
must agree, or the program ends with status 1. ``growing`` has ever more tuples, then ever more peers: time is to grow linearly with
tuples, and at most as the logarithm of the peers. ``reading`` is how long tasks take to read a file (simulation_reading.py).

The session is started, and Spark warmed with a small run, before anything is timed. Each strategy is its own kind of work:
``rarest`` counts constants, ``hot-split`` draws a cell for each tuple, ``composite`` looks up the owners of three new keys of it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine
from benchmarks.simulation_reading import WANTED_PER_S, measure_reading, reading_table
from simulations.engine.spark import session
from simulations.engine.sweep import Player
from simulations.load_balance.balance import Engine, InOneThread, OnSpark
from simulations.load_balance.counted_tuples import Counts
from simulations.load_balance.experiments import BalanceRequest, balance
from simulations.load_balance.loads import Histogram
from simulations.load_balance.peers import Peers
from simulations.load_balance.plan import Plan, make_plan
from simulations.load_balance.strategies import parse
from simulations.workload.workload import COMMON_MIX, Synthetic, Workload

SUBSCRIPTIONS = 1_000_000
WHOLE = ("rarest", "hot-split-10")
BESIDE = ("rarest", "hot-split-10+demand", "composite")
BESIDE_TUPLES = 10
"""How many times the tuples of the whole run are counted beside one thread."""
PARTS = ("whole", "beside", "growing", "reading")
LEAST_TUPLES = 1_000_000
LEAST_PEERS = 1_000
WANTED_S = 150.0
WANTED_MB = 2_000.0
WANTED_ONE_THREAD = 0.15
WANTED_RATIO = 1.5
LOOK_S = 0.2
"""How often memory is looked at."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a whole run, all strategies together."""

    stage: str
    seconds: float
    on_spark: bool
    """Whether tasks run then; else it is one thread of the driver."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole run."""

    strategies: tuple[str, ...]
    peers: int
    tuples: int
    subscriptions: int
    seconds: float
    stages: list[Stage]
    python_mb: float
    """The most that the driver's Python had in memory at one time."""
    java_mb: float

    @property
    def one_thread(self) -> float:
        """The share of the time in which no task ran."""
        return 1 - sum(stage.seconds for stage in self.stages if stage.on_spark) / self.seconds


@dataclass(frozen=True, slots=True)
class Run:
    """One count, and the loads of all peers that it comes to."""

    strategy: str
    peers: int
    tuples: int
    spark_s: float
    numpy_s: float | None = None
    """The same in one thread, None where it was not taken."""

    @property
    def ratio(self) -> float | None:
        """How many times faster Spark was."""
        return None if self.numpy_s is None else self.numpy_s / self.spark_s


class Memory:
    """Looks at the memory of this process and of the Java that it started, while the block runs."""

    def __enter__(self) -> Memory:
        self.python_mb = self.java_mb = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.python_mb = max(self.python_mb, own_mb(os.getpid()))
            self.java_mb = max(self.java_mb, sum(map(own_mb, javas(os.getpid()))))
            if self._over.wait(LOOK_S):
                return


def javas(root: int) -> list[int]:
    """The processes of Java among all that a process started, directly or not."""
    parents: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            before, _, after = entry.read_text().rpartition(")")
        except OSError:  # it has ended since
            continue
        names[int(entry.parent.name)] = before.partition("(")[2]
        parents.setdefault(int(after.split()[1]), []).append(int(entry.parent.name))
    found = [root]
    for process in found:
        found += parents.get(process, [])
    return [process for process in found if names.get(process) == "java"]


def own_mb(process: int) -> float:
    """The proportional share of memory of a process: what it shares is divided among those that share it."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1e3


@dataclass
class Timed(Engine):
    """An engine, and how long each of its steps took in all."""

    engine: Engine
    took_s: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def _taking(self, stage: str) -> Iterator[None]:
        began_s = time.perf_counter()
        yield
        self.took_s[stage] = self.took_s.get(stage, 0.0) + time.perf_counter() - began_s

    @property
    def player(self) -> Player:
        """Plays as the engine does."""
        return _TimedPlayer(self)

    def counted(self, plan: Plan, workload: Workload, peers: Peers) -> Counts:
        """All tuples of a workload."""
        with self._taking("make and count tuples"):
            return self.engine.counted(plan, workload, peers)

    def read(self, path: str, seconds: float) -> tuple[Workload, str]:
        """The tuples of files."""
        with self._taking("read files"):
            return self.engine.read(path, seconds)

    def spread(self, plan: Plan, counts: Counts, peers: Peers) -> dict[str, Histogram]:
        """How many peers have how much."""
        with self._taking("turn keys into peers"):
            return self.engine.spread(plan, counts, peers)

    def write(self, plan: Plan, counts: Counts, peers: Peers, folder: Path) -> None:
        """What each peer has."""
        with self._taking("write what each peer has"):
            self.engine.write(plan, counts, peers, folder)


class _TimedPlayer(Player):
    def __init__(self, timed: Timed) -> None:
        self._timed = timed

    def __call__(self, sweep):  # type: ignore[no-untyped-def]  # as the player's
        """The rows of all cases."""
        with self._timed._taking("fewer peers, for the report"):
            return self._timed.engine.player(sweep)


def whole(engine: Engine, peers: int, tuples: int) -> Whole:
    """What gsg simulate load-balance does."""
    timed = Timed(engine)
    request = BalanceRequest(peers, tuples, SUBSCRIPTIONS, strategies=WHOLE)
    with tempfile.TemporaryDirectory() as folder, Memory() as memory:
        began_s = time.perf_counter()
        balance(request, lambda: timed, Path(folder))
        seconds = time.perf_counter() - began_s
    stages = [Stage(name, took_s, on_spark=True) for name, took_s in timed.took_s.items()]
    rest_s = seconds - sum(timed.took_s.values())
    stages.append(Stage("plan, check a sample, report", rest_s, on_spark=False))
    return Whole(WHOLE, peers, tuples, SUBSCRIPTIONS, seconds, stages, memory.python_mb, memory.java_mb)


def counting_s(engine: Engine, plan: Plan, workload: Workload, peers: Peers) -> tuple[float, dict[str, Histogram]]:
    """The seconds of counting and turning, and what came of it."""
    began_s = time.perf_counter()
    found = engine.spread(plan, engine.counted(plan, workload, peers), peers)
    return time.perf_counter() - began_s, found


def measure(name: str, peers: int, tuples: int, spark: Engine, *, alone: bool) -> Run:
    """Count on Spark, and where asked for in one thread as well; ends the program where they differ."""
    workload = Synthetic(tuples)
    plan = make_plan(parse(name), workload, workload.subscriptions(200_000, COMMON_MIX, 1), peers)
    spark_s, loads = counting_s(spark, plan, workload, Peers(peers))
    if not alone:
        return Run(name, peers, tuples, spark_s)
    numpy_s, same = counting_s(InOneThread(), plan, workload, Peers(peers))
    for load, found in loads.items():
        if (found.values != same[load].values).any() or (found.peers != same[load].peers).any():
            sys.exit(f"{name}: Spark and one thread disagree about {load}")
    return Run(name, peers, tuples, spark_s, numpy_s)


def table_of_runs(title: str, runs: list[Run]) -> Table:
    """Runs with what each took for a tuple."""
    made = Table(title=title, box=SIMPLE_HEAD, title_justify="left")
    made.add_column("strategy")
    for heading in ("peers", "tuples", "Spark s", "ns a tuple", "one thread s", "times faster"):
        made.add_column(heading, justify="right")
    for run in runs:
        made.add_row(
            run.strategy,
            f"{run.peers:,}",
            f"{run.tuples:,}",
            f"{run.spark_s:.2f}",
            f"{run.spark_s / run.tuples * 1e9:.0f}",
            "" if run.numpy_s is None else f"{run.numpy_s:.2f}",
            "" if run.ratio is None else f"{run.ratio:.2f}",
        )
    return made


def table_of_stages(run: Whole) -> Table:
    """How long each stage took."""
    about = f"{run.tuples:,} tuples, {run.subscriptions:,} subscriptions, {run.peers:,} peers, by {' and '.join(run.strategies)}"
    made = Table(title=f"A whole run: {about}", box=SIMPLE_HEAD, title_justify="left")
    made.add_column("stage")
    made.add_column("s", justify="right")
    made.add_column("where")
    for stage in run.stages:
        made.add_row(stage.stage, f"{stage.seconds:.1f}", "tasks" if stage.on_spark else "one thread of the driver")
    made.add_row("all", f"{run.seconds:.1f}", f"one thread: {run.one_thread:.1%}")
    made.add_row("memory of the driver", "", f"Python {run.python_mb:,.0f} MB, Java {run.java_mb:,.0f} MB")
    return made


def verdicts(run: Whole | None, beside: list[Run], growing: list[Run]) -> dict[str, bool]:
    """What was wanted, and whether it is so, of the parts that were measured."""
    found = {}
    if run is not None:
        found[f"the whole run within {WANTED_S:.0f} s"] = run.seconds <= WANTED_S
        found[f"its driver within {WANTED_MB:,.0f} MB"] = run.python_mb + run.java_mb <= WANTED_MB
        found[f"under {WANTED_ONE_THREAD:.0%} of it one thread"] = run.one_thread < WANTED_ONE_THREAD
    for one in beside:
        found[f"{one.strategy}: {WANTED_RATIO} times faster than one thread"] = (one.ratio or 0.0) >= WANTED_RATIO
    by_tuples = [one for one in growing if one.peers == LEAST_PEERS]
    if len(by_tuples) > 1:
        *_, few, many = by_tuples
        # A tenth more for a tuple is no growth but noise.
        found["linear in tuples"] = many.spark_s / many.tuples <= 1.1 * few.spark_s / few.tuples
    if growing:
        few, many = by_tuples[-1], growing[-1]
        growth = math.log(many.peers) / math.log(few.peers)
        wanted = f"{few.peers:,} to {many.peers:,} peers at most {growth:.1f} times as long"
        found[wanted] = many.spark_s <= growth * few.spark_s
    return found


def powers(most: int, *, least: int) -> list[int]:
    """Powers of ten from the least to the most."""
    return [least * 10**power for power in range(20) if least * 10**power <= most]


def main() -> None:
    """Measure and print."""
    number: Callable[[str], int] = lambda text: int(float(text))  # noqa: E731  # argparse wants a function
    parser = argparse.ArgumentParser(description="The simulation on Spark, by stages, and beside one numpy thread.")
    parser.add_argument("--tuples", type=number, default=100_000_000)
    parser.add_argument("--peers", type=number, default=10_000_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--part", action="append", dest="parts", choices=PARTS)
    parser.add_argument("--strategy", action="append", dest="strategies", help="of the part beside")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    parts = asked.parts or PARTS

    started = session("benchmark", master=f"local[{asked.cores}]", partitions=asked.cores)
    spark = OnSpark(started)
    for _ in range(2):
        measure(BESIDE[0], LEAST_PEERS, 1 << 22, spark, alone=False)
    run = whole(spark, asked.peers, asked.tuples) if "whole" in parts else None
    beside: list[Run] = []
    if "beside" in parts:
        of = asked.strategies or BESIDE
        beside = [measure(name, asked.peers // 10, asked.tuples * BESIDE_TUPLES, spark, alone=True) for name in of]
    growing: list[Run] = []
    if "growing" in parts:
        by_tuples = [(LEAST_PEERS, tuples) for tuples in powers(asked.tuples, least=LEAST_TUPLES)]
        by_peers = [(peers, asked.tuples) for peers in powers(asked.peers, least=LEAST_PEERS)[1:]]
        growing = [measure(BESIDE[0], peers, tuples, spark, alone=False) for peers, tuples in (*by_tuples, *by_peers)]
    reading = measure_reading(started, asked.tuples) if "reading" in parts else None
    found = verdicts(run, beside, growing)
    if reading is not None:
        found[f"{WANTED_PER_S:,} tuples read a second"] = reading.per_s >= WANTED_PER_S

    if asked.json:
        document = {"whole": None if run is None else asdict(run), "beside": list(map(asdict, beside))}
        document |= {"growing": list(map(asdict, growing)), "reading": None if reading is None else asdict(reading)}
        print(json.dumps({"machine": machine(), **document, "verdicts": found}, indent=2))
        return
    console = Console(width=132)
    console.print(machine())
    if run is not None:
        console.print(table_of_stages(run))
    for title, runs in (("Beside one thread", beside), ("Ever more tuples, and ever more peers", growing)):
        if runs:
            console.print(table_of_runs(title, runs))
    if reading is not None:
        console.print(reading_table(reading))
    for wanted, holds in found.items():
        console.print(f"{'yes' if holds else 'NO '}  {wanted}")


if __name__ == "__main__":
    main()

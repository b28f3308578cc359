"""The simulation of large overlays: Spark beside one numpy thread, with the same kernels, on the same tuples.

    .venv/bin/python -m benchmarks.simulation [--tuples 1e8] [--peers 1e6] [--cores 2] [--part NAME] [--strategy NAME] [--json]

Four parts, each a table. ``largest`` is the largest run on Spark, its time beside the same counting in one thread here, and what
memory it took at most. ``tuples`` has ever more tuples, ``peers`` ever more peers, on Spark: time is to grow linearly with tuples,
and at most as the logarithm of the peers. ``reading`` is how long tasks of Spark take to read so many tuples of a Parquet file
(simulation_reading.py). The session is started, and Spark warmed with a small run, before anything is timed;
posting the subscriptions is not timed either, since both ways have that in common. Both counts must agree, or the program ends
with status 1.

Each strategy is a kind of work of its own: ``rarest`` counts constants, ``hot-split`` draws a cell for each tuple, ``composite``
looks up the owners of three new keys for each tuple, which is where the number of peers is felt most.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine
from benchmarks.simulation_reading import WANTED_PER_S, measure_reading, reading_table
from simulations.engine.spark import session
from simulations.load_balance.balance import Counter, in_one_thread, on_spark
from simulations.load_balance.counted_loads import Loads
from simulations.load_balance.plan import Plan, make_plan, peer_ids
from simulations.load_balance.strategies import parse
from simulations.workload.workload import COMMON_MIX, Synthetic

SUBSCRIPTIONS = 200_000
STRATEGIES = ("rarest", "hot-split-10+demand", "composite")
PARTS = ("largest", "tuples", "peers", "reading")
LEAST_TUPLES = 1_000_000
LEAST_PEERS = 1_000
WANTED_S = 120.0
WANTED_MB = 4_000.0
WANTED_RATIO = 1.3
LOOK_S = 0.2
"""How often memory is looked at."""


@dataclass(frozen=True, slots=True)
class Run:
    """One count."""

    strategy: str
    peers: int
    tuples: int
    spark_s: float
    numpy_s: float | None
    """The same in one thread, None where it was not taken."""
    memory_mb: float
    """The most that this process and those it started had in memory of their own at one time, beside what they share."""

    @property
    def ratio(self) -> float | None:
        """How many times faster Spark was."""
        return None if self.numpy_s is None else self.numpy_s / self.spark_s


class Memory:
    """Looks at the memory of this process and all that it started, while the block runs."""

    def __enter__(self) -> Memory:
        self.most_mb = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.most_mb = max(self.most_mb, sum(map(own_mb, family(os.getpid()))))
            if self._over.wait(LOOK_S):
                return


def family(root: int) -> list[int]:
    """A process and all that it started, directly or not."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended since
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found = [root]
    for process in found:
        found += parents.get(process, [])
    return found


def own_mb(process: int) -> float:
    """The proportional share of memory of a process: what it shares is divided among those that share it."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1e3


def timed(count: Counter, plan: Plan, workload: Synthetic) -> tuple[float, Loads]:
    """The seconds of a count, and the count."""
    begin = time.perf_counter()
    loads = count(plan, workload)
    return time.perf_counter() - begin, loads


def measure(name: str, peers: int, tuples: int, spark: Counter, *, alone: bool) -> Run:
    """Count on Spark, and where asked for in one thread as well; ends the program where they differ."""
    workload = Synthetic(tuples)
    plan = make_plan(parse(name), workload, workload.subscriptions(SUBSCRIPTIONS, COMMON_MIX, 1), peer_ids(peers, 1))
    with Memory() as memory:
        spark_s, loads = timed(spark, plan, workload)
    numpy_s = None
    if alone:
        numpy_s, same = timed(in_one_thread(), plan, workload)
        if (loads.tuples != same.tuples).any() or (loads.work != same.work).any():
            sys.exit(f"{name}: Spark and one thread disagree")
    run = Run(name, peers, tuples, spark_s, numpy_s, memory.most_mb)
    # At once, so that what was measured is not lost with a run that is stopped.
    print(json.dumps(asdict(run)), file=sys.stderr, flush=True)
    return run


def table(title: str, runs: list[Run]) -> Table:
    """Runs with what each took for a tuple."""
    made = Table(title=title, box=SIMPLE_HEAD, title_justify="left")
    made.add_column("strategy")
    for heading in ("peers", "tuples", "Spark s", "ns a tuple", "one thread s", "times faster", "MB"):
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
            f"{run.memory_mb:,.0f}",
        )
    return made


def verdicts(parts: dict[str, list[Run]]) -> dict[str, bool]:
    """What was wanted, and whether it is so, of the parts that were measured."""
    found = {}
    if largest := parts.get("largest"):
        found[f"within {WANTED_S:.0f} s"] = max(run.spark_s for run in largest) <= WANTED_S
        found[f"within {WANTED_MB:,.0f} MB"] = max(run.memory_mb for run in largest) <= WANTED_MB
        for run in largest:
            found[f"{run.strategy}: {WANTED_RATIO} times faster than one thread"] = (run.ratio or 0.0) >= WANTED_RATIO
    if by_tuples := parts.get("tuples"):
        first, last = by_tuples[-2:][0], by_tuples[-1]
        # A tenth more for a tuple is no growth but noise.
        found["linear in tuples"] = last.spark_s / last.tuples <= 1.1 * first.spark_s / first.tuples
    by_peers = parts.get("peers", [])
    for few in by_peers:
        for many in by_peers:
            if few.strategy == many.strategy and few.peers == LEAST_PEERS and many.peers == by_peers[-1].peers:
                growth = math.log(many.peers) / math.log(few.peers)
                wanted = f"{few.strategy}: {few.peers:,} to {many.peers:,} peers at most {growth:.1f} times as long"
                found[wanted] = many.spark_s <= growth * few.spark_s
    return found


def powers(most: int, *, least: int) -> list[int]:
    """Powers of ten from the least to the most."""
    return [least * 10**power for power in range(20) if least * 10**power <= most]


def main() -> None:
    """Measure and print."""
    whole: Callable[[str], int] = lambda text: int(float(text))  # noqa: E731  # argparse wants a function
    parser = argparse.ArgumentParser(description="Spark beside one numpy thread, with the same kernels, on the same tuples.")
    parser.add_argument("--tuples", type=whole, default=100_000_000)
    parser.add_argument("--peers", type=whole, default=1_000_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--part", action="append", dest="parts", choices=PARTS)
    parser.add_argument("--strategy", action="append", dest="strategies")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    strategies = asked.strategies or list(STRATEGIES)

    started = session("benchmark", master=f"local[{asked.cores}]", partitions=asked.cores)
    reading = measure_reading(started, asked.tuples) if "reading" in (asked.parts or PARTS) else None
    spark = on_spark(started)
    for _ in range(0 if asked.parts == ["reading"] else 2):
        measure(strategies[0], asked.peers, 1 << 22, spark, alone=True)
    parts: dict[str, list[Run]] = {}
    for part in asked.parts or PARTS:
        if part == "reading":
            continue
        if part == "largest":
            parts[part] = [measure(name, asked.peers, asked.tuples, spark, alone=True) for name in strategies]
        elif part == "tuples":
            most = powers(asked.tuples, least=LEAST_TUPLES)
            parts[part] = [measure(strategies[0], LEAST_PEERS, tuples, spark, alone=False) for tuples in most]
        else:
            # The cheapest and the one that looks up most: what lies between grows as something between.
            ends = dict.fromkeys((strategies[0], strategies[-1]))
            most = powers(asked.peers, least=LEAST_PEERS)
            parts[part] = [measure(name, peers, asked.tuples, spark, alone=False) for name in ends for peers in most]
    found = verdicts(parts)
    if reading is not None:
        found[f"{WANTED_PER_S:,} tuples read a second"] = reading.per_s >= WANTED_PER_S

    if asked.json:
        document = {part: [asdict(run) for run in runs] for part, runs in parts.items()}
        document |= {} if reading is None else {"reading": [asdict(reading)]}
        print(json.dumps({"machine": machine(), **document, "verdicts": found}, indent=2))
        return
    console = Console(width=120)
    console.print(machine())
    titles = {"largest": "The largest run", "tuples": "Ever more tuples", "peers": "Ever more peers"}
    for part, runs in parts.items():
        console.print(table(titles[part], runs))
    if reading is not None:
        console.print(reading_table(reading))
    for wanted, holds in found.items():
        console.print(f"{'yes' if holds else 'NO '}  {wanted}")


if __name__ == "__main__":
    main()

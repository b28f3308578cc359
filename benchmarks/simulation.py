"""The simulation of large overlays: Spark beside one numpy thread, with the same kernels, on the same tuples.

    .venv/bin/python -m benchmarks.simulation [--tuples 1e8] [--peers 1e6] [--cores 2] [--strategy NAME ...] [--json]

Three tables. The first is the largest run on Spark, its time beside the same counting in one thread here, and what memory it took
at most. The second has ever more tuples, the third ever more peers, on Spark: time is to grow linearly with tuples, and at most as
the logarithm of the peers. The session is started, and Spark warmed with a small run, before anything is timed; posting the
subscriptions is not timed either, since both ways have that in common. Both counts must agree, or the program ends with status 1.
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
from simulations.balance import Counter, in_one_thread, on_spark
from simulations.plan import Plan, make_plan, peer_ids
from simulations.spark import session
from simulations.strategies import parse
from simulations.tally import Loads
from simulations.workload import COMMON_MIX, Synthetic

SUBSCRIPTIONS = 200_000
STRATEGIES = ("rarest", "hot-split-10+demand")
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
    return Run(name, peers, tuples, spark_s, numpy_s, memory.most_mb)


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


def verdicts(largest: list[Run], by_tuples: list[Run], by_peers: list[Run]) -> dict[str, bool]:
    """What was wanted, and whether it is so."""
    few, many = by_peers[0], by_peers[-1]
    first, last = by_tuples[-2], by_tuples[-1]
    growth = math.log(many.peers) / math.log(few.peers)
    return {
        f"within {WANTED_S:.0f} s": max(run.spark_s for run in largest) <= WANTED_S,
        f"within {WANTED_MB:,.0f} MB": max(run.memory_mb for run in largest) <= WANTED_MB,
        f"{WANTED_RATIO} times faster than one thread": min(run.ratio or 0.0 for run in largest) >= WANTED_RATIO,
        # A tenth more for a tuple is no growth but noise.
        "linear in tuples": last.spark_s / last.tuples <= 1.1 * first.spark_s / first.tuples,
        f"{few.peers:,} to {many.peers:,} peers: at most {growth:.1f} times as long": many.spark_s <= growth * few.spark_s,
    }


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
    parser.add_argument("--strategy", action="append", dest="strategies")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    strategies = asked.strategies or list(STRATEGIES)

    spark = on_spark(session("benchmark", master=f"local[{asked.cores}]", partitions=asked.cores))
    for _ in range(2):
        measure(strategies[0], asked.peers, 1 << 22, spark, alone=True)
    largest = [measure(name, asked.peers, asked.tuples, spark, alone=True) for name in strategies]
    by_tuples = [measure(strategies[0], 1_000, tuples, spark, alone=False) for tuples in powers(asked.tuples, least=1_000_000)]
    by_peers = [measure(strategies[0], peers, asked.tuples, spark, alone=False) for peers in powers(asked.peers, least=1_000)]
    found = verdicts(largest, by_tuples, by_peers)

    if asked.json:
        runs = {"largest": largest, "by_tuples": by_tuples, "by_peers": by_peers}
        document = {name: [asdict(run) for run in some] for name, some in runs.items()}
        print(json.dumps({"machine": machine(), **document, "verdicts": found}, indent=2))
        return
    console = Console(width=120)
    console.print(machine())
    console.print(table("The largest run", largest))
    console.print(table("Ever more tuples", by_tuples))
    console.print(table("Ever more peers", by_peers))
    for wanted, holds in found.items():
        console.print(f"{'yes' if holds else 'NO '}  {wanted}")


if __name__ == "__main__":
    main()

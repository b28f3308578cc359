"""Standing queries matched by a space, triple by triple, beside CLIPS, py_rete and a bare set.

    .venv/bin/python -m benchmarks.rete [--n 1,100,1000,10000] [--triples 100000] [--budget SECONDS] [--json]

The workload is that of rete_rivals.py. Every measurement runs in a fresh process, so that no engine inherits another's heap. Ours
is taken twice: with the cyclic garbage collector as ``gsg peer`` tunes it, and as Python starts it. Every insert is timed by
itself; a figure therefore includes one look at the clock, which the bare set beside it includes too. Memory is the growth of the
process's resident set, and excludes the triples' own strings, which the workload holds in any case.

A wrong number of rows ends the program with status 1.
"""

from __future__ import annotations

import argparse
import gc
import json
import mmap
import time
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress, TextColumn
from rich.table import Table

import gsg
from benchmarks.machine import machine
from benchmarks.rete_rivals import Outcome, Query, Triple, expected_rows, run_clips, run_py_rete, workload
from gsg.cli.peer import YOUNG_OBJECTS

WANTED_US = {1: 5.0, 10_000: 20.0}
"""The mean that is wanted of us at most, by the number of queries."""

FEWEST_FOR_MEMORY = 100
"""Below so many queries the resident set, which grows by pages, says nothing about one of them."""

WIDTH = 132
"""Columns to write where there is no terminal to ask: the wider of the tables."""

AS_PEER, AS_PYTHON, BARE_SET = "gsg.Space, collector as in gsg peer", "gsg.Space, collector as Python starts", "a bare set"

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run of ours, or of the floor, took."""

    engine: str
    queries: int
    mean_us: float
    median_us: float
    p999_us: float
    longest_us: float
    rows: int
    register_us: float
    """To register one query, in the mean."""
    query_bytes: int | None
    """What the resident set grew by for one query; None where that cannot be known."""
    fact_bytes: int | None


def resident_bytes() -> int | None:
    """The memory that this process has resident now, None where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * mmap.PAGESIZE


def growth(before: int | None, after: int | None, pieces: int) -> int | None:
    """What the resident set grew by for each piece."""
    return None if before is None or after is None else (after - before) // pieces


def tune(engine: str) -> None:
    """Set the collector up. What the workload holds is settled before, for both."""
    gc.collect()
    if engine == AS_PEER:
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS, 20, 50)


def each_timed(insert: Callable[[Triple], object], triples: Sequence[Triple]) -> array[int]:
    """Nanoseconds of each insert."""
    spent_ns = array("q", bytes(8 * len(triples)))
    clock = time.perf_counter_ns
    before = clock()
    for number, triple in enumerate(triples):
        insert(triple)
        now = clock()
        spent_ns[number] = now - before
        before = now
    return spent_ns


def run_space(engine: str, n_queries: int, n_triples: int) -> Figures:
    """The workload on a space."""
    queries, triples = workload(n_queries, n_triples)
    tune(engine)
    rows = 0

    def count(sign: gsg.Sign, row: gsg.Row) -> None:
        nonlocal rows
        rows += sign

    texts = [text_of(query) for query in queries]
    space = gsg.Space()
    # The parser builds its tables once, at the first query of a process.
    space.subscribe(texts[0], callback=count).close()

    empty_bytes = resident_bytes()
    started = time.perf_counter()
    for text in texts:
        space.subscribe(text, callback=count)
    register_us = (time.perf_counter() - started) / n_queries * 1e6
    registered_bytes = resident_bytes()
    insert = space.insert
    spent_ns = each_timed(lambda triple: insert([triple]), triples)
    filled_bytes = resident_bytes()

    query_bytes = growth(empty_bytes, registered_bytes, n_queries) if n_queries >= FEWEST_FOR_MEMORY else None
    fact_bytes = growth(registered_bytes, filled_bytes, n_triples)
    return figures(engine, n_queries, spent_ns, rows, register_us, query_bytes, fact_bytes)


def text_of(query: Query) -> str:
    """The query in GSG script."""
    actor, city = query
    return f'(?f, "director", ?d), (?f, "starring", "{actor}"), (?d, "bornIn", "{city}")'


def run_set(n_queries: int, n_triples: int) -> Figures:
    """The floor: the same triples into a set, one by one, and nothing else."""
    _, triples = workload(n_queries, n_triples)
    tune(AS_PEER)
    bare: set[Triple] = set()
    before = resident_bytes()
    spent_ns = each_timed(bare.add, triples)
    fact_bytes = growth(before, resident_bytes(), n_triples)
    return figures(BARE_SET, n_queries, spent_ns, 0, 0.0, None, fact_bytes)


def figures(
    engine: str,
    n_queries: int,
    spent_ns: array[int],
    rows: int,
    register_us: float,
    query_bytes: int | None,
    fact_bytes: int | None,
) -> Figures:
    """The summary of a run."""
    ordered = sorted(spent_ns)
    return Figures(
        engine,
        n_queries,
        mean_us=sum(ordered) / len(ordered) / 1e3,
        median_us=ordered[len(ordered) // 2] / 1e3,
        p999_us=ordered[len(ordered) * 999 // 1000] / 1e3,
        longest_us=ordered[-1] / 1e3,
        rows=rows,
        register_us=register_us,
        query_bytes=query_bytes,
        fact_bytes=fact_bytes,
    )


def run_rival(name: str, n_queries: int, n_triples: int, budget_s: float) -> Outcome | None:
    """One of RIVALS; None when it is not installed."""
    queries, triples = workload(n_queries, n_triples)
    try:
        if name.startswith("CLIPS"):
            return run_clips(queries, triples, budget_s, selective_first=name == "CLIPS")
        return run_py_rete(queries, triples, budget_s, duplicate_check=name != "py_rete")
    except ModuleNotFoundError:
        return None


def rivals(n_queries: int) -> list[str]:
    """The rivals to run. py_rete's search for duplicates costs more than all else, so once is enough."""
    names = ["CLIPS", "CLIPS, as written", "py_rete"]
    return [*names, "py_rete, with its search for duplicates"] if n_queries == 1 else names


def in_fresh_process(run: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """The outcome of ``run``, which starts with an empty heap."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(run, *arguments, **named).result()


@dataclass(frozen=True, slots=True)
class Compared:
    """All that was measured for one number of queries."""

    queries: int
    expected_rows: int
    ours: list[Figures]
    floor: Figures
    rivals: list[Outcome]
    missing: list[str]
    """Rivals that are not installed."""
    wrong: list[str]
    """Engines whose rows are not those of the plain definition, as far as they came."""

    @property
    def wanted_us(self) -> float | None:
        """The mean that is wanted of us at most."""
        return WANTED_US.get(self.queries)

    @property
    def mean_us(self) -> float:
        """Ours, as a peer runs."""
        return self.ours[0].mean_us


def compare(n_queries: int, n_triples: int, budget_s: float, say: Callable[[str], None]) -> Compared:
    """Run everybody."""
    queries, triples = workload(n_queries, n_triples)
    expected = expected_rows(queries, triples)
    say(f"{n_queries:,} queries: {BARE_SET}")
    floor = in_fresh_process(run_set, n_queries, n_triples)
    ours = []
    for engine in (AS_PEER, AS_PYTHON):
        say(f"{n_queries:,} queries: {engine}")
        ours.append(in_fresh_process(run_space, engine, n_queries, n_triples))
    wrong = [f"{one.engine}: {one.rows} rows, expected {expected}" for one in ours if one.rows != expected]
    outcomes: list[Outcome] = []
    missing: list[str] = []
    for name in rivals(n_queries):
        say(f"{n_queries:,} queries: {name}, {budget_s:.0f} s at most")
        outcome = in_fresh_process(run_rival, name, n_queries, n_triples, budget_s)
        if outcome is None:
            missing.append(name)
            continue
        outcomes.append(outcome)
        so_far = expected_rows(queries, triples[: outcome.inserted])
        if outcome.rows != so_far:
            wrong.append(f"{name}: {outcome.rows} rows after {outcome.inserted:,} triples, expected {so_far}")
    return Compared(n_queries, expected, ours, floor, outcomes, missing, wrong)


def ours_table(compared: Sequence[Compared]) -> Table:
    """How long our inserts took, and what they need."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("N", "engine"):
        table.add_column(heading, justify="left" if heading == "engine" else "right", no_wrap=True)
    for heading in ("mean µs", "median", "99.9 %", "longest", "rows", "µs a query", "B a query", "B a fact"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in compared:
        for each in [one.floor, *one.ours]:
            times = (f"{each.mean_us:.2f}", f"{each.median_us:.2f}", f"{each.p999_us:.1f}", f"{each.longest_us:,.0f}")
            asked = ("", "") if each is one.floor else (f"{each.rows:,}", f"{each.register_us:.0f}")
            table.add_row(f"{one.queries:,}", each.engine, *times, *asked, _bytes(each.query_bytes), _bytes(each.fact_bytes))
        table.add_section()
    return table


def _bytes(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def rivals_table(compared: Sequence[Compared]) -> Table:
    """Our mean beside the others'."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("N", "engine", "mean µs", "times ours", "rows", "how far it came"):
        left = heading in ("engine", "how far it came")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for one in compared:
        ours = one.ours[0]
        table.add_row(f"{one.queries:,}", ours.engine, f"{ours.mean_us:,.2f}", "1", f"{ours.rows:,}", "all triples")
        for each in one.rivals:
            ratio = each.mean_us / ours.mean_us
            mean = (f"{each.mean_us:,.0f}", f"{ratio:,.0f}") if each.inserted else ("", "")
            table.add_row(f"{one.queries:,}", each.engine, *mean, f"{each.rows:,}", how_far(each))
        for name in one.missing:
            table.add_row(f"{one.queries:,}", name, "", "", "", "not installed: make bench does it")
        table.add_section()
    return table


def how_far(outcome: Outcome) -> str:
    """What a rival did within its budget."""
    if outcome.finished:
        return "all triples"
    if outcome.added < outcome.queries:
        return f"stopped at its budget while adding query {outcome.added + 1:,}"
    return f"stopped at its budget after {outcome.inserted:,} triples"


def verdicts(compared: Sequence[Compared]) -> list[str]:
    """What is wanted, beside what was reached."""
    return [
        f"N = {one.queries:,}: at most {one.wanted_us:g} µs an insert wanted, {one.mean_us:.2f} measured: "
        + ("reached" if one.mean_us <= one.wanted_us else "missed")
        for one in compared
        if one.wanted_us is not None
    ]


def main() -> None:
    """Run, print, and exit 1 when a number of rows was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", default="1,100,1000,10000", help="numbers of queries (default: %(default)s)")
    parser.add_argument("--triples", type=int, default=100_000, help="how many are inserted (default: %(default)s)")
    parser.add_argument("--budget", type=float, default=30.0, metavar="SECONDS", help="for each rival (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    arguments = parser.parse_args()
    try:
        numbers = [int(number) for number in arguments.n.split(",")]
    except ValueError:
        parser.error(f"--n {arguments.n}: expected whole numbers with commas between, such as 1,100")
    if min(numbers) < 1 or arguments.triples < 1:
        parser.error("expected at least one query and one triple")

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDTH)
    with Progress(TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("")
        compared = [
            compare(number, arguments.triples, arguments.budget, lambda text: progress.update(task, description=text))
            for number in numbers
        ]
    if arguments.json:
        figures_of = [asdict(one) | {"wanted_us": one.wanted_us} for one in compared]
        print(json.dumps({"machine": machine(), "triples": arguments.triples, "compared": figures_of}, indent=2))
    else:
        console.print(f"{machine()}; {arguments.triples:,} triples inserted one by one while N standing queries are matched")
        console.print(ours_table(compared))
        console.print(rivals_table(compared))
        for verdict in verdicts(compared):
            console.print(verdict)
        for one in compared:
            for problem in one.wrong:
                console.print(f"WRONG at N = {one.queries:,}: {problem}", style="red")
    raise SystemExit(1 if any(one.wrong for one in compared) else 0)


if __name__ == "__main__":
    main()

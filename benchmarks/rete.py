"""Standing queries matched by a space, triple by triple, beside CLIPS, py_rete, pyoxigraph evaluating again, and a bare set.

    .venv/bin/python -m benchmarks.rete [--parts matching,memory,turnover,films] [--n 1,100,1000,10000] [--triples 100000] [--json]

Parts, each taken in processes of their own, one after the other:

* matching: N queries; all triples inserted one by one, then retracted one by one in another order; queries added and dropped
* memory: what one query and one fact weigh
* turnover: as many subscriptions as the largest N come and go against facts that stay: does the memory come back?
* films: 10,000 queries of three patterns on real data, one by one and in batches, every answer compared with pyoxigraph's

Ours is taken as ``gsg peer`` tunes the cyclic garbage collector, in the first part also as Python starts it. A rival is stopped at
its budget, and the table says how far it came. Wrong rows of ours end the program with status 1, a rival's are told; wanted figures
that were missed are marked. ``--quick`` is a trial of the program, about twenty seconds long, whose figures mean little.
Open next: matching/figures.py.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from benchmarks.machine import machine
from benchmarks.matching.figures import Runner, in_fresh_process, in_this_process
from benchmarks.matching.films import BATCH, Films, run_film_floor, run_film_rival, run_films, weigh_films
from benchmarks.matching.measured import Compared, Measured, OnFilms, Turned, Weighed
from benchmarks.matching.memory import turn_over, weigh
from benchmarks.matching.ours import AS_PEER, AS_PYTHON, BARE_SET, run_set, run_space
from benchmarks.matching.reevaluation import PYOXIGRAPH, run_reevaluation
from benchmarks.matching.report import show
from benchmarks.matching.rivals import CLIPS, CLIPS_AS_WRITTEN, PY_RETE, PY_RETE_AS_PUBLISHED, Outcome, checked, run_rival
from benchmarks.matching.wanted import FULL_SIZE, verdicts
from benchmarks.matching.workload import expected_rows, patterns_of, workload

PARTS = ("matching", "memory", "turnover", "films")

WIDTH = 132
"""Columns to write where there is no terminal to ask: the widest of the tables."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run."""

    parts: tuple[str, ...]
    numbers: tuple[int, ...]
    """Of queries."""
    triples: int
    budget_s: float
    """For each rival, and again for its retractions."""
    films: Films

    @property
    def is_full_size(self) -> bool:
        """Whether this is what the wanted figures are for."""
        return (max(self.numbers), self.triples) == FULL_SIZE and self.films.triples is None


def measure(plan: Plan, run: Runner, say: Callable[[str], None]) -> Measured:
    """Run everybody."""
    measured = Measured()
    if "matching" in plan.parts:
        measured.compared = [compare(number, plan, run, say) for number in plan.numbers]
    if "memory" in plan.parts:
        for number in plan.numbers:
            say(f"{number:,} queries: memory")
            measured.weighed.append(
                Weighed(run(weigh, True, number, plan.triples), run(weigh, False, number, plan.triples)),
            )
    if "turnover" in plan.parts:
        most = max(plan.numbers)
        say(f"{most:,} subscriptions come and go")
        expected = expected_rows(*workload(most, plan.triples))
        measured.turned = Turned(run(turn_over, True, most, plan.triples), run(turn_over, False, most, plan.triples), expected)
    if "films" in plan.parts and plan.films.data.exists():
        measured.films = on_films(plan.films, run, say)
    elif "films" in plan.parts:
        measured.skipped.append(f"films: {plan.films.data.name} is not there; it comes with the shared data (GSG_SHARED)")
    return measured


def compare(n_queries: int, plan: Plan, run: Runner, say: Callable[[str], None]) -> Compared:
    """The synthetic workload with one number of queries."""
    pairs, triples = workload(n_queries, plan.triples)
    queries = [patterns_of(pair) for pair in pairs]
    say(f"{n_queries:,} queries: {BARE_SET}")
    floor = run(run_set, plan.triples)
    ours = []
    for engine in (AS_PEER, AS_PYTHON):
        say(f"{n_queries:,} queries: {engine}")
        ours.append(run(run_space, engine, n_queries, plan.triples))

    # py_rete's search for duplicates costs more than all else, so once is enough.
    names = [CLIPS, CLIPS_AS_WRITTEN, PY_RETE, *([PY_RETE_AS_PUBLISHED] if n_queries == 1 else [])]
    outcomes: list[Outcome] = []
    missing: list[str] = []
    for name in names:
        say(f"{n_queries:,} queries: {name}, twice {plan.budget_s:.0f} s at most")
        outcome = run(run_rival, name, queries, triples, plan.budget_s)
        if outcome is None:
            missing.append(name)
        else:
            outcomes.append(checked(outcome, triples, lambda some: expected_rows(pairs, some)))
    say(f"{n_queries:,} queries: {PYOXIGRAPH}, about {plan.budget_s:.0f} s at most")
    outcomes.append(run(run_reevaluation, pairs, triples, plan.budget_s))
    return Compared(n_queries, plan.triples, expected_rows(pairs, triples), floor, ours, outcomes, missing)


def on_films(films: Films, run: Runner, say: Callable[[str], None]) -> OnFilms:
    """The real data."""
    say(f"films: {BARE_SET}")
    floor = run(run_film_floor, films)
    ours = []
    for language, batch in (("gsg", 1), ("gsg", BATCH), ("sparql", 1)):
        say(f"films: queries in {language}, {batch:,} triples a call")
        ours.append(run(run_films, films, language, batch))
    outcomes: list[Outcome] = []
    missing: list[str] = []
    for name in (CLIPS, PY_RETE):
        say(f"films: {name}, twice {films.budget_s:.0f} s at most")
        outcome = run(run_film_rival, films, name)
        if outcome is None:
            missing.append(name)
        else:
            outcomes.append(outcome)
    say("films: memory")
    return OnFilms(floor, ours, Weighed(run(weigh_films, True, films), run(weigh_films, False, films)), outcomes, missing)


def plan_of(arguments: argparse.Namespace, fail: Callable[[str], object]) -> Plan:
    """What the command line asks for."""
    parts = tuple(arguments.parts.split(","))
    if not set(parts) <= set(PARTS):
        fail(f"--parts {arguments.parts}: expected some of {','.join(PARTS)}")
    try:
        numbers = tuple(int(number) for number in arguments.n.split(",")) if arguments.n else ()
    except ValueError:
        fail(f"--n {arguments.n}: expected whole numbers with commas between, such as 1,100")
    quick = arguments.quick
    numbers = numbers or ((1, 100, 300) if quick else (1, 100, 1_000, 10_000))
    triples = arguments.triples or (4_000 if quick else 100_000)
    budget_s = arguments.budget or (0.5 if quick else 30.0)
    if min(numbers) < 1 or triples < 1 or budget_s <= 0:
        fail("expected at least one query, one triple and some time")
    films = Films(300, 5_000, budget_s) if quick else Films(10_000, None, budget_s)
    return Plan(parts, numbers, triples, budget_s, films)


def main() -> None:
    """Run, print, and exit 1 when rows were wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS), help="which parts to run (default: %(default)s)")
    parser.add_argument("--n", default="", help="numbers of queries (default: 1,100,1000,10000)")
    parser.add_argument("--triples", type=int, default=0, help="how many are inserted (default: 100000)")
    parser.add_argument("--budget", type=float, default=0, metavar="SECONDS", help="for each rival's phase (default: 30)")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--one-process", action="store_true", help="no fresh processes: quicker still, and for that alone")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    arguments = parser.parse_args()
    plan = plan_of(arguments, parser.error)

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDTH)
    columns = (TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("")
        run = in_this_process if arguments.one_process else in_fresh_process
        measured = measure(plan, run, lambda text: progress.update(task, description=text))
    wanted = verdicts(measured)
    if arguments.json:
        document = {"machine": machine(), "full_size": plan.is_full_size, "measured": asdict(measured)}
        judged = {"verdicts": list(map(asdict, wanted)), "wrong": measured.wrong(), "wrong_elsewhere": measured.wrong_elsewhere()}
        print(json.dumps(document | judged, indent=2))
    else:
        console.print(f"{machine()}; N standing queries on {plan.triples:,} triples")
        if not plan.is_full_size:
            console.print("The sizes are not those that the wanted figures are for: the marks say little.")
        show(console, measured, wanted)
    raise SystemExit(1 if measured.wrong() else 0)


if __name__ == "__main__":
    main()

"""The Standing Query Benchmark: a workload from a seed, reference answers, and systems that are held against them.

    python -m benchmarks.suite generate workload --size medium --seed 1
    python -m benchmarks.suite run --size small --system peers --system rdfpeers --system reevaluation
    python -m benchmarks.suite run --workload workload --command './my_adapter'
    python -m benchmarks.suite check workload

`run` ends with status 1 where a system has answered anything wrong, and so does `check` where the reference answers are not what
pyoxigraph finds by evaluating again, change by change up to 20,000 changes, and round by round beyond. docs/suite.md says the rest.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.deliveries import run_checked
from benchmarks.machine import Stolen, machine
from simulations.errors import SimulationError

from . import files
from .campus import SIZES, TINY, Size
from .driver import Driver, Outcome, Pace
from .figures import described, notes, table
from .files import BadFolder, Workload
from .systems import serve
from .systems.over_pipes import OverPipes, SystemFailed
from .systems.real_peers import PEERS, RealPeers
from .systems.reevaluation import Reevaluation
from .systems.system import System, Tell

EXACT_UP_TO = 20_000
"""Changes up to which `check` goes change by change."""
_CANNOT = (BadFolder, SimulationError, SystemFailed, ValueError, OSError)
"""What ends a command with status 2."""
_ALL_SIZES = {"tiny": TINY, **SIZES}


@contextmanager
def told_progress() -> Iterator[files.Progress]:
    """A bar on standard error, where somebody sees it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as drawn:
        tasks: dict[str, object] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = drawn.add_task(what, total=total)
            drawn.update(tasks[what], completed=done, total=total)  # type: ignore[arg-type]  # a TaskID, of a private type

        yield progress


def size_of(options: argparse.Namespace) -> Size:
    """A named size, with what else was said. Raises ValueError for numbers that cannot be."""
    said = {
        name: getattr(options, name)
        for name in ("changes", "subscriptions", "overlap", "narrowed", "rounds")
        if getattr(options, name) is not None
    }
    return replace(_ALL_SIZES[options.size], **said)


@contextmanager
def workload_of(options: argparse.Namespace) -> Iterator[Workload]:
    """The workload that is named, checked, or one that is made for this run."""
    if options.workload is not None:
        workload = Workload(options.workload)
        workload.check()
        yield workload
        return
    with tempfile.TemporaryDirectory() as folder, told_progress() as progress:
        files.generate(Path(folder), size_of(options), options.seed, progress=progress)
        yield Workload(Path(folder))


def makers(options: argparse.Namespace) -> list[Callable[[Tell], System]]:
    """What makes each of the systems that were asked for."""

    def program(name: str) -> Callable[[Tell], System]:
        command = [sys.executable, "-m", "benchmarks.suite.systems.serve", name, "--peers", str(options.peers)]
        return lambda tell: OverPipes(tell, command, name)

    def peers(tell: Tell) -> System:
        return RealPeers(tell, options.peers, sure=options.sure)

    chosen = options.system or ([] if options.command else ["peers"])
    found = [peers if name == "peers" else program(name) for name in chosen]
    return found + list(map(_of_command, options.command))


def _of_command(command: str) -> Callable[[Tell], System]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"--command {command!r}: {str(error).lower()}; expected a program with its arguments") from None
    return lambda tell: OverPipes(tell, words)


def generate(options: argparse.Namespace) -> int:
    """Write a workload."""
    with told_progress() as progress:
        made = files.generate(options.folder, size_of(options), options.seed, sampled=options.sampled, progress=progress)
    print(msgspec.json.encode(made).decode() if options.json else described(made))
    return 0


def run(options: argparse.Namespace) -> int:
    """Run systems one after the other."""
    pace = Pace(options.batch, options.per_s, options.paced, options.patience, options.exact)
    outcomes: list[Outcome] = []
    stolen = Stolen()
    with workload_of(options) as workload, told_progress() as progress:
        for make in makers(options):
            outcomes.append(run_checked(Driver(workload, make, pace, progress).run()))
    said = notes(outcomes)
    if options.json:
        document = {
            "machine": machine(),
            "stolen": stolen.share(),
            "workload": msgspec.to_builtins(workload.described),
            "pace": asdict(pace),
            "outcomes": [asdict(outcome) for outcome in outcomes],
        }
        print(json.dumps(document, indent=2))
    else:
        taken = f"; the host took {stolen.share():.0%}" if stolen.share() >= 0.05 else ""
        print(f"{machine()}{taken}; {described(workload.described)}\n")
        print(table(outcomes, workload.described.changes))
        print(*["", *said], sep="\n")
    return 0 if all(outcome.is_right for outcome in outcomes) else 1


def check(options: argparse.Namespace) -> int:
    """Hold the reference answers of a workload against pyoxigraph."""
    workload = Workload(options.folder)
    workload.check()
    changes = workload.described.changes
    exact = changes <= EXACT_UP_TO
    pace = Pace(batch=changes, paced=0, patience_s=0.0, exact=exact)
    with told_progress() as progress:
        outcome = run_checked(Driver(workload, Reevaluation, pace, progress).run())
    how = "change by change" if exact else "round by round"
    print(f"{outcome.verdict.right:,} of {outcome.subscriptions:,} reference answers are what pyoxigraph finds, {how}")
    print(*notes([outcome]), sep="\n")
    return 0 if outcome.is_right else 1


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line. Raises SystemExit with status 2 for what cannot be."""
    parser = argparse.ArgumentParser("benchmarks.suite", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = argparse.ArgumentParser(add_help=False)
    sizes.add_argument("--size", choices=list(_ALL_SIZES), default="small")
    sizes.add_argument("--seed", type=int, default=1)
    sizes.add_argument("--changes", type=int, help="so many lines of changes and events at most, instead of the size's")
    sizes.add_argument("--subscriptions", type=int, help="so many, instead of the size's")
    sizes.add_argument("--overlap", type=float, help="share of subscriptions that a group has in common (0.5)")
    sizes.add_argument("--narrowed", type=float, help="share of subscriptions that narrow one of those (0.2)")
    sizes.add_argument("--rounds", type=int, help="after each of which answers are compared (10)")
    commands = parser.add_subparsers(required=True, metavar="generate | run | check")
    one = commands.add_parser("generate", parents=[sizes], help="write a workload with its reference answers")
    one.add_argument("folder", type=Path)
    one.add_argument("--sampled", type=int, default=1_000, help="subscriptions whose whole history is written (1,000)")
    one.add_argument("--json", action="store_true", help="what was written, as JSON")
    one.set_defaults(work=generate)
    one = commands.add_parser("run", parents=[sizes], help="run systems, and compare what they tell with what is right")
    one.add_argument("--workload", type=Path, help="a folder that generate has written; else one is made")
    one.add_argument("--system", action="append", choices=["peers", *serve.NAMES], help="several are run one after the other")
    one.add_argument("--command", action="append", default=[], help="a program that speaks as docs/suite.md says")
    one.add_argument("--peers", type=int, default=PEERS, help=f"of peers and of rdfpeers ({PEERS})")
    one.add_argument("--sure", action="store_true", help="wait until peers are sure of their keys, a minute and a half")
    one.add_argument("--batch", type=int, default=Pace.batch, help="changes that are handed in together (1,000)")
    one.add_argument("--per-s", type=float, default=Pace.per_s, help="changes a second where latencies are taken (200)")
    one.add_argument("--paced", type=int, default=Pace.paced, help="how many changes those are, at most (2,000)")
    one.add_argument("--patience", type=float, default=Pace.patience_s, help="seconds that rows may take to be right (60)")
    one.add_argument("--exact", action="store_true", help="one change after the other, and positions compared too")
    one.add_argument("--json", action="store_true", help="figures as JSON")
    one.set_defaults(work=run)
    one = commands.add_parser("check", help="evaluate a workload's queries again, with pyoxigraph")
    one.add_argument("folder", type=Path)
    one.set_defaults(work=check)
    options = parser.parse_args(arguments)
    for name, least in (("peers", 1), ("batch", 1), ("paced", 0), ("sampled", 1)):
        if getattr(options, name, least) < least:
            parser.error(f"--{name}: {getattr(options, name)}; expected {least} or more")
    if not getattr(options, "per_s", 1) > 0:
        parser.error(f"--per-s: {options.per_s:g}; expected more than 0")
    if not getattr(options, "patience", 0) >= 0:
        parser.error(f"--patience: {options.patience:g}; expected 0 or more")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 where all is right, 1 where it is not, 2 where it cannot be done."""
    options = parsed(arguments)
    try:
        return int(options.work(options))
    except BaseExceptionGroup as errors:
        # Of what is under way at once all fail together, and the first says why.
        mine, others = errors.split(_CANNOT)
        if mine is None or others is not None:
            raise
        error: BaseException = next(leaves(mine))
    except _CANNOT as one:
        error = one
    print(f"benchmarks.suite: {error}", file=sys.stderr)
    return 2


def leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    """The exceptions of a group, and of groups in it."""
    for error in group.exceptions:
        yield from leaves(error) if isinstance(error, BaseExceptionGroup) else [error]


if __name__ == "__main__":
    sys.exit(main())

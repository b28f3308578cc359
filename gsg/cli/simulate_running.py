"""What all runs of ``gsg simulate`` share: one line for a mistake, and a bar while they go."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from simulations.findings import Findings
    from simulations.sweep import Player
    from simulations.watching import Progress

CommandT = TypeVar("CommandT", bound=Callable[..., Any])  # Any: click calls it with whatever its options are

_SWEEP_OPTIONS = (
    click.option("--seed", default=1, show_default=True, help="The same seed gives the same result, however it is run."),
    click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Where results and report go."),
    click.option("--master", default="local[*]", show_default=True, help="Spark's master; 'given' under spark-submit."),
    click.option(
        "--partitions", type=click.IntRange(min=1), help="Into how many tasks the runs are put. [default: one for each run]"
    ),
    click.option(
        "--engine", type=click.Choice(["spark", "numpy"]), default="spark", show_default=True, help="numpy: in one thread."
    ),
    click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table."),
)


def sweep_options(command: CommandT) -> CommandT:
    """The options of an experiment that is a sweep over parameters, below its own ones."""
    for option in reversed(_SWEEP_OPTIONS):
        command = option(command)
    return command


def played(
    run: Callable[[Callable[[], Player], Callable[[str], None]], Findings],
    *,
    out: Path,
    master: str,
    partitions: int | None,
    engine: str,
    as_json: bool,
) -> None:
    """Run an experiment under a bar and print what it came to; ``run`` is given what starts a player, and what names a part."""
    with bar() as (title, progress):

        def player() -> Player:
            from simulations.sweep import in_one_thread, on_spark

            if engine == "numpy":
                return in_one_thread(progress)
            from simulations.spark import session

            return on_spark(session("gsg simulate", master=master), partitions=partitions, progress=progress)

        findings = run(player, title)
    if as_json:
        click.echo(json.dumps(findings.summary, indent=2))
        return
    from .simulate_tables import shown_table
    from .tables import console

    output = console()
    for shown in findings.tables:
        output.print(shown_table(shown))
    output.print(findings.notes, style="dim", soft_wrap=False)
    output.print(f"results, configuration and report.html are in {out}", soft_wrap=True)


@contextmanager
def mistakes_told() -> Iterator[None]:
    """One line and status 2 for whatever a run cannot be."""
    try:
        from simulations.errors import SimulationError
    except ImportError as error:
        # numpy is the first thing that is missing where the extra is.
        click.echo(f"gsg: the simulation is not installed ({error}); install the extra: pip install 'gsg-router[sim]'", err=True)
        sys.exit(2)
    try:
        yield
    except SimulationError as error:
        click.echo(f"gsg: {error}", err=True)
        sys.exit(2)
    except ImportError as error:
        click.echo(f"gsg: the simulation is not installed ({error}); install the extra: pip install 'gsg-router[sim]'", err=True)
        sys.exit(2)


@contextmanager
def bar() -> Iterator[tuple[Callable[[str], None], Progress]]:
    """What names the part of a run that is under way, and what is told how far it is; drawn where standard error is a terminal."""
    if not sys.stderr.isatty():
        yield (lambda _: None), (lambda _, __: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task("reading", total=None)
        yield (
            lambda title: drawn.reset(task, description=title, total=None),
            lambda done, of: drawn.update(task, completed=done, total=of),
        )

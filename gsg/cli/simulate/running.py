"""What all runs of ``gsg simulate`` share: the options that say how, one line for a mistake, a bar while they go, and the end."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

import click

from ..arguments import with_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from simulations.engine.experiment import Experiment
    from simulations.engine.html_page import Table
    from simulations.engine.spark_progress import Progress

Title: TypeAlias = Callable[[str], None]
"""Names the part of a run that is under way."""
Engine = TypeVar("Engine")
Command: TypeAlias = Callable[..., Any]  # Any: click calls it with whatever its options are


@dataclass(frozen=True, slots=True)
class How:
    """How a run goes, whatever is run: where and by what, and where its results go."""

    out: Path
    """A folder of this machine."""
    master: str | None
    conf: tuple[str, ...]
    """Settings of Spark, as spark-submit has them."""
    partitions: int | None
    engine: str
    as_json: bool

    @property
    def on_spark(self) -> bool:
        """Whether Spark runs it."""
        return self.engine == "spark"

    def session(self, title: Title) -> SparkSession:
        """Spark, started; ``title`` is told of it, since that takes seconds. Raises SimulationError."""
        return start_spark(title, self.master, self.conf)

    def provenance(self) -> dict[str, object]:
        """What makes the result of a run, to be asked for when it has run."""
        from simulations.engine.provenance import made_by

        return made_by(spark_told(self.partitions) if self.on_spark else numpy_told())


def start_spark(title: Title, master: str | None, conf: Sequence[str]) -> SparkSession:
    """Spark, started for the rest of this command; from then on Ctrl-C ends the command at once. Raises SimulationError."""
    from simulations.engine.spark import conf_of, session

    settings = conf_of(conf)
    title("starting Spark")
    started = session("gsg simulate", master=master, conf=settings)
    # Spark's own way is to ask its tasks to end, and to wait for those that do not.
    before = signal.signal(signal.SIGINT, _end_at_once)
    click.get_current_context().call_on_close(lambda: signal.signal(signal.SIGINT, before))
    return started


def _end_at_once(number: int, _: object) -> NoReturn:
    """End without waiting for anybody: Java ends with this process, and its workers with it."""
    if sys.stderr.isatty():
        sys.stderr.write("\x1b[?25h\n")  # the bar has hidden the cursor
        sys.stderr.flush()
    os._exit(128 + number)


master_option = click.option(
    "--master", help="Spark's master; 'given' is the one of Spark's own settings. [default: spark-submit's, elsewhere local[*]]"
)


conf_option = click.option(
    "--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark, as spark-submit has them; may be repeated."
)


def numpy_told() -> str:
    """The engine of one thread by its name."""
    import numpy

    return f"numpy {numpy.__version__}, one thread"


def spark_told(partitions: int | None) -> str:
    """The session that runs, by Spark's version and its master."""
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    where = "" if spark is None else f" {spark.version} on {spark.conf.get('spark.master', 'its server')}"
    return f"Spark{where}{'' if partitions is None else f', {partitions} partitions'}"


def run_options(*, cut: str) -> Callable[[Command], Command]:
    """The options that all experiments have, below their own ones; ``cut`` says what ``--partitions`` cuts into so many."""
    options = (
        click.option("--seed", default=1, show_default=True, help="The same seed gives the same result, however it is run."),
        click.option("--out", required=True, metavar="DIR", help="Where results and report go."),
        master_option,
        conf_option,
        click.option("--partitions", type=click.IntRange(min=1), help=cut),
        click.option(
            "--engine", type=click.Choice(["spark", "numpy"]), default="spark", show_default=True, help="numpy: in one thread."
        ),
        click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table."),
    )

    def decorated(command: Command) -> Command:
        @wraps(command)
        def bundled(**given: Any) -> None:  # Any: as above
            with mistakes_told():
                from simulations.engine.places import written_to

                given["out"] = written_to(given["out"])
                command(how=How(**{one.name: given.pop(one.name) for one in fields(How)}), **given)

        return with_options(options)(bundled)

    return decorated


sweep_options = run_options(cut="Into how many tasks the runs are put. [default: one for each run]")
"""Those of an experiment that is a sweep over parameters."""


@contextmanager
def engine(
    how: How, in_one_thread: Callable[[Progress], Engine], on_spark: Callable[..., Engine]
) -> Iterator[tuple[Callable[[], Engine], Title]]:
    """What starts one engine or the other, and names the parts of the run, which goes under a bar. Raises SimulationError."""
    from simulations.errors import BadParameter

    for option, given in (("--master", how.master), ("--conf", how.conf or None), ("--partitions", how.partitions)):
        if given is not None and not how.on_spark:
            raise BadParameter(f"{option} {given} is for Spark; --engine numpy counts in one thread: leave one of them out")
    with bar() as (title, progress):

        def start() -> Engine:
            if how.on_spark:
                return on_spark(how.session(title), partitions=how.partitions, progress=progress)
            return in_one_thread(progress)

        yield start, title


def run_sweep(experiment: Callable[[Title], Experiment], how: How) -> None:
    """Run sweeps over parameters and print what they came to; ``experiment`` makes them. Raises SimulationError."""
    from simulations.engine.experiment import run
    from simulations.engine.sweep import in_one_thread, on_spark

    with engine(how, in_one_thread, on_spark) as (start, title):
        found = run(experiment(title), start, how.out, title, how.provenance)
    print_results(how, found.summary, found.tables, found.notes)


def print_results(how: How, summary: list[dict[str, object]], tables: Sequence[Table], notes: str, left_out: str = "") -> None:
    """What a run came to, as one JSON document or as tables with what they mean, and what is to be said of its workload."""
    if how.as_json:
        if left_out:
            click.echo(f"gsg: warning: {left_out}", err=True)
        click.echo(json.dumps(summary, indent=2))
        return
    from ..tables import console
    from .terminal_tables import print_notes, print_tables

    output = console()
    print_tables(output, tables)
    if notes:
        print_notes(output, notes)
    if left_out:
        output.print(left_out, style="yellow", markup=False)
    output.print(f"results, configuration and report.html are in {how.out}", soft_wrap=True)


@contextmanager
def mistakes_told() -> Iterator[None]:
    """One line and status 2 for whatever a run cannot be."""
    try:
        # Where the extra is missing, numpy is what cannot be imported first, here or later.
        from simulations.errors import SimulationError

        try:
            yield
        except SimulationError as error:
            click.echo(f"gsg: {error}", err=True)
            sys.exit(2)
    except ImportError as error:
        problem = f"the simulation is not installed ({error}); install the extra: pip install 'gsg-router[sim]'"
        click.echo(f"gsg: {problem}, or in a clone: make .venv/.installed", err=True)
        sys.exit(2)


@contextmanager
def bar() -> Iterator[tuple[Title, Progress]]:
    """What names the part of a run that is under way, and what is told how far it is; drawn where standard error is a terminal."""
    if not sys.stderr.isatty():
        yield (lambda _: None), (lambda _, __: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task("preparing", total=None)
        yield (
            lambda title: drawn.reset(task, description=title, total=None),
            lambda done, of: drawn.update(task, completed=done, total=of),
        )

"""What all runs of ``gsg simulate`` share: one line for a mistake, and a bar while they go."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from simulations.watching import Progress


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

"""``gsg simulate package``: our code as one zip, which spark-submit hands to a cluster."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command(short_help="Make the zip that spark-submit hands to a cluster.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), default=Path("gsg-simulations.zip"))
def command(file: Path) -> None:
    """Write our packages into FILE, and the program that begins a run beside it.

    The machines of the cluster need Python 3.11 or newer with msgspec, numpy and pyarrow; those that replay a history, what
    gsg-router itself needs as well.
    """
    from simulations.errors import SimulationError
    from simulations.packaging import write_package

    try:
        program = write_package(file)
    except SimulationError as error:
        click.echo(f"gsg: {error}", err=True)
        sys.exit(2)
    click.echo(f"{file} and {program} are written; to run them on a cluster:")
    click.echo(f"  spark-submit --master MASTER --py-files {file} {program} load-balance --master given --out DIR")

"""``gsg simulate package``: our code as one zip, which spark-submit hands to a cluster."""

from __future__ import annotations

import click

from .running import mistakes_told


@click.command(short_help="Make the zip that spark-submit hands to a cluster.")
@click.argument("name", metavar="FILE", default="gsg-simulations.zip")
def command(name: str) -> None:
    """Write our packages into FILE, and the program that begins a run beside it.

    It is said what the machines of the cluster need: those that count, and the one that drives the run.
    """
    with mistakes_told():
        from simulations.engine.packaging import DRIVER, EXECUTORS, write_package
        from simulations.engine.places import written_to

        file = written_to(name, "FILE")
        program = write_package(file)
    click.echo(f"{file} and {program} are written; to run them on a cluster:")
    click.echo(f"  spark-submit --master MASTER --py-files {file} {program} load-balance --out DIR")
    click.echo(f"executors need Python 3.11 or newer with {', '.join(EXECUTORS)}")
    click.echo(f"the driver (in cluster mode a machine of the cluster) needs {', '.join(DRIVER)} as well, and pyspark")
    click.echo("a driver that reads --events or --trace, and all machines for replay: pip install gsg-router")

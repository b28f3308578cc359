"""``gsg simulate churn``: what is lost while peers come and go."""

from __future__ import annotations

from typing import Any

import click

from .running import How, run_sweep, sweep_options


@click.command(short_help="Which matches are lost while peers come and go.")
@click.option("--peers", default=1_000, show_default=True, help="How many peers.")
@click.option("--tuples", default=100_000, show_default=True, help="How many synthetic tuples.")
@click.option("--subscriptions", default=10_000, show_default=True, help="How many subscriptions.")
@click.option("--mix", default="", metavar="PATTERN=WEIGHT,...", help="Which constants subscriptions give, such as ?po=2,s??=1.")
@click.option("--strategy", "strategies", multiple=True, help="A strategy such as hot-split-10; may be repeated. [default: rarest]")
@click.option("--replicas", default="", metavar="R,...", help="Holders of each key. [default: those of 1,2,3,5,8 that can be]")
@click.option("--dying", default="0.05,0.1,0.2,0.4", show_default=True, metavar="SHARE,...", help="Peers replaced in an epoch.")
@click.option("--epochs", default=10, show_default=True, help="How often peers die and others join.")
@click.option("--runs", default=40, show_default=True, help="How often each setting is run, with other peers.")
@sweep_options
def command(how: How, replicas: str, dying: str, **given: Any) -> None:  # Any: click checked them
    """Let peers die and join, with keys handed over and without, and count the matches that are lost.

    Matches are those of tuples and subscriptions as for load-balance; the strategy decides under which keys they meet. DIR gets all
    runs (Parquet), the numbers and the run's configuration (JSON), and report.html, which needs no network to be read.
    """
    from simulations.churn.runs import ChurnRequest, experiment
    from simulations.engine.results import parse_numbers

    held = parse_numbers(replicas, "--replicas", int) if replicas else ()
    request = ChurnRequest(replicas=held, dying=parse_numbers(dying, "--dying", float), **given)
    run_sweep(lambda title: experiment(request, title), how)

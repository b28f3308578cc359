"""``gsg simulate dissemination``: how views are exchanged and events spread where nobody is responsible for a key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from .running import How, run_sweep, sweep_options


@click.command(short_help="How views are exchanged, and how events spread.")
@click.option("--peers", default="500,10000", show_default=True, metavar="N,...", help="How many agents.")
@click.option("--views", default="10,20", show_default=True, metavar="N,...", help="How many others an agent knows.")
@click.option("--exchanged", default=8, show_default=True, help="How many of them it trades at a time.")
@click.option("--removed", default="0.1,0.2,0.5", show_default=True, metavar="SHARE,...", help="Agents that are removed.")
@click.option(
    "--subscribers", default="0.25,0.5,0.75,1", show_default=True, metavar="SHARE,...", help="Agents that subscribe to the topic."
)
@click.option("--settle", default=30, show_default=True, help="Rounds of exchange before the removal.")
@click.option("--rounds", default=60, show_default=True, help="Rounds of exchange after the removal.")
@click.option("--round-s", default=6.0, show_default=True, help="Seconds from round to round.")
@click.option("--events", default=40, show_default=True, help="Events of one publisher, and then of changing ones.")
@click.option("--hop-ms", default="10,50", show_default=True, metavar="LEAST,MOST", help="Milliseconds that a hop takes.")
@click.option("--runs", default=5, show_default=True, help="How often the settings of the fewest agents are run.")
@click.option(
    "--log",
    metavar="DIR",
    help="Report what the real peers of an experiment came to (gsg peer --facilitator DIR), and simulate as many beside them.",
)
@sweep_options
def command(
    how: How,
    peers: str,
    views: str,
    removed: str,
    subscribers: str,
    hop_ms: str,
    log: str | None,
    **given: Any,  # Any: click checked them
) -> None:
    """Exchange views after agents are removed, and spread events among the subscribers of a topic.

    Agents are the objects that run in peers, in virtual time.
    All settings are run with the fewest agents; more agents are run once each, with the largest views and the middle share removed.
    DIR gets all runs (Parquet), the numbers and the run's configuration (JSON), and report.html, which needs no network to be read.
    """
    from simulations.dissemination.cases import DisseminationRequest
    from simulations.dissemination.experiment_log import read_log
    from simulations.dissemination.runs import experiment
    from simulations.engine.results import parse_numbers, parse_pair

    measured = None
    if log is not None:
        _refuse_beside_log(click.get_current_context())
        measured = read_log(log)
    request = DisseminationRequest(
        agents=parse_numbers(peers, "--peers", int),
        views=parse_numbers(views, "--views", int),
        removed=parse_numbers(removed, "--removed", float),
        subscribers=parse_numbers(subscribers, "--subscribers", float),
        hop_ms=parse_pair(hop_ms, "--hop-ms"),
        **given,
    )
    if measured is not None:
        request = replace(measured.request, hop_ms=request.hop_ms, runs=request.runs, seed=request.seed)
    run_sweep(lambda _: experiment(request, measured), how)


def _refuse_beside_log(context: click.Context) -> None:
    """Raise click's usage error for what the log of an experiment says itself."""
    for name in ("peers", "views", "exchanged", "removed", "subscribers", "settle", "rounds", "round_s", "events"):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            option = "--" + name.replace("_", "-")
            raise click.UsageError(f"{option} is what the log says of its experiment; leave it out, or simulate without --log")

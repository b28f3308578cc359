"""``gsg simulate routing``: how far lookups go, and how many succeed."""

from __future__ import annotations

from typing import Any

import click

from .running import How, run_sweep, sweep_options


@click.command(short_help="How far lookups go, and how many succeed.")
@click.option(
    "--peers", default="100000", show_default=True, metavar="N,...", help="How many peers; of one number, powers of ten below too."
)
@click.option("--lookups", default=20_000, show_default=True, help="How many lookups through each overlay.")
@click.option("--k", "k", default="2,4,8,16,20", show_default=True, metavar="K,...", help="Contacts in a bucket.")
@click.option(
    "--dead", default="0,0.1,0.2,0.3,0.4,0.5,0.6,0.7", show_default=True, metavar="SHARE,...", help="Shares of dead peers."
)
@click.option("--runs", default=5, show_default=True, help="How many overlays of each setting, each with other peers.")
@sweep_options
def command(how: How, peers: str, k: str, dead: str, **given: Any) -> None:  # Any: click checked them
    """Look keys up in large overlays, of which a share of the peers is dead.

    Keys are hashes, so how lookups go depends neither on tuples nor on strategies. Of several numbers of peers each is looked up in
    with every share of dead ones; below one that is alone, smaller overlays in which all live are looked at besides.

    DIR gets all runs (Parquet), the numbers and the run's configuration (JSON), and report.html, which needs no network to be read.
    """
    from simulations.engine.results import parse_numbers
    from simulations.routing.runs import RoutingRequest, experiment

    request = RoutingRequest(
        peers=parse_numbers(peers, "--peers", int),
        k=parse_numbers(k, "--k", int),
        dead=parse_numbers(dead, "--dead", float),
        **given,
    )
    run_sweep(lambda _: experiment(request), how)

"""``gsg simulate routing``: how far lookups go, and how many succeed."""

from __future__ import annotations

import click

from .running import How, mistakes_told, played, sweep_options


@click.command(short_help="How far lookups go, and how many succeed.")
@click.option("--peers", default=100_000, show_default=True, help="How many peers; powers of ten below are looked at as well.")
@click.option("--lookups", default=20_000, show_default=True, help="How many lookups through each overlay.")
@click.option("--k", "k", default="2,4,8,16,20", show_default=True, metavar="K,...", help="Contacts in a bucket.")
@click.option(
    "--dead", default="0,0.1,0.2,0.3,0.4,0.5,0.6,0.7", show_default=True, metavar="SHARE,...", help="Shares of dead peers."
)
@click.option("--runs", default=5, show_default=True, help="How many overlays of each setting, each with other peers.")
@sweep_options
def command(
    peers: int,
    lookups: int,
    k: str,
    dead: str,
    runs: int,
    seed: int,
    how: How,
) -> None:
    """Look keys up in large overlays, of which a share of the peers is dead.

    Keys are hashes, so how lookups go depends neither on tuples nor on strategies. DIR gets all runs (Parquet), the numbers and the
    run's configuration (JSON), and report.html, which needs no network to be read.
    """
    with mistakes_told():
        from simulations.engine.results import parse_numbers
        from simulations.routing.runs import RoutingRequest, experiment

        k_values, shares = parse_numbers(k, "--k", int), parse_numbers(dead, "--dead", float)
        request = RoutingRequest(peers=peers, lookups=lookups, k=k_values, dead=shares, runs=runs, seed=seed)
        played(lambda _: experiment(request), how)

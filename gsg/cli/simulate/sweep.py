"""``gsg simulate sweep``: strategies compared over lists of settings and over seeds, as one job."""

from __future__ import annotations

from typing import Any

import click

from .running import How, run_sweep, sweep_options
from .workload_options import distinct_option

LISTS: dict[str, type[int] | type[float]] = {"peers": int, "tuples": int, "subscriptions": int, "width": float, "drift": float}
"""Options that are numbers between commas."""


@click.command(short_help="Strategies over lists of settings and seeds, as one job.")
@click.option("--peers", default="1000", show_default=True, metavar="N,...", help="Numbers of peers.")
@click.option("--tuples", default="1000000", show_default=True, metavar="N,...", help="Numbers of synthetic tuples.")
@click.option("--subscriptions", default="10000", show_default=True, metavar="N,...", help="Numbers of subscriptions.")
@click.option("--zipf", multiple=True, metavar="S,P,O", help="Zipf's exponents; may be repeated. [default: 0.5,1,1]")
@click.option("--mix", multiple=True, metavar="PATTERN=WEIGHT,...", help="Which constants subscriptions give; may be repeated.")
@click.option("--width", metavar="SHARE,...", help="Between two bounds, as shares of the range of values.")
@click.option(
    "--values", multiple=True, metavar="scattered|by-rank", help="Whether common objects are neighbours; may be repeated."
)
@click.option("--drift", metavar="SHARE,...", help="Of so many tuples other constants are common in each hour.")
@click.option(
    "--adversary", multiple=True, metavar="key|peer:SHARE", help="So many tuples have objects of one key, or peer; may be repeated."
)
@click.option("--capacity", multiple=True, metavar="LAW", help="What peers can carry, as for load-balance; may be repeated.")
@distinct_option
@click.option("--strategy", "strategies", multiple=True, help="May be repeated; the first is what others are compared with.")
@click.option("--seeds", "runs", default=20, show_default=True, help="Seeds of each setting, from --seed on.")
@sweep_options
def command(how: How, **given: Any) -> None:  # Any: click checked them
    """Compare strategies in each combination of peers, tuples, subscriptions and whatever else is said, over many seeds.

    \b
    gsg simulate sweep --peers 100,1000,10000 --zipf 0.5,1,1 --zipf 0.5,1.2,1 --seeds 20 --out DIR

    Each combination with each seed is a task that counts in one thread. All strategies see the same tuples, subscriptions and
    peers, and are compared seed by seed. DIR gets all runs (Parquet), the numbers and the configuration (JSON), and report.html.
    """
    from simulations.engine.results import parse_numbers
    from simulations.load_balance.over_settings import SweepRequest, experiment

    # What was not said is as usual.
    said = {name: value for name, value in given.items() if value not in ((), None)}
    for name, number in LISTS.items():
        if name in said:
            said[name] = parse_numbers(said[name], f"--{name}", number)
    request = SweepRequest(**said)
    run_sweep(lambda _: experiment(request), how)

"""The options of ``gsg simulate`` that say which tuples, subscriptions and peers an experiment is about."""

from __future__ import annotations

from collections.abc import Callable

import click

from ..arguments import AnyCommand, with_options

distinct_option: Callable[[AnyCommand], AnyCommand] = click.option(
    "--distinct", default="", metavar="S,P,O", help="Distinct synthetic subjects, predicates and objects."
)
seeds_option: Callable[[AnyCommand], AnyCommand] = click.option(
    "--seeds", default=1, show_default=True, help="How many seeds, from --seed on; more than one give intervals."
)


def workload_options(*, events: str, trace: str, hours: str) -> Callable[[AnyCommand], AnyCommand]:
    """Give a command those of one workload, which is synthetic, of files or of a trace; these texts say what three of them do."""
    return with_options(
        (
            click.option("--peers", type=int, help="How many peers. [default: 1000, or those that traced]"),
            click.option("--tuples", type=int, help="How many synthetic tuples. [default: 1000000]"),
            click.option("--events", metavar="PATH", help=events),
            click.option("--trace", metavar="DIR", help=trace),
            click.option("--subscriptions", type=int, help="How many subscriptions. [default: 10000, or those that were traced]"),
            click.option(
                "--mix",
                default="",
                metavar="PATTERN=WEIGHT,...",
                help="Which constants subscriptions give, such as ?po=2,s??=1; in the object's place b is two bounds, a one from "
                "below.",
            ),
            click.option("--width", type=float, help="Between two bounds, as a share of the range of values. [default: 0.01]"),
            distinct_option,
            click.option(
                "--zipf", default="", metavar="S,P,O", help="Zipf's exponents of the three; 0 is uniform. [default: 0.5,1,1]"
            ),
            click.option("--hours", type=float, help=hours),
        )
    )

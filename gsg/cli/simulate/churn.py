"""``gsg simulate churn``: what is lost while peers come and go."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from .running import How, run_sweep, sweep_options

EPOCHS = {"dying": "--dying", "epochs": "--epochs"}
LIVES = {
    "mean_hours": "--mean-hours",
    "shape": "--shape",
    "graceful": "--graceful",
    "days": "--days",
    "kbit_per_s": "--kbit-per-s",
}
"""Options of one kind of churn, which the other would not look at."""


@click.command(short_help="Which matches are lost while peers come and go.")
@click.option("--peers", default="1000", show_default=True, metavar="N,...", help="How many peers.")
@click.option("--tuples", default=100_000, show_default=True, help="How many synthetic tuples.")
@click.option("--subscriptions", default=10_000, show_default=True, help="How many subscriptions.")
@click.option("--zipf", multiple=True, metavar="S,P,O", help="Zipf's exponents of tuples; may be repeated. [default: 0.5,1,1]")
@click.option(
    "--mix",
    multiple=True,
    metavar="PATTERN=WEIGHT,...",
    help="Which constants subscriptions give, such as ?po=2,s??=1; may be repeated.",
)
@click.option("--strategy", "strategies", multiple=True, help="A strategy such as hot-split-10; may be repeated. [default: rarest]")
@click.option("--replicas", default="", metavar="R,...", help="Holders of each key. [default: those of 1,2,3,5,8 that can be]")
@click.option("--dying", default="0.05,0.1,0.2,0.4", show_default=True, metavar="SHARE,...", help="Peers replaced in an epoch.")
@click.option("--epochs", default=10, show_default=True, help="How often peers die and others join.")
@click.option(
    "--lifetimes",
    default="",
    metavar="LAW,...",
    help="Let peers come and go at any time and live by these laws instead: exponential, weibull, pareto or yao.",
)
@click.option("--mean-hours", default="", metavar="HOURS,...", help="How long they live in the mean. [default: 2.78, OverSim's]")
@click.option("--shape", type=float, help="The shape of the law, where one is given. [default: weibull 0.6, pareto and yao 3]")
@click.option(
    "--graceful", default="0.5", show_default=True, metavar="SHARE,...", help="Peers that leave in order, and do not crash."
)
@click.option("--days", default=2, show_default=True, help="For how many days they come and go.")
@click.option("--kbit-per-s", default=10_000.0, show_default=True, help="What a peer sends of its keys to another, in kbit/s.")
@click.option("--runs", type=int, help="How often each setting is run, with other peers. [default: 40, with --lifetimes 10]")
@sweep_options
def command(how: How, peers: str, replicas: str, runs: int | None, lifetimes: str, **given: Any) -> None:  # Any: click checked them
    """Let peers die and join, with keys handed over and without, and count the matches that are lost.

    Peers die in epochs, a share of them at one moment. With --lifetimes they come, leave and crash one by one, crashes are noticed
    and repaired in the time that peers take for it, and messages and bytes of hand-over and repair are counted.

    Matches are those of tuples and subscriptions as for load-balance; the strategy decides under which keys they meet. DIR gets all
    runs (Parquet), the numbers and the run's configuration (JSON), and report.html, which needs no network to be read.
    """
    from simulations.churn.lifetime_cases import LifetimesRequest
    from simulations.churn.lifetime_runs import experiment as of_lifetimes
    from simulations.churn.runs import ChurnRequest, experiment
    from simulations.engine.results import parse_numbers

    _refuse_others(click.get_current_context(), epochs=not lifetimes)
    asked = {name: given[name] for name in ("tuples", "subscriptions", "zipf", "mix", "strategies", "seed")}
    asked["peers"] = parse_numbers(peers, "--peers", int)
    asked["replicas"] = parse_numbers(replicas, "--replicas", int) if replicas else ()
    if runs is not None:
        asked["runs"] = runs
    if not lifetimes:
        dying = parse_numbers(given["dying"], "--dying", float)
        request = ChurnRequest(dying=dying, epochs=given["epochs"], **asked)
        run_sweep(lambda title: experiment(request, title), how)
        return
    lives = LifetimesRequest(
        lifetimes=tuple(dict.fromkeys(lifetimes.split(","))),
        mean_hours=parse_numbers(given["mean_hours"], "--mean-hours", float) if given["mean_hours"] else (),
        graceful=parse_numbers(given["graceful"], "--graceful", float),
        **{name: given[name] for name in ("shape", "days", "kbit_per_s")},
        **asked,
    )
    run_sweep(lambda title: of_lifetimes(lives, title), how)


def _refuse_others(context: click.Context, *, epochs: bool) -> None:
    """Raise click's usage error for what belongs to the other kind of churn than the one that was asked for."""
    others = LIVES if epochs else EPOCHS
    kind, way = ("peers that live by --lifetimes", "give --lifetimes") if epochs else ("churn in epochs", "leave --lifetimes out")
    for name, option in others.items():
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"{option} is for {kind}; leave it out, or {way}")

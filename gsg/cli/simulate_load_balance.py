"""``gsg simulate load-balance``: who would carry which load, strategy by strategy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .simulate_running import bar, mistakes_told

if TYPE_CHECKING:
    from simulations.balance import Counter, Outcome
    from simulations.experiments import BalanceRequest


@click.command(short_help="Who would carry which load, strategy by strategy.")
@click.option("--peers", type=int, help="How many peers. [default: 1000, or those that traced]")
@click.option("--tuples", type=int, help="How many synthetic tuples. [default: 1000000]")
@click.option(
    "--events", type=click.Path(path_type=Path), help="Take the tuples of a file: .nt, .tsv, .jsonl (also .gz) or .parquet."
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Take the tuples, subscriptions and peers of an overlay whose peers ran with --trace.",
)
@click.option("--subscriptions", type=int, help="How many subscriptions. [default: 10000, or those that were traced]")
@click.option("--mix", default="", metavar="PATTERN=WEIGHT,...", help="Which constants subscriptions give, such as ?po=2,s??=1.")
@click.option("--distinct", default="", metavar="S,P,O", help="Distinct synthetic subjects, predicates and objects.")
@click.option("--zipf", default="0.5,1,1", show_default=True, metavar="S,P,O", help="Zipf's exponents of the three; 0 is uniform.")
@click.option("--hours", default=24.0, show_default=True, help="For how long the tuples are published.")
@click.option(
    "--strategy", "strategies", multiple=True, help="A strategy such as rarest+grid-10+demand; may be repeated. [default: all]"
)
@click.option("--seed", default=1, show_default=True, help="The same seed gives the same result, however it is run.")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Where results and report go.")
@click.option("--master", default="local[*]", show_default=True, help="Spark's master; 'given' under spark-submit.")
@click.option("--partitions", type=click.IntRange(min=1), help="Into how many parts tuples are cut. [default: one for each core]")
@click.option("--engine", type=click.Choice(["spark", "numpy"]), default="spark", show_default=True, help="numpy: in one thread.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table.")
def command(
    peers: int | None,
    tuples: int | None,
    events: Path | None,
    trace: Path | None,
    subscriptions: int | None,
    mix: str,
    distinct: str,
    zipf: str,
    hours: float,
    strategies: tuple[str, ...],
    seed: int,
    out: Path,
    master: str,
    partitions: int | None,
    engine: str,
    as_json: bool,
) -> None:
    """Spread the load of tuples and subscriptions over many peers, by strategies that peers could run.

    Without --strategy all standard ones are compared. DIR gets what each peer carries (Parquet), the numbers and the run's
    configuration (JSON), and report.html, which needs no network to be read.
    """
    if tuples is not None and (events or trace):
        raise click.UsageError(f"--tuples {tuples} is for synthetic tuples; those of {events or trace} are as many as there are")
    with mistakes_told():
        from simulations.experiments import BalanceRequest

        request = BalanceRequest(
            peers=peers,
            tuples=1_000_000 if tuples is None else tuples,
            events=None if events is None else str(events),
            trace=None if trace is None else str(trace),
            subscriptions=subscriptions,
            mix=mix,
            distinct=distinct,
            zipf=zipf,
            hours=hours,
            strategies=strategies,
            seed=seed,
        )
        outcomes, malformed = _run(request, master, partitions, engine, out)
    if as_json:
        if malformed:
            click.echo(f"gsg: {malformed}", err=True)
        click.echo(json.dumps([outcome.summary() for outcome in outcomes], indent=2))
        return
    from .simulate_tables import BALANCE_LEGEND, balance_table
    from .tables import console

    output = console()
    output.print(balance_table(outcomes))
    output.print(BALANCE_LEGEND, style="dim", soft_wrap=False)
    if malformed:
        output.print(malformed, style="yellow")
    output.print(f"results, configuration and report.html are in {out}", soft_wrap=True)


def _run(request: BalanceRequest, master: str, partitions: int | None, engine: str, out: Path) -> tuple[list[Outcome], str]:
    from simulations.experiments import balance

    with bar() as (title, progress):

        def counter() -> Counter:
            from simulations.balance import in_one_thread, on_spark

            if engine == "numpy":
                return in_one_thread(progress)
            from simulations.spark import session

            return on_spark(session("gsg simulate", master=master), partitions=partitions, progress=progress)

        return balance(request, counter, out, title)

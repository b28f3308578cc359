"""``gsg simulate load-balance``: who would carry which load, strategy by strategy."""

from __future__ import annotations

from typing import Any

import click

from .running import How, engine, print_results, run_options
from .workload_options import seeds_option, workload_options

NOT_COUNTED = "What messages leave out, for all strategies alike, is said in the report."


@click.command(short_help="Who would carry which load, strategy by strategy.")
@workload_options(
    events="Take the tuples of a file, a folder, a pattern such as 'a/*.nt', or, with Spark, a URI: .nt, .nq, .ttl, .trig, .tsv, "
    ".csv, .jsonl (also .gz), .parquet, or a table of Delta Lake.",
    trace="Take the tuples, subscriptions and peers of an overlay whose peers ran with --trace.",
    hours="For how long the tuples are published. [default: 24, or those of the trace]",
)
@click.option(
    "--values",
    default="",
    metavar="scattered|by-rank",
    help="Whether common synthetic objects are neighbours as numbers. [default: scattered]",
)
@click.option("--drift", type=float, metavar="SHARE", help="Of so many synthetic tuples other constants are common in each hour.")
@click.option(
    "--adversary",
    default="",
    metavar="key|peer:SHARE",
    help="So many synthetic tuples have objects of one key, or of a thousand keys of one peer.",
)
@click.option(
    "--capacity",
    default="",
    metavar="LAW",
    help="What peers can carry: pareto:ALPHA, or classes with weights such as 1=60,10=30,100=10. [default: all alike]",
)
@click.option(
    "--strategy", "strategies", multiple=True, help="A strategy such as rarest+grid-10+demand; may be repeated. [default: all]"
)
@seeds_option
@run_options(cut="Into how many parts tuples are cut. [default: one for each core]")
def command(how: How, events: str | None, trace: str | None, **given: Any) -> None:  # Any: click checked them
    """Spread the load of tuples and subscriptions over many peers, by strategies that peers could run.

    Without --strategy all standard ones are compared. DIR gets what each peer carries (Parquet), the numbers and the run's
    configuration (JSON), and report.html, which needs no network to be read.
    """
    from simulations.engine.places import read_by_spark, read_from
    from simulations.load_balance.balance import InOneThread, OnSpark
    from simulations.load_balance.experiments import BalanceRequest, balance
    from simulations.load_balance.report import seeds_said, terminal_table
    from simulations.load_balance.seeds import seeds_table

    if events is not None:
        events = read_by_spark(events) if how.on_spark else str(read_from(events, "--events"))
    request = BalanceRequest(
        events=events,
        trace=None if trace is None else str(read_from(trace, "--trace")),
        **given,
    )
    with engine(how, InOneThread, OnSpark) as (start, title):
        found = balance(request, start, how.out, title, how.provenance)
    tables = [terminal_table(found.outcomes), *([seeds_table(found.over_seeds)] if found.over_seeds else [])]
    print_results(how, found.summary(), tables, f"{seeds_said(found.over_seeds)}\n{NOT_COUNTED}", found.left_out)

"""``gsg simulate subscribers``: what arrives at the peers of those who subscribe."""

from __future__ import annotations

from typing import Any

import click

from .running import How, engine, print_results, run_options
from .workload_options import seeds_option, workload_options


@click.command(short_help="What subscribers' peers receive.")
@workload_options(
    events="Take the tuples of a file, a folder or a pattern, as for load-balance.",
    trace="Say what each peer of an overlay received whose peers ran with --trace, and nothing else.",
    hours="For how long the tuples are published. [default: 24]",
)
@click.option("--kind", default="", metavar="KIND", help="Whether tuples are facts or events. [default: facts]")
@click.option(
    "--anchor", default="", metavar="RULE", help="Where templates are posted: rarest, predicate, random. [default: rarest]"
)
@click.option("--batch", default=1, show_default=True, help="Tuples that a publisher sends in one call.")
@click.option("--term-bytes", default=32, show_default=True, help="Bytes of the text of a term.")
@click.option(
    "--part",
    "parts",
    multiple=True,
    metavar="PART",
    help="notifications, memories, readers, joins, dates or latency; may be repeated. [default: all]",
)
@click.option(
    "--growth", default="", metavar="N,...", help="Subscriptions whose alpha memories are counted. [default: 1000 to 10000000]"
)
@click.option("--speeds", default="", metavar="TIMES,...", help="Of readers, in times of what comes. [default: 0.5,0.9,1.1,2]")
@click.option("--pause", default=0.1, show_default=True, help="For what share of the time readers stand still.")
@click.option("--ask-s", default=10.0, show_default=True, help="How often a reader asks who pulls, in seconds.")
@click.option("--joins", default=200, show_default=True, help="Subscriptions of several conditions, of each shape.")
@click.option("--constant", default=0.5, show_default=True, help="For what share of those the last condition has a constant.")
@click.option("--ranges", default="", metavar="RANGE=WEIGHT,...", help="Of time. [default: hour=40,day=30,week=20,month=10]")
@click.option("--epochs-h", default="", metavar="HOURS,...", help="Lengths of epochs with keys of their own. [default: 1,6,24,168]")
@click.option("--days", default=30.0, show_default=True, help="For how long tuples with dates are published.")
@click.option("--link-ms", default="", metavar="LEAST,MOST", help="Milliseconds that a message takes. [default: 10,50]")
@seeds_option
@run_options(cut="Into how many parts tuples are cut. [default: one for each core]")
def command(how: How, events: str | None, trace: str | None, **given: Any) -> None:  # Any: click checked them
    """Count what the peers of subscribers receive, and model how those fare who are slow.

    Matches are counted exactly, and bytes are those of messages as peers encode them. DIR gets what each peer receives (Parquet),
    the numbers and the run's configuration (JSON), and report.html, which needs no network to be read.
    """
    from simulations.engine.places import read_from
    from simulations.subscribers.experiments import in_one_thread, on_spark, subscribers
    from simulations.subscribers.request import SubscribersRequest

    request = SubscribersRequest(
        events=None if events is None else str(read_from(events, "--events")),
        trace=None if trace is None else str(read_from(trace, "--trace")),
        **given,
    )
    with engine(how, in_one_thread, on_spark) as (start, title):
        found, left_out = subscribers(request, start, how.out, title, how.provenance)
    print_results(how, found.summary, found.tables, found.notes, left_out)

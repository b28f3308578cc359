"""Tables of simulations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table

if TYPE_CHECKING:
    from simulations.balance import Outcome
    from simulations.findings import Shown


def shown_table(shown: Shown) -> Table:
    """What the runs of an experiment came to, a line each."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for number, heading in enumerate(shown.columns):
        table.add_column(heading, justify="right" if number else "left", no_wrap=True)
    for cells in shown.cells:
        table.add_row(*cells)
    return table


def balance_table(outcomes: list[Outcome]) -> Table:
    """What each strategy costs, and how it spreads the load."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("strategy", no_wrap=True)
    for heading in ("tuple", "sub", "max/mean", "p99/mean", "Gini", "entropy", "peak load", "peak work", "lost", "missed"):
        table.add_column(heading, justify="right", no_wrap=True)
    for outcome in outcomes:
        spreads = outcome.spreads()
        load, work = spreads["tuple_load"], spreads["match_work"]
        table.add_row(
            outcome.strategy.name.removeprefix("rarest+"),
            f"{load.total / outcome.published:.2f}",
            f"{outcome.subscriptions.sum() / outcome.subscribed:.2f}",
            f"{load.max_over_mean:,.1f}",
            f"{load.p99_over_mean:,.1f}",
            f"{load.gini:.3f}",
            f"{load.entropy:.3f}",
            f"{load.largest:,.0f}",
            f"{work.largest:.2g}",
            f"{outcome.lost / outcome.subscribed:.1%}",
            f"{outcome.meetings.missed:,}",
        )
    return table


BALANCE_LEGEND = (
    "Subscriptions are posted at their rarest constant where nothing else is said. tuple, sub: copies of a tuple and of a "
    "subscription. max/mean, p99/mean, Gini, entropy: how copies of tuples are spread over peers (1, 1, 0 and 1 where all carry "
    "the same). peak load: most copies of tuples at one peer. peak work: most pairs of a tuple and a template that met at one "
    "peer. lost: subscriptions that find no key. missed: matching pairs, in a sample, that did not meet though they should."
)

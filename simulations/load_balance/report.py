"""The report of a comparison: one HTML file with its plots inside, to be read without network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..engine.html_page import Figure, html_table, page
from ..engine.intervals import share_of
from ..engine.plots import Line, Point, legend, lines_plot, points_plot
from ..engine.results import Table
from .balance import Outcome
from .loads import Load, ccdf, lorenz
from .seeds import OverSeeds, seeds_table

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Growth:
    """What the busiest of so many peers gets, as a share of all tuples; counted over so many tuples."""

    tuples: int
    peers: tuple[int, ...]
    busiest: tuple[float, ...]


def report(
    outcomes: Sequence[Outcome],
    growths: Sequence[Growth],
    configuration: dict[str, object],
    over_seeds: Sequence[OverSeeds] = (),
) -> str:
    """The whole document; ``over_seeds`` is empty where there was one seed."""
    first = outcomes[0]
    tables = [Table.from_rows(_COLUMNS, outcomes), *([seeds_table(over_seeds)] if over_seeds else [])]
    title = f"{first.published:,} tuples and {first.subscribed:,} subscriptions over {first.peers:,} peers"
    return page(
        "Who carries what",
        f"{title}.",
        "\n".join(html_table(one.columns, one.cells) for one in tables),
        f"{_NOTES}{seeds_said(over_seeds)}{NOT_COUNTED}",
        figures(outcomes, growths),
        configuration,
        legend=legend([outcome.strategy.name for outcome in outcomes]),
    )


def figures(outcomes: Sequence[Outcome], growths: Sequence[Growth]) -> list[Figure]:
    """The plots, which share one legend."""

    def curves(
        load: Callable[[Outcome], Load], curve: Callable[[Load], tuple[NDArray[np.float64], NDArray[np.float64]]]
    ) -> list[Line]:
        return [Line(outcome.strategy.name, *curve(load(outcome))) for outcome in outcomes]

    grown = [
        Line(outcome.strategy.name, np.array(growth.peers, dtype=np.float64), np.array(growth.busiest))
        for outcome, growth in zip(outcomes, growths, strict=True)
    ]
    costs = [
        Point(outcome.strategy.name, float(outcome.loads.tuples.max()), outcome.messages / outcome.published)
        for outcome in outcomes
    ]
    load = curves(lambda outcome: outcome.loads.tuples, ccdf)
    even = curves(lambda outcome: outcome.loads.tuples, lorenz)
    work = curves(lambda outcome: outcome.loads.work, ccdf)
    at_least, copies = "share of peers with at least so many", "copies at the busiest peer, per tuple"
    log = {"log_x": True, "log_y": True}
    return [
        Figure(
            lines_plot("load", load, x="copies of tuples at a peer", y=at_least, **log),
            "Load. A curve that ends far to the right has few peers that carry much.",
        ),
        Figure(
            lines_plot("lorenz", even, x="share of peers, the least loaded first", y="share of all copies", diagonal=True),
            "Lorenz curve. On the diagonal all peers carry the same; the Gini coefficient is twice the area between.",
        ),
        Figure(
            lines_plot("growth", grown, x="peers", y=copies, **log),
            f"Growth, over {growths[0].tuples:,} tuples. Where a curve stays level, more peers do not relieve the busiest one.",
        ),
        Figure(
            points_plot("cost", costs, x="most copies of tuples at one peer", y="messages per tuple"),
            "Price. Down is cheap, left is even.",
        ),
        Figure(
            lines_plot("work", work, x="pairs of a tuple and a template at a peer", y="share of peers with as many", **log),
            "Match work. Pairs that meet under one key, most of which an indexed peer never looks at.",
        ),
    ]


_COLUMNS: tuple[tuple[str, Callable[[Outcome], str]], ...] = (
    ("strategy", lambda outcome: outcome.strategy.name),
    ("copies of a tuple", lambda outcome: f"{outcome.loads.tuples.sum() / outcome.published:.2f}"),
    ("copies of a subscription", lambda outcome: f"{outcome.subscriptions.sum() / outcome.subscribed:.2f}"),
    ("messages", lambda outcome: f"{outcome.messages:,}"),
    ("max/mean", lambda outcome: f"{outcome.spreads()['tuple_load'].max_over_mean:,.1f}"),
    ("p99/mean", lambda outcome: f"{outcome.spreads()['tuple_load'].p99_over_mean:,.1f}"),
    ("Gini", lambda outcome: f"{outcome.spreads()['tuple_load'].gini:.3f}"),
    ("entropy", lambda outcome: f"{outcome.spreads()['tuple_load'].entropy:.3f}"),
    (
        "busiest gets",
        lambda outcome: f"{outcome.busiest_tuples:.3g} a tuple" if outcome.busiest_tuples > 1 else f"{outcome.busiest_tuples:.2%}",
    ),
    ("peak load", lambda outcome: f"{outcome.loads.tuples.max():,}"),
    (
        "in one epoch",
        lambda outcome: f"{outcome.loads.first_epoch.max():,}" if outcome.loads.first_epoch.any() else "",
    ),
    ("peak match work", lambda outcome: f"{outcome.loads.work.max():,}"),
    ("its share", lambda outcome: f"{outcome.busiest_work:.1%}"),
    ("most templates", lambda outcome: f"{outcome.templates.max():,}"),
    ("lost subscriptions", lambda outcome: f"{outcome.lost:,} of {outcome.subscribed:,}"),
    ("sampled pairs that did not meet", lambda outcome: _missed(outcome)),
)
_FEW_COLUMNS: tuple[tuple[str, Callable[[Outcome], str]], ...] = (
    ("strategy", lambda outcome: outcome.strategy.name.removeprefix("rarest+")),
    ("tuple", lambda outcome: f"{outcome.loads.tuples.sum() / outcome.published:.2f}"),
    ("sub", lambda outcome: f"{outcome.subscriptions.sum() / outcome.subscribed:.2f}"),
    *(column for column in _COLUMNS if column[0] in ("max/mean", "p99/mean", "Gini", "busiest gets", "peak load")),
    ("peak work", lambda outcome: f"{outcome.loads.work.max():.2g}"),
    ("lost", lambda outcome: f"{outcome.lost:,}"),
    ("missed", lambda outcome: f"{outcome.meetings.missed}/{outcome.meetings.pairs - outcome.meetings.lost}"),
)
"""What a terminal has room for."""

NOT_COUNTED = (
    " Not counted, for all strategies alike: frames that carry many, look-ups of owners, replicas that a strategy does not "
    "name, and what subscribers are told of matches. Nor what it takes to learn: the facts and templates under each key, "
    "which keys somebody waits under (demand), and into how many parts a key is split (hot-split, grid) are taken as known, "
    "where peers would have to tell each other. With epochs each subscription asks for all of them."
)
"""What must be known of messages to compare strategies by them."""
LEGEND = (
    "Subscriptions are posted at their rarest constant where nothing else is said. tuple, sub: copies of a tuple and of a "
    "subscription. max/mean, p99/mean, Gini: how copies of tuples are spread over peers (1, 1 and 0 where all carry the "
    "same); the mean is of all copies that a strategy makes, so strategies are compared by what the busiest peer gets of "
    "all tuples. peak load: most copies of tuples at one peer. peak work: most pairs of a tuple and a template that met at "
    "one peer. lost: subscriptions that find no key. missed: matching pairs, in a sample, that did not meet though they "
    "should."
)
"""What the terminal's table means."""


def seeds_said(over_seeds: Sequence[OverSeeds]) -> str:
    """How sure the figures are."""
    if not over_seeds:
        return " All figures are of one seed: how far chance moves them is said with --seeds 20."
    return " Over seeds are means with 95 % intervals in brackets, and the least and the most; all else is of the first seed."


def _missed(outcome: Outcome) -> str:
    sampled = outcome.meetings.pairs - outcome.meetings.lost
    return share_of([outcome.meetings.missed / sampled], sampled).percent() if sampled else ""


def terminal_table(outcomes: Sequence[Outcome]) -> Table:
    """What each strategy costs, and how it spreads the load, for a terminal."""
    return Table.from_rows(_FEW_COLUMNS, outcomes)


_NOTES = (
    "Load is what peers are sent: copies of tuples, whether they keep them or not. max/mean, p99/mean, Gini and entropy are "
    "1, 1, 0 and 1 where all carry the same. Their mean is of all copies that a strategy makes, so one that makes more "
    "copies looks more even; what the busiest peer gets of all tuples is the figure that compares strategies, and its share "
    "of the match work beside that work. A message is a copy of a tuple or of a subscription, and two for each question "
    "about a load."
)

"""The report of a comparison: one HTML file with its plots inside, to be read without network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..drawing.plots import Line, plain, points_plot
from ..engine.findings import share_said
from ..engine.html_page import Figure, Table, page
from ..engine.intervals import share_of
from ..engine.results import figure_of, line_figure
from .balance import Outcome
from .loads import Histogram, ccdf, lorenz
from .seeds import OverSeeds, seeds_table
from .verdict import findings, groups_said, looks

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Growth:
    """What the busiest of so many peers gets, as a share of all tuples; counted over so many tuples, the last point over all."""

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
    # Without keys for ranges of time there is nothing to say of one, and so with others.
    told = {
        _EPOCH: any(one.has_epochs for one in outcomes),
        _UTILISATION: any(one.utilisation is not None for one in outcomes),
        _POINTERS: any(one.pointers is not None for one in outcomes),
    }
    columns = [each for each in _COLUMNS if told.get(each[0], True)]
    tables = [Table.from_rows("Strategies", columns, outcomes), *([seeds_table(over_seeds)] if over_seeds else [])]
    title = f"{first.published:,} tuples and {first.subscribed:,} subscriptions over {first.peers:,} peers"
    return page(
        "Who carries what",
        f"{title}.",
        tables,
        f"{_NOTES}{seeds_said(over_seeds)}",
        figures(outcomes, growths),
        configuration,
        findings=findings(outcomes),
    )


def _costs(outcomes: Sequence[Outcome], look: Sequence[int]) -> list[Line]:
    """The point of each strategy: what its busiest peer gets, and what it costs."""
    return [
        Line(one.strategy.name, np.array([float(one.tuples.largest)]), np.array([one.messages / one.published]), number)
        for one, number in zip(outcomes, look, strict=True)
    ]


def figures(outcomes: Sequence[Outcome], growths: Sequence[Growth]) -> list[Figure]:
    """The plots; a strategy looks the same in all of them."""
    strategies = [outcome.strategy for outcome in outcomes]
    look = looks(strategies)

    def curves(
        load: Callable[[Outcome], Histogram], curve: Callable[[Histogram], tuple[NDArray[np.float64], NDArray[np.float64]]]
    ) -> list[Line]:
        return [Line(one.strategy.name, *curve(load(one)), number) for one, number in zip(outcomes, look, strict=True)]

    grown = [
        Line(outcome.strategy.name, np.array(growth.peers, dtype=np.float64), np.array(growth.busiest), number)
        for outcome, growth, number in zip(outcomes, growths, look, strict=True)
    ]
    load = curves(lambda outcome: outcome.tuples, ccdf)
    even = curves(lambda outcome: outcome.tuples, lorenz)
    work = curves(lambda outcome: outcome.work, ccdf)
    at_least, log = "peers with at least so many (share of all)", {"log_x": True, "log_y": True}
    price = "Price. Down is cheap, left is even."
    points = points_plot(
        "cost", _costs(outcomes, look), title="Price", x="tuples at the busiest peer (copies)", y="messages per tuple (count)"
    )
    return [
        line_figure(
            "load",
            load,
            x="tuples at a peer (copies)",
            y=at_least,
            caption="Load. A curve that ends far to the right has few peers that carry much: left is good."
            f"{groups_said(strategies)}",
            **log,
        ),
        line_figure(
            "lorenz",
            even,
            x="peers, the least loaded first (share)",
            y="copies that they carry (share of all)",
            diagonal=True,
            caption="Lorenz curve. On the diagonal all peers carry the same, so near it is good; the Gini coefficient is twice the "
            "area between.",
        ),
        line_figure(
            "growth",
            grown,
            x="peers (count)",
            y="tuples at the busiest peer (copies per tuple)",
            caption=f"Growth, over {growths[0].tuples:,} tuples, at the end of a line over all. Down is good; where a curve stays "
            "level, more peers do not relieve the busiest one.",
            **log,
        ),
        figure_of(points, price),
        line_figure(
            "work",
            work,
            x="match work at a peer (pairs of a tuple and a template)",
            y=at_least,
            caption="Match work. Pairs that meet under one key, most of which an indexed peer never looks at: left is good.",
            **log,
        ),
    ]


_EPOCH = "in one epoch"
_UTILISATION = "utilisation, max/mean"
_POINTERS = "most pointers"
_COLUMNS: tuple[tuple[str, str, Callable[[Outcome], str]], ...] = (
    ("strategy", "", lambda outcome: outcome.strategy.name),
    ("busiest gets", "of all tuples; less is better", lambda outcome: _busiest(outcome)),
    ("peak load", "copies; less is better", lambda outcome: f"{outcome.tuples.largest:,}"),
    (
        _EPOCH,
        "copies; less is better",
        lambda outcome: f"{outcome.first_epoch.largest:,}" if outcome.has_epochs else "",
    ),
    ("peak match work", "pairs; less is better", lambda outcome: f"{outcome.work.largest:,}"),
    ("its share", "of all match work; less is better", lambda outcome: share_said(outcome.busiest_work)),
    ("max/mean", "times; 1 is even", lambda outcome: f"{outcome.spreads()['tuple_load'].max_over_mean:,.1f}"),
    (_UTILISATION, "times, by capacity; 1 is even", lambda outcome: _utilisation(outcome)),
    ("p99/mean", "times; 1 is even", lambda outcome: f"{outcome.spreads()['tuple_load'].p99_over_mean:,.1f}"),
    ("Gini", "0 to 1; 0 is even", lambda outcome: f"{outcome.spreads()['tuple_load'].gini:.3f}"),
    ("entropy", "0 to 1; 1 is even", lambda outcome: f"{outcome.spreads()['tuple_load'].entropy:.3f}"),
    ("copies of a tuple", "count", lambda outcome: f"{outcome.tuples.total / outcome.published:.2f}"),
    ("copies of a subscription", "count", lambda outcome: f"{outcome.subscriptions.total / outcome.subscribed:,.2f}"),
    ("messages", "count; less is cheaper", lambda outcome: f"{outcome.messages:,}"),
    ("to learn", "of the messages; less is cheaper", lambda outcome: f"{outcome.learning.total:,}"),
    (_POINTERS, "to keys, at one peer", lambda outcome: "" if outcome.pointers is None else f"{outcome.pointers.largest:,}"),
    ("most templates", "at one peer", lambda outcome: f"{outcome.templates.largest:,}"),
    ("lost subscriptions", "count; 0 is right", lambda outcome: f"{outcome.lost:,} of {outcome.subscribed:,}"),
    ("did not meet", "of sampled pairs; 0 is right", lambda outcome: _missed(outcome)),
)
_FEW_COLUMNS: tuple[tuple[str, str, Callable[[Outcome], str]], ...] = (
    *(column for column in _COLUMNS if column[0] in ("strategy", "busiest gets", "peak load")),
    ("peak work", "pairs", lambda outcome: f"{outcome.work.largest:,}"),
    *(column for column in _COLUMNS if column[0] in ("max/mean", "Gini")),
    ("tuple", "copies", lambda outcome: f"{outcome.tuples.total / outcome.published:.2f}"),
    ("sub", "copies", lambda outcome: f"{outcome.subscriptions.total / outcome.subscribed:,.2f}"),
    ("learning", "messages a tuple", lambda outcome: plain(outcome.learning.total / outcome.published)),
    ("lost", "subs", lambda outcome: f"{outcome.lost:,}"),
    ("missed", "pairs", lambda outcome: f"{outcome.meetings.missed:,}"),
)
"""What a terminal has room for."""
_LEGEND = """\
busiest gets: by this strategies are compared; the mean in max/mean is of all copies that a strategy makes.
peak load, peak work: most copies of tuples at one peer, and most pairs of a tuple and a template that met at one.
max/mean, Gini: how copies are spread over peers, 1 and 0 where all carry the same.{utilised}
tuple, sub: copies of a tuple and of a subscription, which is posted at its rarest constant where nothing else is said.
learning: messages by which peers learn what a strategy goes by.
lost: subscriptions that find no key. missed: matching pairs, in a sample, that did not meet though they should."""
"""What the terminal's table means."""


def seeds_said(over_seeds: Sequence[OverSeeds]) -> str:
    """How sure the figures are."""
    if not over_seeds:
        return "All figures are of one seed: how far chance moves them is said with --seeds 20."
    return "Over seeds are means with 95 % intervals in brackets, and the least and the most; all else is of the first seed."


def _busiest(outcome: Outcome) -> str:
    return f"{plain(outcome.busiest_tuples)} a tuple" if outcome.busiest_tuples > 1 else share_said(outcome.busiest_tuples)


def _utilisation(outcome: Outcome) -> str:
    times = outcome.utilisation_max_over_mean
    return "" if times is None else f"{times:,.1f}"


def _missed(outcome: Outcome) -> str:
    sampled = outcome.meetings.pairs - outcome.meetings.lost
    return share_of([outcome.meetings.missed / sampled], sampled).percent() if sampled else ""


def terminal_table(outcomes: Sequence[Outcome]) -> Table:
    """What each strategy costs, and how it spreads the load, for a terminal."""
    columns, first, utilised = _FEW_COLUMNS, outcomes[0], ""
    if first.utilisation is not None:
        columns = tuple(("utilised", "max/mean", _utilisation) if each[0] == "Gini" else each for each in columns)
        utilised = " utilised: the same of copies by capacity."
    title = f"{first.published:,} tuples and {first.subscribed:,} subscriptions over {first.peers:,} peers"
    return replace(Table.from_rows(title, columns, outcomes), legend=_LEGEND.format(utilised=utilised))


_NOTES = """\
load: copies of tuples that peers are sent, whether they keep them or not.
busiest gets: what the busiest peer gets of all tuples, by which strategies are compared.
its share: what the busiest peer has of all match work.
max/mean, p99/mean, Gini, entropy: 1, 1, 0 and 1 where all carry the same. Their mean is of all copies that a strategy makes,
    so one that makes more copies looks more even.
messages: copies of tuples and of subscriptions, and those to learn.
to learn: by these peers learn what a strategy goes by: loads, where keys were assigned, who waits for what, and into how many
    parts keys are split. They are counted by rules, as if all peers published alike: with demand each asks all others which
    keys somebody waits under, every five seconds while it publishes; what is split is told version by version.
not counted, for all strategies alike: frames that carry many, look-ups of owners, replicas that a strategy does not name, what
    subscribers are told of matches, and writes to both parts and templates that move while a split changes.
Which constants are too popular to be keys is taken as known. With epochs each subscription asks for all of them.
"""

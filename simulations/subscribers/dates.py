"""Subscriptions that ask for realistic ranges of time, an hour, a day, a week, a month, against epochs of several lengths.

What keys by ranges of time are is in date_keys.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

import numpy as np

from gsg.placement.rules import NOWHERE, Anchor
from gsg.tuples.ordered_attributes import POSTED_INTERVALS

from ..drawing.plots import Line
from ..engine.findings import Bar, Finding, part_said, share_said
from ..engine.html_page import Table
from ..engine.intervals import Interval, flat, mean_of, share_of
from ..engine.ownership import Ownership
from ..engine.results import line_figure
from ..engine.sweep import Sweep, by_setting
from ..errors import BadParameter
from ..workload.workload import ARITY, Mix, Recorded, Synthetic, Workload
from .date_keys import Ranges, cells_of_tuples, drawn_ranges, loads_of, posted_at
from .memories import expected_matches
from .shown import Shown
from .templates import anchors_by_rule, ids_of, reseeded, words_of

RANGES_H = {"hour": 1.0, "day": 24.0, "week": 168.0, "month": 720.0}
"""What people ask for, in hours."""
RANGES = "hour=40,day=30,week=20,month=10"
"""How often, where nobody says."""
EPOCHS_H = (1.0, 6.0, 24.0, 168.0)
DAYS = 30.0
TUPLES, SUBSCRIPTIONS = 1_000_000, 100_000
"""Of the workload at most: each pair of a key and an epoch is looked at."""
MAX_EPOCHS = 100_000


@dataclass(frozen=True, slots=True)
class Dates:
    """What is assumed of time."""

    ranges: tuple[tuple[float, float], ...]
    """Hours, and the share of subscriptions that ask for so many; shares add up to 1."""
    epochs_h: tuple[float, ...] = EPOCHS_H
    days: float = DAYS
    limit: int = POSTED_INTERVALS
    """Epochs under which one subscription is posted at most: as many as intervals of an ordered attribute."""

    def __post_init__(self) -> None:
        """Raises BadParameter for what cannot be."""
        hours = self.days * 24
        if not 0 < hours < float("inf"):
            raise BadParameter(f"tuples of {self.days:g} days; expected more than 0")
        for epoch in self.epochs_h:
            if not hours / MAX_EPOCHS <= epoch <= hours:
                raise BadParameter(f"epochs of {epoch:g} h in {self.days:g} days; expected {hours / MAX_EPOCHS:g} to {hours:g} h")


def parse_ranges(text: str) -> tuple[tuple[float, float], ...]:
    """Weights of ranges, such as ``hour=40,day=30``. Raises BadParameter."""
    weights: dict[float, float] = {}
    for part in text.split(","):
        name, _, weight = part.strip().partition("=")
        if name not in RANGES_H:
            raise BadParameter(f"range {name!r} of {text!r}; expected {', '.join(RANGES_H)}, each with a weight as in hour=40")
        if RANGES_H[name] in weights:
            raise BadParameter(f"range {name!r} is twice in {text!r}; expected each once")
        try:
            weights[RANGES_H[name]] = float(weight)
        except ValueError:
            weights[RANGES_H[name]] = -1.0
        if not 0 < weights[RANGES_H[name]] < 1e9:
            raise BadParameter(f"weight {weight!r} of {name!r} in {text!r}: expected a number above 0, as in day=30")
    total = sum(weights.values())
    return tuple((hours, weight / total) for hours, weight in weights.items())


@dataclass(frozen=True)
class Case:
    """One length of epochs, 0 for none, in one run."""

    epoch_h: float
    run: int


@dataclass(frozen=True)
class Dated(Case):
    """What it comes to."""

    epochs: int
    tuples: int
    subscriptions: int
    copies: int
    """Of subscriptions, at all peers."""
    templates: int
    """Distinct ones, of those."""
    lost: int
    """Subscriptions whose range touches more epochs than one is posted under."""
    lost_matches: float
    """Their share of all expected matches."""
    busiest: float
    """What the busiest peer gets of all tuples."""
    busiest_in_epoch: float
    """What a peer gets at most in one epoch, of what is published in a whole one."""
    most_copies: int
    """Of subscriptions at one peer."""
    most_work: int
    """Pairs of a tuple and a distinct template that met at one peer."""
    work: int


def sweep_of(
    workload: Workload, mix: Mix, peers: int, subscriptions: int, rule: Anchor, dates: Dates, seeds: Sequence[int]
) -> Sweep[Case, Dated]:
    """Each length of epochs, and none, in each run."""
    cases = [Case(epoch, run) for epoch in (0.0, *dates.epochs_h) for run in seeds]
    return Sweep(Dated, cases, partial(play, workload, mix, peers, min(subscriptions, SUBSCRIPTIONS), rule, dates))


def play(workload: Workload, mix: Mix, peers: int, count: int, rule: Anchor, dates: Dates, case: Case) -> Iterator[Dated]:
    """One case."""
    tuples = _some(reseeded(workload, case.run))
    wanted = tuples.subscriptions(count, mix, case.run)
    whole_h = dates.days * 24
    epoch_h = case.epoch_h or whole_h
    begin, end = drawn_ranges(count, dates.ranges, whole_h, case.run)
    whole = whole_h / epoch_h
    ranges = Ranges(begin / epoch_h, end / epoch_h, ceil(whole))
    anchors = anchors_by_rule(rule, wanted, tuples)
    lost = (ranges.touched > dates.limit) & (anchors != NOWHERE)
    matches = expected_matches(wanted, tuples) * (end - begin)
    posted = posted_at(anchors, wanted, words_of(wanted, tuples.constants), ranges, dates.limit)
    cells = cells_of_tuples(tuples, whole)
    loads = loads_of(cells, posted, tuples.constants, Ownership(ids_of(peers, case.run)), ranges.epochs)
    yield Dated(
        case.epoch_h,
        case.run,
        epochs=ranges.epochs,
        tuples=tuples.tuples,
        subscriptions=int((anchors != NOWHERE).sum()),
        copies=int(loads.copies.sum()),
        templates=loads.templates,
        lost=int(lost.sum()),
        lost_matches=float(matches[lost].sum() / (matches.sum() or 1.0)),
        busiest=float(loads.tuples.max() / tuples.tuples),
        busiest_in_epoch=float(loads.most_in_epoch * whole / tuples.tuples),
        most_copies=int(loads.copies.max()),
        most_work=int(loads.work.max()),
        work=int(loads.work.sum()),
    )


def _some(workload: Workload) -> Workload:
    """So many of its tuples as are looked at, with as many constants."""
    if workload.tuples <= TUPLES:
        return workload
    return replace(workload, tuples=TUPLES) if isinstance(workload, Synthetic) else _thinned(workload)


def _thinned(workload: Workload) -> Workload:
    assert isinstance(workload, Recorded), "what is not synthetic was read"
    return workload.thinned(TUPLES)


@dataclass(frozen=True)
class Epochs:
    """All runs of one length of epochs."""

    epoch_h: float
    epochs: int
    copies: Interval
    """Of a subscription that is posted or lost, as are templates."""
    templates: Interval
    lost: Interval
    lost_matches: Interval
    busiest: Interval
    busiest_in_epoch: Interval
    most_copies: Interval
    most_work: Interval
    messages: Interval
    """Copies of tuples and of subscriptions."""

    @property
    def name(self) -> str:
        """As it is told."""
        return f"{self.epoch_h:g} h" if self.epoch_h else "none"


def over_runs(rows: Sequence[Dated]) -> list[Epochs]:
    """None first, then from the shortest on."""
    found = []
    for epoch_h, some in sorted(by_setting(rows, lambda row: row.epoch_h).items()):

        def mean(figure: Callable[[Dated], float], some: Sequence[Dated] = some) -> Interval:
            return mean_of([figure(row) for row in some])

        found.append(
            Epochs(
                epoch_h,
                some[0].epochs,
                copies=mean(lambda row: row.copies / max(1, row.subscriptions)),
                templates=mean(lambda row: row.templates / max(1, row.subscriptions)),
                lost=share_of([row.lost / max(1, row.subscriptions) for row in some], sum(row.subscriptions for row in some) or 1),
                lost_matches=share_of([row.lost_matches for row in some], sum(row.subscriptions for row in some) or 1),
                busiest=mean(lambda row: row.busiest),
                busiest_in_epoch=mean(lambda row: row.busiest_in_epoch),
                most_copies=mean(lambda row: row.most_copies),
                most_work=mean(lambda row: row.most_work),
                messages=mean(lambda row: ARITY * row.tuples + row.copies),
            )
        )
    return found


def shown(rows: Sequence[Dated], dates: Dates) -> Shown:
    """What the report says."""
    every = over_runs(rows)
    dated = [one for one in every if one.epoch_h]

    def line(name: str, figure: Callable[[Epochs], Interval]) -> Line:
        return Line(name, np.array([one.epoch_h for one in dated]), np.array([figure(one).value for one in dated]))

    log = {"log_x": True, "log_y": True}
    posted = [line("copies", lambda one: one.copies), line("templates", lambda one: one.templates)]
    share = [
        line("over all the time", lambda one: one.busiest),
        line("in one epoch", lambda one: one.busiest_in_epoch),
        line("matches lost", lambda one: one.lost_matches),
    ]
    return Shown(
        findings=[_finding(every)],
        figures=[
            line_figure(
                "epochs",
                posted,
                x="length of an epoch (h)",
                y="of a subscription (count)",
                caption="What ranges cost. Short epochs are many for one range: down is good.",
                **log,
            ),
            line_figure(
                "epoch-load",
                share,
                x="length of an epoch (h)",
                y="of all tuples, or matches (share)",
                caption="What the busiest peer gets, and what is lost. Epochs spread a hot key over time: down is good.",
                **log,
            ),
        ],
        tables=[Table.from_rows(f"Keys by ranges of time, over {dates.days:g} days", _COLUMNS, every)],
        notes=_NOTES.format(limit=dates.limit),
        summary=[{"part": "dates", **flat(vars(one))} for one in every],
        rows={"dates": rows},
    )


def _finding(every: Sequence[Epochs]) -> Finding:
    none, *dated = every
    best = min(dated, key=lambda one: (one.lost_matches.value > _BEARABLE, one.busiest.value))
    gets = {one: share_said(one.busiest.value) for one in (best, none)}
    bars = tuple(Bar(f"epochs: {one.name}", one.busiest.value, f"{said} of all tuples") for one, said in gets.items())
    part = part_said(min(best.busiest.value, none.busiest.value), none.busiest.value)
    in_epoch, lost = share_said(best.busiest_in_epoch.value), share_said(best.lost_matches.value)
    text = (
        f"Epochs of {best.name} give the busiest peer {part} the tuples that it gets without, but {in_epoch} of those of one "
        f"epoch, and post a subscription {best.copies.value:.3g} times; {lost} of matches are lost because ranges are too long."
    )
    return Finding(text, bars)


_BEARABLE = 0.01
"""Lost matches, as a share, up to which a length of epochs is named as a good one."""
_COLUMNS: tuple[tuple[str, str, Callable[[Epochs], str]], ...] = (
    ("epochs", "length", lambda one: one.name),
    ("number", "count", lambda one: f"{one.epochs:,}"),
    ("copies", "per subscription; less is cheaper", lambda one: str(one.copies)),
    ("templates", "per subscription; less is better", lambda one: str(one.templates)),
    ("busiest gets", "of all tuples; less is better", lambda one: one.busiest.percent()),
    ("in one epoch", "of its tuples; less is better", lambda one: one.busiest_in_epoch.percent()),
    ("most copies", "at one peer", lambda one: str(one.most_copies)),
    ("peak work", "pairs; less is better", lambda one: str(one.most_work)),
    ("lost", "of subscriptions; 0 is right", lambda one: one.lost.percent()),
    ("lost matches", "share; 0 is right", lambda one: one.lost_matches.percent()),
)
_NOTES = """\
epochs: a constant has a key of its own in each; a subscription is posted in all that its range touches, {limit} at most.
lost: subscriptions whose ranges touch more.
lost matches: theirs, as expected of constants that do not depend on each other.
templates: where a range covers an epoch in part, and without epochs, it is a test that no other subscription has.
Subscriptions without a constant are left out."""

"""What ``churn --lifetimes`` says: what is lost and what it costs not to lose it, by laws and holders, with plots and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..drawing.marks import DASHED, DOTTED
from ..drawing.plots import Line
from ..engine.findings import Bar, Finding, share_said
from ..engine.html_page import Figure, Table
from ..engine.intervals import Interval, flat
from ..engine.results import Results, line_figure
from .lifetime_cases import Kept, LifetimesRequest, Mean
from .settings import Setting, columns_of, matches_said, name_of, setting_of

USUAL_HOLDERS = 3
"""So many have a key in peers: that is said first, where it was asked for."""

LEAST_DRAWN = 1e-5
"""Of what is expected; the plot is of what was seen, and numbers with more noughts have no room at its axis."""
_NOTHING = 1e-8

Columns = list[tuple[str, str, Callable[[Mean], str]]]


def results_of(
    request: LifetimesRequest, means: Sequence[Mean], kept: Sequence[Kept], counted: Mapping[Setting, dict[str, object]]
) -> Results:
    """All of it, by means in the order in which kinds were asked for."""
    return Results(
        title="What is lost while peers come and go one by one",
        lead=f"{matches_said(request)}, days: {request.days}, runs of each kind: {request.runs}, "
        f"{sum(one.deaths for one in means):,} lives that ended.",
        notes=_NOTES,
        tables=_tables(request, means),
        findings=_findings(request, means),
        figures=_figures(request, means),
        summary=[{**flat(vars(mean)), **counted[setting_of(mean)]} for mean in means],
        rows={"kept": kept},
    )


# --- what is said first -------------------------------------------------------------------------------------------------------


def _findings(request: LifetimesRequest, means: Sequence[Mean]) -> list[Finding]:
    """What is lost with the usual number of holders and the fewest, by the law that loses most; and what that costs."""
    first = _first(means)
    of_law = {law: [one for one in first if one.lifetimes == law] for law in request.lifetimes}
    usual = min(request.replicas, key=lambda replicas: abs(replicas - USUAL_HOLDERS))
    worst = max(of_law.values(), key=lambda some: next(one.fewer.value for one in some if one.replicas == usual))
    middle = next(one for one in worst if one.replicas == usual)
    fewest = min(worst, key=lambda one: one.replicas)
    said = f"lives are {middle.lifetimes}, of {middle.mean_hours:.3g} hours, and {_ends(middle)}"
    found = []
    if fewest is not middle:
        more, less = _lost_said(middle.lost_a_day), _lost_said(fewest.lost_a_day)
        found.append(
            Finding(
                f"Of keys with {_holders(middle.replicas)} {more} are lost on a day, with {_holders(fewest.replicas)} {less}, "
                f"where {said}.",
                (
                    Bar(_holders(middle.replicas), middle.lost_a_day.value, f"{more} of keys"),
                    Bar(_holders(fewest.replicas), fewest.lost_a_day.value, f"{less} of keys"),
                ),
            )
        )
    mends, compares = middle.hand_over_bytes.value + middle.repair_bytes.value, middle.comparing_bytes
    found.append(
        Finding(
            f"With {_holders(middle.replicas)} a peer sends {_bytes(mends)} an hour to hand keys over and to repair them, and "
            f"{_bytes(compares)} to compare what it has with others, which it does whether anybody dies or not.",
            (Bar("hand-over and repair", mends, f"{_bytes(mends)}/h"), Bar("comparing", compares, f"{_bytes(compares)}/h")),
        )
    )
    return found


def _first(means: Sequence[Mean]) -> list[Mean]:
    """Those that differ from the first one in their law and their holders alone: what plots show, and what is said first."""
    first = means[0]
    return [one for one in means if _rest(one) == _rest(first)]


def _rest(mean: Mean) -> tuple[object, ...]:
    return (setting_of(mean), mean.mean_hours, mean.graceful)


def _ends(mean: Mean) -> str:
    if mean.graceful in (0.0, 1.0):
        return "all end in order" if mean.graceful else "all end by a crash"
    return f"{share_said(mean.graceful)} of them end in order"


def _lost_said(lost: Interval) -> str:
    """A share in words; of none seen how many it may be at most."""
    return share_said(lost.value) if lost.value or not lost.trials else f"none of {lost.trials:,}"


def _drawn_expectation(mean: Mean) -> float:
    return mean.expected_lost_a_day if mean.expected_lost_a_day > LEAST_DRAWN else 0.0


def _expected_said(share: float) -> str:
    """A share in percent, of which so little may be expected that its digits say nothing."""
    return share_said(share) if share > _NOTHING else f"below {share_said(_NOTHING)}"


def _holders(count: int) -> str:
    return f"{count} holder{'s' if count > 1 else ''}"


def _bytes(count: float) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} bytes"


# --- plots --------------------------------------------------------------------------------------------------------------------


def _figures(request: LifetimesRequest, means: Sequence[Mean]) -> list[Figure]:
    first = _first(means)
    where = name_of(setting_of(first[0]), request.settings)
    told = f"By {where}, where lives are of {first[0].mean_hours:.3g} hours and {_ends(first[0])}."

    def lines(y: Callable[[Mean], float], name: str = "{}", look: int = 0) -> list[Line]:
        """A value against the holders, with a line for each law."""
        drawn = []
        for number, law in enumerate(request.lifetimes):
            some = sorted((one for one in first if one.lifetimes == law), key=lambda one: one.replicas)
            at = np.array([one.replicas for one in some], dtype=np.float64)
            drawn.append(Line(name.format(law), at, np.array([y(one) for one in some]), number + look))
        return drawn

    axis = "holders of a key, r (count)"
    lost = lines(lambda one: one.lost_a_day.value)
    # One line, as arithmetic does not know of laws.
    lost.append(lines(_drawn_expectation, "expected of exponential lives", DOTTED)[0])
    times = lines(lambda one: one.fewer.value, "{}, fewer than r") + lines(
        lambda one: one.late.value, "{}, primary lacks it", DASHED
    )
    sent = lines(lambda one: one.hand_over_bytes.value / 1e3, "{}, hand-over")
    sent += lines(lambda one: one.repair_bytes.value / 1e3, "{}, repair", DASHED)
    compared = lines(lambda one: one.comparing_bytes / 1e3, "comparing, whatever dies", DOTTED)[:1]
    return [
        line_figure(
            "lost", lost, x=axis, y="keys lost (share a day)", log_y=True, caption=f"Keys lost on a day. {told} {_NO_POINT}"
        ),
        line_figure(
            "time",
            times,
            x=axis,
            y="time (share)",
            log_y=True,
            caption=f"Time with fewer living holders than r, or a primary that is dead or lacks the key. {told} {_NO_POINT}",
        ),
        line_figure(
            "traffic",
            sent + compared,
            x=axis,
            y="sent by a peer (kB an hour)",
            log_y=True,
            caption=f"What a peer sends in an hour. {told} {_NO_POINT}",
        ),
        line_figure(
            "busiest",
            lines(lambda one: one.busiest_bytes.value / 1e6),
            x=axis,
            y="busiest peer (MB in an hour)",
            caption=f"The most that one peer sends and receives in an hour. {told}",
        ),
    ]


# --- tables -------------------------------------------------------------------------------------------------------------------


def _tables(request: LifetimesRequest, means: Sequence[Mean]) -> list[Table]:
    kind: Columns = [*columns_of(request.settings), ("lives", "law", lambda mean: mean.lifetimes)]
    if len(request.mean_hours) > 1:
        kind.append(("hours", "of a life, in the mean", lambda mean: f"{mean.mean_hours:.3g}"))
    if len(request.graceful) > 1:
        kind.append(("in order", "of lives", lambda mean: f"{mean.graceful:.0%}"))
    kind.append(("r", "holders of a key", lambda mean: f"{mean.replicas}"))
    return [
        Table.from_rows("What is lost", [*kind, *_LOST], means),
        Table.from_rows("What a peer sends in an hour", [*kind, *_SENT], means),
    ]


_LOST: Columns = [
    ("keys", "lost on a day; less is better", lambda mean: mean.lost_a_day.percent()),
    ("expected", "of exponential lives", lambda mean: _expected_said(mean.expected_lost_a_day)),
    ("matches", "lost on a day", lambda mean: mean.matches_lost_a_day.percent()),
    ("fewer than r", "of time", lambda mean: mean.fewer.percent()),
    ("primary lacks", "of time", lambda mean: mean.late.percent()),
    ("none has it", "of time", lambda mean: mean.missed.percent()),
]
_SENT: Columns = [
    ("hand-over", "messages", lambda mean: str(mean.hand_over_messages)),
    ("hand-over, kB", "less is cheaper", lambda mean: str(_thousandth(mean.hand_over_bytes))),
    ("repair", "messages", lambda mean: str(mean.repair_messages)),
    ("repair, kB", "less is cheaper", lambda mean: str(_thousandth(mean.repair_bytes))),
    ("comparing", "messages", lambda mean: f"{mean.comparing_messages:,.0f}"),
    ("comparing, kB", "whatever dies", lambda mean: f"{mean.comparing_bytes / 1e3:,.0f}"),
    ("busiest, kB", "sends and receives in one hour", lambda mean: str(_thousandth(mean.busiest_bytes))),
]


def _thousandth(interval: Interval) -> Interval:
    low, high = (None if end is None else end / 1e3 for end in (interval.low, interval.high))
    return Interval(interval.value / 1e3, low, high)


_NO_POINT = "Where a line has no point nothing was seen."
_NOTES = """\
Each peer lives by a law and is followed by another one; lives that are under way in the beginning are drawn by what is left of
    them. A share of peers leaves in order and hands over at once. A crash is noticed after what peers take for it, and the next
    closest peer is sent the key. Newcomers are sent the keys that are theirs from then on.
keys: how many are lost on a day, once or more, as no living peer has them; they are posted anew at once.
expected: by arithmetic, where lives are exponential and holders die by themselves.
matches: the same share, of matches, many of which meet under few keys.
fewer than r: the share of time with fewer than r living peers that have the key.
primary lacks: in which the closest one is dead or has not got it yet, so that what is published is late.
none has it: in which no living peer has it, so that what is published is missed.
messages, kB: what a peer sends in an hour, in the mean, in frames of real size with confirmations and questions.
comparing: what holders of the same keys ask each other every ten seconds.
Facts are those of three keys of each tuple, whatever the strategy.
Brackets: 95 % intervals, by the spread between runs. Of nothing seen it is said in how many sets of holders that share no peer, of
    all days, and what share that leaves possible."""

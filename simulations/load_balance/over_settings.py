"""The experiment ``sweep``: strategies compared over lists of settings and over seeds, as one job.

A case is one strategy with one setting and one seed, counted by one task in one thread: so cases are many and each is small, where
the comparison of load-balance is few and large. Cases of one setting and seed have the same tuples, subscriptions and peers by all
strategies, which are compared seed by seed: what chance does to both is not in the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from operator import attrgetter

import numpy as np

from ..drawing.plots import Line
from ..engine.experiment import Experiment
from ..engine.findings import Bar, Finding, share_said
from ..engine.html_page import Figure, Table
from ..engine.intervals import Interval, difference_of, flat, mean_of
from ..engine.results import Results, line_figure
from ..engine.sweep import Sweep, by_setting, check_size
from ..errors import check_range
from ..workload.workload import COMMON_MIX
from .balance import InOneThread, run
from .experiments import SCATTERED, ZIPF, BalanceRequest, capacity_of, mix_of, workload_of
from .peers import Peers
from .plan import check
from .strategies import parse
from .verdict import looks

MOST_TUPLES = 100_000_000
"""Of one case, which is one thread's."""
USUAL = ("rarest", "hot-split-10")


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """What was asked for: each combination of these is a setting; texts are as those of a comparison (:class:`BalanceRequest`)."""

    peers: tuple[int, ...] = (1_000,)
    tuples: tuple[int, ...] = (1_000_000,)
    subscriptions: tuple[int, ...] = (10_000,)
    zipf: tuple[str, ...] = ("",)
    mix: tuple[str, ...] = ("",)
    width: tuple[float, ...] = ()
    values: tuple[str, ...] = ("",)
    drift: tuple[float, ...] = ()
    adversary: tuple[str, ...] = ("",)
    capacity: tuple[str, ...] = ("",)
    distinct: str = ""
    strategies: tuple[str, ...] = USUAL
    seed: int = 1
    runs: int = 20
    """Seeds of each setting, from ``seed`` on."""


@dataclass(frozen=True)
class Setting:
    """What a case has besides its strategy and its seed; empty texts mean the usual."""

    peers: int
    tuples: int
    subscriptions: int
    zipf: str
    mix: str
    width: float | None
    values: str
    drift: float | None
    adversary: str
    capacity: str

    def said(self, varying: Sequence[str]) -> str:
        """Those of its parts that are not the same in all settings."""
        told = [f"{name} {_number_said(getattr(self, name))}" for name in varying]
        return ", ".join(told) or "all"


def _number_said(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "usual" if value in (None, "") else str(value)


@dataclass(frozen=True)
class LoadRow(Setting):
    """What one strategy came to in one setting with one seed."""

    strategy: str
    seed: int
    busiest_share_of_tuples: float
    busiest_share_of_work: float
    max_over_mean: float
    copies_per_tuple: float
    copies_per_subscription: float
    messages_per_tuple: float
    lost_subscriptions: int
    missed_pairs: int
    utilisation_max_over_mean: float | None
    """None where peers are all alike."""


@dataclass(frozen=True)
class LoadCase(Setting):
    """One run."""

    strategy: str
    seed: int
    distinct: str

    @property
    def request(self) -> BalanceRequest:
        """The comparison that it is a part of. Raises BadParameter where that has something that would not be looked at."""
        asked = asdict(self)
        strategy = asked.pop("strategy")
        return BalanceRequest(**asked, strategies=(strategy,))


@dataclass(frozen=True)
class Mean:
    """A strategy in a setting, over all seeds."""

    setting: Setting
    strategy: str
    runs: int
    busiest_share_of_tuples: Interval
    difference: Interval | None
    """Of that share to the first strategy, seed by seed; None for the first one."""
    busiest_share_of_work: Interval
    max_over_mean: Interval
    copies_per_tuple: Interval
    copies_per_subscription: Interval
    messages_per_tuple: Interval
    lost_subscriptions: Interval
    missed_pairs: int
    utilisation_max_over_mean: Interval | None
    """None where peers are all alike."""


def play(case: LoadCase) -> Iterator[LoadRow]:
    """Count one case."""
    request = case.request
    workload, _, _ = workload_of(request, InOneThread())
    subscriptions = workload.subscriptions(case.subscriptions, mix_of(request), case.seed)
    peers = Peers(case.peers, case.seed, capacity=capacity_of(request))
    outcome = run(parse(case.strategy), workload, subscriptions, peers, InOneThread())
    setting = {name: value for name, value in asdict(case).items() if name != "distinct"}
    yield LoadRow(
        **setting,
        busiest_share_of_tuples=outcome.busiest_tuples,
        busiest_share_of_work=outcome.busiest_work,
        max_over_mean=outcome.spreads()["tuple_load"].max_over_mean,
        copies_per_tuple=outcome.tuples.total / outcome.published,
        copies_per_subscription=outcome.subscriptions.total / outcome.subscribed,
        messages_per_tuple=outcome.messages / outcome.published,
        lost_subscriptions=outcome.lost,
        missed_pairs=outcome.meetings.missed,
        utilisation_max_over_mean=outcome.utilisation_max_over_mean,
    )


def experiment(request: SweepRequest) -> Experiment:
    """All strategies in all settings with all seeds. Raises BadParameter for what cannot be, before anything is counted."""
    strategies = [parse(name) for name in dict.fromkeys(request.strategies)]
    request = replace(request, strategies=tuple(strategy.name for strategy in strategies))
    widths: tuple[float | None, ...] = request.width or (None,)
    drifts: tuple[float | None, ...] = request.drift or (None,)
    sizes = (request.peers, request.tuples, request.subscriptions)
    lists = (*sizes, request.zipf, request.mix, widths, request.values, drifts, request.adversary, request.capacity)
    # A value that is said twice would count each seed twice, and make intervals narrower than they are.
    settings = list(dict.fromkeys(Setting(*parts) for parts in product(*lists)))
    check_size(request.seed, request.runs, len(settings) * len(strategies) * request.runs)
    for tuples in request.tuples:
        check_range(tuples, 1, MOST_TUPLES, "tuples of one case")
    for peers in request.peers:
        Peers(peers)
    cases = []
    # The largest come first, so that the end waits for none.
    for setting in sorted(settings, key=lambda setting: (setting.tuples, setting.peers), reverse=True):
        for place, strategy in enumerate(strategies):
            case = LoadCase(**asdict(setting), strategy=strategy.name, seed=request.seed, distinct=request.distinct)
            if not place:
                asked = case.request
                mix_of(asked)
                capacity_of(asked)
                workload_of(asked, InOneThread())
            check(strategy, setting.peers, numbers=True)
            cases += [replace(case, seed=request.seed + number) for number in range(request.runs)]
    sweep = Sweep(LoadRow, cases, play)
    # What is as usual is told by its name, and what there is not was not said.
    said = {name: value for name, value in asdict(request).items() if value not in ((), ("",), "")}
    usual = {"zipf": (ZIPF,), "mix": (str(COMMON_MIX),), "values": (SCATTERED,)}
    return Experiment({**usual, **said}, {"settings": sweep}, partial(results_of, request, settings))


def means_of(rows: Sequence[LoadRow], settings: Sequence[Setting], strategies: Sequence[str]) -> list[Mean]:
    """The mean of all seeds of each strategy in each setting, in the order in which these were asked for."""
    found = by_setting(rows, lambda row: (_setting_of(row), row.strategy))
    made = []
    for setting in settings:
        first = sorted(found[setting, strategies[0]], key=attrgetter("seed"))
        for strategy in strategies:
            mine = sorted(found[setting, strategy], key=attrgetter("seed"))
            shares = [row.busiest_share_of_tuples for row in mine]
            pairs = [share - row.busiest_share_of_tuples for share, row in zip(shares, first, strict=True)]
            others = {name: mean_of([float(getattr(row, name)) for row in mine]) for name in _MEANS}
            utilisation = [row.utilisation_max_over_mean for row in mine if row.utilisation_max_over_mean is not None]
            made.append(
                Mean(
                    setting,
                    strategy,
                    len(mine),
                    busiest_share_of_tuples=mean_of(shares),
                    difference=None if strategy == strategies[0] else difference_of(pairs),
                    **others,
                    missed_pairs=sum(row.missed_pairs for row in mine),
                    utilisation_max_over_mean=mean_of(utilisation) if utilisation else None,
                )
            )
    return made


_MEANS = (
    "busiest_share_of_work",
    "max_over_mean",
    "copies_per_tuple",
    "copies_per_subscription",
    "messages_per_tuple",
    "lost_subscriptions",
)


def _setting_of(row: LoadRow) -> Setting:
    return Setting(**{name: getattr(row, name) for name in Setting.__dataclass_fields__})


def results_of(request: SweepRequest, settings: Sequence[Setting], rows: Sequence[LoadRow]) -> Results:
    """Rows as the report shows them."""
    means = means_of(rows, settings, request.strategies)
    varying = [name for name in Setting.__dataclass_fields__ if len({getattr(setting, name) for setting in settings}) > 1]
    columns = [*((name, "", _told(name)) for name in varying), *_COLUMNS]
    if any(mean.utilisation_max_over_mean is not None for mean in means):
        columns.append(_UTILISED)
    return Results(
        title="Who carries what, setting by setting",
        lead=f"{len(settings):,} settings, {len(request.strategies)} strategies, {request.runs} seeds of each.",
        notes=_NOTES,
        tables=[Table.from_rows(f"Strategies over {request.runs} seeds: means with 95 % intervals", columns, means)],
        findings=_findings(means, varying),
        figures=[_figure(request, means, name, varying) for name in _drawn(varying)],
        summary=[{**asdict(mean.setting), **flat({n: v for n, v in vars(mean).items() if n != "setting"})} for mean in means],
        rows={"settings": rows},
    )


def _told(name: str) -> Callable[[Mean], str]:
    return lambda mean: _number_said(getattr(mean.setting, name))


def _findings(means: Sequence[Mean], varying: Sequence[str]) -> list[Finding]:
    """By which strategies the busiest peer gets the least and the most of all tuples, in the setting where they differ most; or in
    which settings, where there is one strategy."""
    groups = by_setting(means, lambda mean: mean.setting).values() if len({mean.strategy for mean in means}) > 1 else [means]
    sorted_groups = [sorted(group, key=lambda mean: mean.busiest_share_of_tuples.value) for group in groups]
    ordered = max(sorted_groups, key=lambda group: group[-1].busiest_share_of_tuples.value - group[0].busiest_share_of_tuples.value)
    bars = tuple(
        Bar(
            f"{mean.strategy} ({mean.setting.said(varying)})" if varying else mean.strategy,
            mean.busiest_share_of_tuples.value,
            share_said(mean.busiest_share_of_tuples.value),
            _line_of(mean, _others(_drawn(varying)[0], varying)) if _drawn(varying) else "",
        )
        for mean in (ordered[0], ordered[-1])
    )
    if len(means) == 1:
        return [Finding(f"By {bars[0].name} the busiest peer gets {bars[0].said} of all tuples.")]
    text = f"The busiest peer gets {bars[0].said} of all tuples by {bars[0].name}, and {bars[1].said} by {bars[1].name}."
    return [Finding(text, bars)]


def _figure(request: SweepRequest, means: Sequence[Mean], name: str, varying: Sequence[str]) -> Figure:
    """What the busiest peer gets against one part of the settings, with a line for each strategy and for what else varies."""
    others = _others(name, varying)
    look = dict(zip(request.strategies, looks([parse(strategy) for strategy in request.strategies]), strict=True))
    lines = []
    for line, some in by_setting(means, lambda mean: _line_of(mean, others)).items():
        ordered = sorted(some, key=lambda mean: float(getattr(mean.setting, name)))
        against = np.array([float(getattr(mean.setting, name)) for mean in ordered])
        shares = np.array([mean.busiest_share_of_tuples.value for mean in ordered])
        lines.append(Line(line, against, shares, look[some[0].strategy]))
    caption = f"What the busiest peer gets against {name}. Down is good."
    y = "tuples at the busiest peer (copies per tuple)"
    return line_figure(name, lines, x=_AXES[name], y=y, log_x=True, log_y=True, caption=caption)


def _drawn(varying: Sequence[str]) -> list[str]:
    """The parts of a setting that plots are against."""
    return [name for name in _AXES if name in varying]


def _others(name: str, varying: Sequence[str]) -> list[str]:
    return [other for other in varying if other != name]


def _line_of(mean: Mean, others: Sequence[str]) -> str:
    """The line that a point belongs to in a plot for which these parts of a setting vary beside the one that it is against."""
    return f"{mean.strategy}, {mean.setting.said(others)}" if others else mean.strategy


_AXES = {
    "peers": "peers (count)",
    "tuples": "tuples (count)",
    "subscriptions": "subscriptions (count)",
    "width": "between two bounds (share of the range)",
    "drift": "tuples of which other constants are common in each hour (share)",
}
"""Parts of a setting that are numbers."""
_COLUMNS: tuple[tuple[str, str, Callable[[Mean], str]], ...] = (
    ("strategy", "", lambda mean: mean.strategy),
    ("busiest gets", "of all tuples; less is better", lambda mean: mean.busiest_share_of_tuples.percent()),
    (
        "difference",
        "percentage points, to the first strategy; below 0 is better",
        lambda mean: "" if mean.difference is None else mean.difference.points(),
    ),
    ("of the work", "at the busiest peer; less is better", lambda mean: mean.busiest_share_of_work.percent()),
    ("max/mean", "times; 1 is even", lambda mean: f"{mean.max_over_mean.value:,.1f}"),
    ("messages", "per tuple", lambda mean: f"{mean.messages_per_tuple.value:,.2f}"),
    ("lost", "subscriptions; 0 is right", lambda mean: f"{mean.lost_subscriptions.value:,.0f}"),
    ("missed", "pairs; 0 is right", lambda mean: f"{mean.missed_pairs:,}"),
)
_UTILISED: tuple[str, str, Callable[[Mean], str]] = (
    "utilised",
    "max/mean; 1 is even",
    lambda mean: "" if mean.utilisation_max_over_mean is None else f"{mean.utilisation_max_over_mean.value:,.1f}",
)
"""Where peers are not all alike."""
_NOTES = """\
busiest gets, of the work: what the busiest peer gets of all tuples and of all match work, as means over seeds with 95 %
    intervals (Student's t).
difference: taken seed by seed, as a seed has the same peers, subscriptions and tuples by all strategies; its interval says
    whether it is more than chance.
max/mean: of copies of tuples; utilised: the same of copies by capacity, where peers are not all alike.
lost: subscriptions that find no key. missed: matching pairs, in samples of all seeds, that did not meet though they should.
All else is as for one setting (gsg simulate load-balance)."""

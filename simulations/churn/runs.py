"""The experiment ``churn`` in epochs: matches that are lost as peers die at one moment, against the number of holders of a key.

Tuples, subscriptions and strategy decide under which keys matches meet, and so how many are lost with one key. A match is as likely
to be lost as its key, so shares of keys say what is lost in the mean, and shares of matches how much a run may lose at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import fmean

import numpy as np

from ..drawing.marks import DASHED, DOTTED
from ..drawing.plots import Line
from ..engine.experiment import Experiment
from ..engine.findings import Bar, Finding, share_said
from ..engine.html_page import Figure, Table
from ..engine.intervals import Interval, flat, mean_of, quantile_of, share_of
from ..engine.randomness import derived_seed
from ..engine.results import Results, line_figure
from ..engine.sweep import Sweep, by_setting, check_size
from ..load_balance.meeting_sample import MeetingSample
from .losses import Lost, check, simulate
from .settings import MeetingRequest, Setting, check_meetings, columns_of, matches_said, meetings_of, name_of, setting_of

MOST_RUNS = 0.9
"""A quantile that some tens of runs can tell; what the worst of all runs is hangs on how many there are."""
MUCH = 0.25
"""Of all matches: so much is lost at once where a hot key is."""
USUAL_REPLICAS = (1, 2, 3, 5, 8)
"""As far as there are peers to hold a key."""
USUAL_SHARE = 0.2
"""Where a plot has room for one share of dying peers, the one nearest to this is shown."""
SHOWN_SETTINGS = 6
"""Of more settings the first ones are in the plot that compares them: one has room for so many names."""
USUAL_HOLDERS = 3
"""The same of holders, for what is said first."""


@dataclass(frozen=True, slots=True)
class ChurnRequest(MeetingRequest):
    """What was asked for; texts are as on the command line, empty ones mean the usual, and so do no ``replicas``."""

    replicas: tuple[int, ...] = ()
    dying: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4)
    epochs: int = 10
    runs: int = 40

    def completed(self) -> ChurnRequest:
        """With what is usual in the place of what was not said."""
        usual = tuple(replicas for replicas in USUAL_REPLICAS if replicas <= min(self.peers))
        once = self.with_usual_meetings()
        return replace(once, replicas=once.replicas or usual or (1,))


@dataclass(frozen=True)
class Case(Setting):
    """One history of an overlay; histories of the same ``run`` lose the same peers."""

    replicas: int
    dying: float
    run: int


@dataclass(frozen=True)
class Losses(Lost, Case):
    """One epoch of one run."""


def play(request: ChurnRequest, met: dict[Setting, MeetingSample], case: Case) -> Iterator[Losses]:
    """All epochs of a case, on the meetings of its strategy."""
    sample = met[setting_of(case)]
    seed = derived_seed(request.seed, "churn", case.run)
    sizes = {"peers": case.peers, "replicas": case.replicas, "epochs": request.epochs}
    for lost in simulate(sample.keys, weights=sample.matches, dying=case.dying, seed=seed, **sizes):
        yield Losses(**asdict(case), **asdict(lost))


@dataclass(frozen=True)
class Mean(Setting):
    """All runs of one setting: shares of keys that are lost, where matches are not named, in the mean."""

    replicas: int
    dying: float
    runs: int
    first_with: Interval
    """Lost after one epoch, with hand-over."""
    first_without: Interval
    first_closest_alone: Interval
    first_matches_with: Interval
    """Matches lost after one epoch, with hand-over: the same in the mean, less surely where they meet under few keys."""
    most_runs_with: Interval
    """What MOST_RUNS of the runs do not exceed of that."""
    badly_with: Interval
    """The share of runs that lose MUCH of all matches, or more."""
    last_with: Interval
    """Lost after all epochs."""
    last_without: Interval
    copies_moved: Interval
    """Holders that had to be given a key, per key and epoch."""


def experiment(request: ChurnRequest, title: Callable[[str], None] = lambda _: None) -> Experiment:
    """What is to be played, and how it is reported; ``title`` is told what takes long before. Raises BadParameter."""
    title("where matches meet")
    request = request.completed()
    for peers in request.peers:
        for replicas in request.replicas:
            for dying in request.dying:
                check(peers=peers, replicas=replicas, dying=dying, epochs=request.epochs)
    kinds = len(request.settings) * len(request.replicas) * len(request.dying)
    check_size(request.seed, request.runs, kinds * request.runs)
    check_meetings(request)
    met = meetings_of(request)
    cases = [
        Case(**asdict(setting), replicas=replicas, dying=dying, run=run)
        for setting in sorted(request.settings, key=lambda setting: -setting.peers)
        for replicas in sorted(request.replicas, reverse=True)
        for dying in request.dying
        for run in range(request.runs)
    ]
    sweep = Sweep(Losses, cases, partial(play, request, met))
    return Experiment({**asdict(request), **request.law}, {"churn": sweep}, partial(results_of, request, met))


def means_of(losses: Sequence[Losses]) -> list[Mean]:
    """The mean of all runs of each setting."""
    settings = by_setting(losses, lambda one: (one.replicas, one.dying, setting_of(one)))
    means = []
    for (replicas, dying, setting), some in sorted(settings.items(), key=lambda each: each[0][:2]):
        epochs = max(one.epoch for one in some)
        first, last = ([one for one in some if one.epoch == epoch] for epoch in (1, epochs))
        apart = sum(one.apart for one in first)
        means.append(
            Mean(
                **asdict(setting),
                replicas=replicas,
                dying=dying,
                runs=len(first),
                first_with=share_of([one.with_hand_over for one in first], apart),
                first_without=share_of([one.without for one in first], apart),
                first_closest_alone=share_of([one.closest_alone for one in first], apart),
                first_matches_with=share_of([one.matches_with_hand_over for one in first], apart),
                most_runs_with=quantile_of([one.matches_with_hand_over for one in first], MOST_RUNS),
                badly_with=share_of([float(one.matches_with_hand_over >= MUCH) for one in first], len(first)),
                last_with=share_of([one.with_hand_over for one in last], apart),
                last_without=share_of([one.without for one in last], apart),
                copies_moved=mean_of(_by_run(some)),
            )
        )
    return means


def _by_run(losses: Sequence[Losses]) -> list[float]:
    """Copies moved, in the mean of the epochs of each run."""
    return [fmean(one.copies_moved for one in of_run) for of_run in by_setting(losses, lambda one: one.run).values()]


def results_of(request: ChurnRequest, met: dict[Setting, MeetingSample], losses: Sequence[Losses]) -> Results:
    """Losses as the report shows them."""
    means = sorted(means_of(losses), key=lambda mean: request.settings.index(setting_of(mean)))
    return Results(
        title="What is lost while peers come and go",
        lead=f"{matches_said(request)}, {request.epochs} epochs, {request.runs} runs.",
        notes=_NOTES,
        tables=_tables(means, met, request.settings),
        findings=_findings(request, means),
        figures=_figures(request, losses, means),
        summary=[
            {
                **flat(vars(mean)),
                "sampled_matches": int(met[setting_of(mean)].matches.sum()),
                "sampled_keys": len(met[setting_of(mean)].keys),
                "sampled_matches_unposted": met[setting_of(mean)].unposted,
            }
            for mean in means
        ],
        rows={"losses": losses},
    )


def _findings(request: ChurnRequest, means: Sequence[Mean]) -> list[Finding]:
    """What hand-over is worth with a usual number of holders; and what more holders are worth."""
    first = setting_of(means[0])
    usual = min(request.dying, key=lambda share: abs(share - USUAL_SHARE))
    some = sorted((one for one in means if setting_of(one) == first and one.dying == usual), key=lambda one: one.replicas)
    middle = min(some, key=lambda one: abs(one.replicas - USUAL_HOLDERS))
    kept, left = (share_said(lost.value) for lost in (middle.first_with, middle.first_without))
    found = [
        Finding(
            f"With {_holders(middle.replicas)} of a key, {kept} of keys are lost when {usual:.0%} of peers die at once and keys "
            f"are handed over, {left} when they are not.",
            (
                Bar("hand-over", middle.first_with.value, f"{kept} of keys"),
                Bar("without", middle.first_without.value, f"{left} of keys"),
            ),
        )
    ]
    if len(some) > 1:
        most, fewest = some[-1], some[0]
        more, less = (share_said(one.first_with.value) for one in (most, fewest))
        text = f"With hand-over, {_holders(most.replicas)} of a key lose {more} of keys, {_holders(fewest.replicas)} {less}."
        bars = ((most, more), (fewest, less))
        found.append(
            Finding(text, tuple(Bar(_holders(one.replicas), one.first_with.value, f"{said} of keys") for one, said in bars))
        )
    return found


def _holders(count: int) -> str:
    return f"{count} holder{'s' if count > 1 else ''}"


def _figures(request: ChurnRequest, losses: Sequence[Losses], means: Sequence[Mean]) -> list[Figure]:
    first = setting_of(means[0])
    told = name_of(first, request.settings)
    mine = [mean for mean in means if setting_of(mean) == first]
    usual = min(request.dying, key=lambda share: abs(share - USUAL_SHARE))
    at_usual = [mean for mean in mine if mean.dying == usual]
    axis, lost = "holders of a key, r (count)", "keys lost, in the mean (share)"

    def line(name: str, some: Sequence[Mean], y: Callable[[Mean], float], look: int) -> Line:
        return Line(name, np.array([mean.replicas for mean in some], dtype=np.float64), np.array([y(mean) for mean in some]), look)

    against_r = []
    for look, share in enumerate(request.dying):
        some = [mean for mean in mine if mean.dying == share]
        against_r += [
            line(f"{share:.0%} die, hand-over", some, lambda mean: mean.first_with.value, look),
            line(f"{share:.0%} die, without", some, lambda mean: mean.first_without.value, look + DASHED),
        ]
    regimes = [
        line("hand-over", at_usual, lambda mean: mean.first_with.value, 0),
        line("expected with hand-over", at_usual, lambda mean: mean.dying**mean.replicas, DOTTED),
        line("without hand-over", at_usual, lambda mean: mean.first_without.value, 1),
        line("without, facts to the closest alone", at_usual, lambda mean: mean.first_closest_alone.value, 2),
    ]
    moved = [
        line(f"{share:.0%} die", [mean for mean in mine if mean.dying == share], lambda mean: mean.copies_moved.value, look)
        for look, share in enumerate(request.dying)
    ]
    by_strategy = []
    for look, setting in enumerate(request.settings[:SHOWN_SETTINGS]):
        name = name_of(setting, request.settings)
        some = [mean for mean in means if setting_of(mean) == setting and mean.dying == usual]
        by_strategy += [
            line(f"{name}, mean", some, lambda mean: mean.first_matches_with.value, look),
            line(f"{name}, {MOST_RUNS:.0%} of runs below", some, lambda mean: mean.most_runs_with.value, look + DASHED),
        ]
    return [
        line_figure("replicas", against_r, x=axis, y=lost, log_y=True, caption=f"Lost after one epoch, by {told}. {_NO_POINT}"),
        line_figure(
            "regimes", regimes, x=axis, y=lost, log_y=True, caption=f"Lost after one epoch in which {usual:.0%} die. {_NO_POINT}"
        ),
        line_figure(
            "epochs",
            _over_time(losses, first, usual, request),
            x="epoch (number)",
            y=lost,
            log_y=True,
            caption=f"Lost over time, where {usual:.0%} die in each epoch. {_NO_POINT}",
        ),
        line_figure("moved", moved, x=axis, y="holders given a key (per key and epoch)", caption="What hand-over costs."),
        line_figure(
            "strategies",
            by_strategy,
            x=axis,
            y="matches lost (share)",
            log_y=True,
            caption=f"With hand-over, after one epoch in which {usual:.0%} die. "
            "The fewer keys matches meet under, the more a run may lose at once.",
        ),
    ]


def _over_time(losses: Sequence[Losses], setting: Setting, dying: float, request: ChurnRequest) -> list[Line]:
    epochs = np.arange(1, request.epochs + 1)
    lines = []
    for look, replicas in enumerate(request.replicas):
        some = [one for one in losses if (setting_of(one), one.replicas, one.dying) == (setting, replicas, dying)]
        of_epoch = [[one for one in some if one.epoch == epoch] for epoch in epochs.tolist()]
        with_hand_over = np.array([fmean(one.with_hand_over for one in now) for now in of_epoch])
        without = np.array([fmean(one.without for one in now) for now in of_epoch])
        lines.append(Line(f"r = {replicas}, hand-over", epochs.astype(np.float64), with_hand_over, look))
        lines.append(Line(f"r = {replicas}, without", epochs.astype(np.float64), without, look + DASHED))
    return lines


def _tables(means: Sequence[Mean], met: dict[Setting, MeetingSample], settings: Sequence[Setting]) -> list[Table]:
    """What is lost after one epoch, and after all of them."""
    setting: list[tuple[str, str, Callable[[Mean], str]]] = [*columns_of(settings), *_SETTING]
    first = [
        *setting,
        ("hand-over", "of keys lost; less is better", lambda mean: mean.first_with.percent()),
        ("matches", "of matches lost", lambda mean: mean.first_matches_with.percent()),
        (f"{MOST_RUNS:.0%} of runs", "lose no more of matches", lambda mean: mean.most_runs_with.percent()),
        ("runs lose 1/4", "of runs", lambda mean: mean.badly_with.percent()),
        ("without", "of keys lost", lambda mean: mean.first_without.percent()),
    ]
    if any(meeting.unposted for meeting in met.values()):
        first.append(("not posted", "of matches", lambda mean: _unposted(met[setting_of(mean)])))
    return [Table.from_rows("After one epoch", first, means), Table.from_rows("After all epochs", [*setting, *_LAST], means)]


def _unposted(meeting: MeetingSample) -> str:
    return f"{meeting.unposted / (meeting.unposted + int(meeting.matches.sum())):.1%}"


_SETTING: list[tuple[str, str, Callable[[Mean], str]]] = [
    ("r", "holders of a key", lambda mean: f"{mean.replicas}"),
    ("die", "of peers, each epoch", lambda mean: f"{mean.dying:.0%}"),
]
_LAST: list[tuple[str, str, Callable[[Mean], str]]] = [
    ("closest alone", "of keys lost, first epoch", lambda mean: mean.first_closest_alone.percent()),
    ("hand-over, end", "of keys lost; less is better", lambda mean: mean.last_with.percent()),
    ("without, end", "of keys lost", lambda mean: mean.last_without.percent()),
    ("moved", "holders per key and epoch; less is cheaper", lambda mean: str(mean.copies_moved)),
]
_NO_POINT = "Where a line has no point nothing was lost."
_NOTES = f"""\
Templates are posted at the r closest peers before anybody dies, and facts are published to the r closest after.
hand-over, without: the share of keys, and so of matches, lost after the first epoch, in the mean, where keys are handed over to
    whoever is closest by then, and where they stay.
matches: with hand-over, the share of matches themselves, many of which meet under few keys.
{MOST_RUNS:.0%} of runs: what so many of the runs do not exceed of that.
runs lose 1/4: how many runs lose a quarter of all matches or more, as where a hot key is lost.
closest alone: without, where facts go to the closest peer only.
end: after all epochs, with nothing posted anew.
moved: holders that had to be given a key.
not posted: matches of subscriptions that find no key, on top of all else.
Brackets: 95 % intervals, by the spread between runs. Of nothing lost it is said in how many sets of holders that share no peer,
    and what share that leaves possible."""

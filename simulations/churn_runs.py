"""The experiment ``churn``: matches that are lost while peers come and go, against the number of holders of a key.

Tuples, subscriptions and strategy decide under which keys matches meet, and so how many are lost with one key. A match is as likely
to be lost as its key, so shares of keys say what is lost in the mean, and shares of matches how much a run may lose at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from .churn import check, simulate
from .errors import BadParameter
from .experiments import usual_distinct
from .findings import Findings, Shown, check_seed, drawn, made, save
from .matches import Meeting, meetings
from .page import Figure
from .plan import check as check_strategy
from .plan import peer_ids
from .plots import Line
from .randomness import Stream
from .strategies import parse
from .sweep import Player, Sweep, check_cases
from .workload import COMMON_MIX, Synthetic, check_subscriptions, parse_mix

MAX_RUNS = 1_000
USUAL_REPLICAS = (1, 2, 3, 5, 8)
"""As far as there are peers to hold a key."""
USUAL_SHARE = 0.2
"""Where a plot has room for one share of dying peers, the one nearest to this is shown."""
DASHED, DOTTED = 8, 16
"""Added to the number of a line's looks: the same colour, dashed or dotted."""


@dataclass(frozen=True, slots=True)
class ChurnRequest:
    """What was asked for; texts are as on the command line, empty ones mean the usual, and so do no ``replicas``."""

    peers: int = 1_000
    tuples: int = 100_000
    subscriptions: int = 10_000
    mix: str = ""
    strategies: tuple[str, ...] = ()
    replicas: tuple[int, ...] = ()
    dying: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4)
    epochs: int = 10
    runs: int = 20
    seed: int = 1

    def completed(self) -> ChurnRequest:
        """With what is usual in the place of what was not said."""
        usual = tuple(replicas for replicas in USUAL_REPLICAS if replicas <= self.peers)
        return self if self.replicas else replace(self, replicas=usual or (1,))


@dataclass(frozen=True, slots=True)
class Case:
    """One history of an overlay; histories of the same ``run`` lose the same peers."""

    strategy: str
    replicas: int
    dying: float
    run: int


@dataclass(frozen=True, slots=True)
class Losses:
    """One epoch of one run: shares that are lost by now, of keys where matches are not named."""

    strategy: str
    replicas: int
    dying: float
    run: int
    epoch: int
    with_hand_over: float
    without: float
    closest_alone: float
    matches_with_hand_over: float
    matches_without: float
    copies_moved: float


@dataclass(frozen=True, slots=True)
class Play:
    """Plays cases on the meetings of each strategy."""

    peers: int
    epochs: int
    seed: int
    meetings: dict[str, Meeting]

    def __call__(self, case: Case) -> Iterator[Losses]:
        """All epochs of a case."""
        met = self.meetings[case.strategy]
        seed = int(Stream(self.seed, "churn", case.run).words(0, 1)[0])
        for lost in simulate(
            met.keys,
            weights=met.matches,
            peers=self.peers,
            replicas=case.replicas,
            dying=case.dying,
            epochs=self.epochs,
            seed=seed,
        ):
            yield Losses(case.strategy, case.replicas, case.dying, case.run, **asdict(lost))


@dataclass(frozen=True, slots=True)
class Mean:
    """All runs of one setting."""

    strategy: str
    replicas: int
    dying: float
    runs: int
    first_with: float
    """Lost after one epoch, with hand-over."""
    first_without: float
    first_closest_alone: float
    worst_matches_with: float
    """Matches lost after one epoch, with hand-over, in the run that lost most."""
    worst_matches_without: float
    last_with: float
    """Lost after all epochs."""
    last_without: float
    copies_moved: float
    """Holders that had to be given a key, per key and epoch."""


def sweep_of(request: ChurnRequest) -> Sweep[Case, Losses]:
    """What is to be played, of a request that is completed. Raises BadParameter."""
    check_seed(request.seed)
    strategies = list({strategy.name: strategy for strategy in map(parse, request.strategies or ("rarest",))}.values())
    mix = parse_mix(request.mix) if request.mix else COMMON_MIX
    if not 0 < request.runs <= MAX_RUNS:
        raise BadParameter(f"{request.runs} runs; expected 1 to {MAX_RUNS}")
    for replicas in request.replicas:
        for dying in request.dying:
            check(peers=request.peers, replicas=replicas, dying=dying, epochs=request.epochs)
    check_cases(len(strategies) * len(request.replicas) * len(request.dying) * request.runs)
    for strategy in strategies:
        check_strategy(strategy, request.peers)
    check_subscriptions(request.subscriptions)
    workload = Synthetic(request.tuples, usual_distinct(max(1, request.tuples)), seed=request.seed)
    subscriptions = workload.subscriptions(request.subscriptions, mix, request.seed)
    peers = peer_ids(request.peers, request.seed)
    met = {strategy.name: meetings(strategy, workload, subscriptions, peers, request.seed) for strategy in strategies}
    cases = [
        Case(strategy.name, replicas, dying, run)
        for strategy in strategies
        for replicas in sorted(request.replicas, reverse=True)
        for dying in request.dying
        for run in range(request.runs)
    ]
    return Sweep(Losses, cases, Play(request.peers, request.epochs, request.seed, met))


def run(request: ChurnRequest, player: Callable[[], Player], out: Path, title: Callable[[str], None] = lambda _: None) -> Findings:
    """Play all cases and leave the findings in a folder; whatever is impossible is refused before ``player`` starts anything.

    Raises SimulationError.
    """
    title("where matches meet")
    request = request.completed()
    sweep = sweep_of(request)
    folder = made(out)
    play = player()
    title("churn")
    losses = play(sweep)
    assert isinstance(sweep.play, Play)
    findings = found(request, losses, sweep.play.meetings)
    save(folder, findings, asdict(request))
    return findings


def means_of(losses: Sequence[Losses]) -> list[Mean]:
    """The mean of all runs of each setting."""
    settings: dict[tuple[str, int, float], list[Losses]] = {}
    for one in losses:
        settings.setdefault((one.strategy, one.replicas, one.dying), []).append(one)
    means = []
    for (strategy, replicas, dying), some in sorted(settings.items(), key=lambda item: item[0]):
        epochs = max(one.epoch for one in some)
        first, last = ([one for one in some if one.epoch == epoch] for epoch in (1, epochs))
        means.append(
            Mean(
                strategy=strategy,
                replicas=replicas,
                dying=dying,
                runs=len(first),
                first_with=fmean(one.with_hand_over for one in first),
                first_without=fmean(one.without for one in first),
                first_closest_alone=fmean(one.closest_alone for one in first),
                worst_matches_with=max(one.matches_with_hand_over for one in first),
                worst_matches_without=max(one.matches_without for one in first),
                last_with=fmean(one.with_hand_over for one in last),
                last_without=fmean(one.without for one in last),
                copies_moved=fmean(one.copies_moved for one in some),
            )
        )
    return means


def found(request: ChurnRequest, losses: Sequence[Losses], met: dict[str, Meeting]) -> Findings:
    """Losses as the report shows them."""
    means = means_of(losses)
    return Findings(
        title="What is lost while peers come and go",
        lead=f"Matches of {request.tuples:,} tuples and {request.subscriptions:,} subscriptions over {request.peers:,} peers, "
        f"{request.epochs} epochs, mean of {request.runs} runs.",
        notes=_NOTES,
        tables=[Shown.of(_COLUMNS, means)],
        figures=_figures(request, losses, means),
        summary=[
            {
                **asdict(mean),
                "sampled_matches": int(met[mean.strategy].matches.sum()),
                "sampled_keys": len(met[mean.strategy].keys),
                "sampled_matches_unposted": met[mean.strategy].unposted,
            }
            for mean in means
        ],
        rows={"losses": losses},
    )


def _figures(request: ChurnRequest, losses: Sequence[Losses], means: Sequence[Mean]) -> list[Figure]:
    first = means[0].strategy
    mine = [mean for mean in means if mean.strategy == first]
    usual = min(request.dying, key=lambda share: abs(share - USUAL_SHARE))
    at_usual = [mean for mean in mine if mean.dying == usual]
    axis, lost = "holders of a key, r", "share of matches lost, in the mean"

    def line(name: str, some: Sequence[Mean], y: Callable[[Mean], float], look: int) -> Line:
        return Line(name, np.array([mean.replicas for mean in some], dtype=np.float64), np.array([y(mean) for mean in some]), look)

    against_r = []
    for look, share in enumerate(request.dying):
        some = [mean for mean in mine if mean.dying == share]
        against_r += [
            line(f"{share:.0%} die, hand-over", some, lambda mean: mean.first_with, look),
            line(f"{share:.0%} die, without", some, lambda mean: mean.first_without, look + DASHED),
        ]
    regimes = [
        line("hand-over", at_usual, lambda mean: mean.first_with, 0),
        line("expected with hand-over", at_usual, lambda mean: mean.dying**mean.replicas, DOTTED),
        line("without hand-over", at_usual, lambda mean: mean.first_without, 1),
        line("without, facts to the closest alone", at_usual, lambda mean: mean.first_closest_alone, 2),
    ]
    moved = [
        line(f"{share:.0%} die", [mean for mean in mine if mean.dying == share], lambda mean: mean.copies_moved, look)
        for look, share in enumerate(request.dying)
    ]
    by_strategy = []
    for look, name in enumerate(dict.fromkeys(mean.strategy for mean in means)):
        some = [mean for mean in means if mean.strategy == name and mean.dying == usual]
        by_strategy += [
            line(f"{name}, mean", some, lambda mean: mean.first_with, look),
            line(f"{name}, worst run", some, lambda mean: mean.worst_matches_with, look + DASHED),
        ]
    return [
        drawn("replicas", against_r, x=axis, y=lost, log_y=True, caption=f"Lost after one epoch, by {first}. {_NO_POINT}"),
        drawn(
            "regimes", regimes, x=axis, y=lost, log_y=True, caption=f"Lost after one epoch in which {usual:.0%} die. {_NO_POINT}"
        ),
        drawn(
            "epochs",
            _over_time(losses, first, usual, request),
            x="epoch",
            y=lost,
            log_y=True,
            caption=f"Lost over time, where {usual:.0%} die in each epoch. {_NO_POINT}",
        ),
        drawn("moved", moved, x=axis, y="holders given a key, per key and epoch", caption="What hand-over costs."),
        drawn(
            "strategies",
            by_strategy,
            x=axis,
            y="share of matches lost",
            log_y=True,
            caption=f"With hand-over, after one epoch in which {usual:.0%} die. Few keys make a bad worst run.",
        ),
    ]


def _over_time(losses: Sequence[Losses], strategy: str, dying: float, request: ChurnRequest) -> list[Line]:
    epochs = np.arange(1, request.epochs + 1)
    lines = []
    for look, replicas in enumerate(request.replicas):
        some = [one for one in losses if (one.strategy, one.replicas, one.dying) == (strategy, replicas, dying)]
        of_epoch = [[one for one in some if one.epoch == epoch] for epoch in epochs.tolist()]
        with_hand_over = np.array([fmean(one.with_hand_over for one in now) for now in of_epoch])
        without = np.array([fmean(one.without for one in now) for now in of_epoch])
        lines.append(Line(f"r = {replicas}, hand-over", epochs.astype(np.float64), with_hand_over, look))
        lines.append(Line(f"r = {replicas}, without", epochs.astype(np.float64), without, look + DASHED))
    return lines


_COLUMNS: tuple[tuple[str, Callable[[Mean], str]], ...] = (
    ("strategy", lambda mean: mean.strategy),
    ("r", lambda mean: f"{mean.replicas}"),
    ("die", lambda mean: f"{mean.dying:.0%}"),
    ("hand-over", lambda mean: f"{mean.first_with:.3%}"),
    ("worst run", lambda mean: f"{mean.worst_matches_with:.3%}"),
    ("without", lambda mean: f"{mean.first_without:.3%}"),
    ("closest alone", lambda mean: f"{mean.first_closest_alone:.1%}"),
    ("hand-over, end", lambda mean: f"{mean.last_with:.3%}"),
    ("without, end", lambda mean: f"{mean.last_without:.1%}"),
    ("moved", lambda mean: f"{mean.copies_moved:.2f}"),
)
_NO_POINT = "Where a line has no point nothing was lost."
_NOTES = (
    "In each epoch a share of all peers dies at one moment, and as many join. Templates are posted at the r closest peers "
    "before, facts published to the r closest after. hand-over, without: the share of matches lost after the first epoch, "
    "in the mean, where keys are handed over to whoever is closest by then, and where they stay; worst run: with hand-over, "
    "matches lost in the run that lost most, many of which meet under few keys; closest alone: without, where facts go to "
    "the closest peer only; end: after all epochs, with nothing posted anew; moved: holders that had to be given a key, per "
    "key and epoch."
)

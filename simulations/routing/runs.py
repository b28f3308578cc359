"""The experiment ``routing``: hops and success of lookups against the size of buckets, the share of dead peers, and the peers.

Targets are drawn evenly: keys are hashes, so those of any workload and any strategy are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from operator import attrgetter

import numpy as np

from ..drawing.plots import Line
from ..engine.experiment import Experiment
from ..engine.findings import Bar, Finding, share_said
from ..engine.html_page import Figure, Table
from ..engine.intervals import Interval, flat, mean_of, share_of
from ..engine.randomness import Stream, derived_seed
from ..engine.results import Results, line_figure
from ..engine.sweep import Sweep, by_setting, check_size, summed
from ..errors import check_range
from .hops import MAX_HOPS, Overlay, check

MAX_LOOKUPS = 100_000_000
CHUNK = 1 << 14
"""Lookups that go together: their contacts stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class RoutingRequest:
    """What was asked for."""

    peers: tuple[int, ...] = (100_000,)
    lookups: int = 20_000
    k: tuple[int, ...] = (2, 4, 8, 16, 20)
    dead: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    runs: int = 5
    seed: int = 1

    @property
    def largest(self) -> int:
        """The most peers: plots are of these, where they are not of all numbers."""
        return max(self.peers)


@dataclass(frozen=True)
class Case:
    """One overlay, and how many lookups go through it; those of the same ``run`` have the same peers."""

    peers: int
    k: int
    dead: float
    lookups: int
    run: int


@dataclass(frozen=True)
class Ways(Case):
    """How the lookups of one overlay went; hops are of those that succeeded."""

    found: int
    mean_hops: float
    p99_hops: int
    timeouts: float
    """Dead contacts tried, per lookup."""
    by_hops: tuple[int, ...]
    """How many lookups succeeded after 0, 1, 2 ... hops."""

    @property
    def success(self) -> float:
        """The share of lookups that came to the peer that is closest to the target."""
        return self.found / self.lookups


@dataclass(frozen=True)
class Mean:
    """All runs of one setting: lookups in so many overlays of the same kind."""

    peers: int
    k: int
    dead: float
    runs: int
    lookups: int
    found: int
    success: Interval
    mean_hops: Interval | None
    """None where no lookup of any run succeeded, as for p99_hops and most_hops."""
    p99_hops: int | None
    most_hops: int | None
    timeouts: Interval
    by_hops: tuple[int, ...]


def means_of(ways: Sequence[Ways]) -> list[Mean]:
    """The mean of all runs of each setting, in the order in which they come."""
    return [_mean(some) for some in by_setting(ways, lambda way: (way.peers, way.k, way.dead)).values()]


def _mean(some: Sequence[Ways]) -> Mean:
    first, asked, found = some[0], sum(way.lookups for way in some), sum(way.found for way in some)
    by_hops = summed(way.by_hops for way in some)
    return Mean(
        peers=first.peers,
        k=first.k,
        dead=first.dead,
        runs=len(some),
        lookups=asked,
        found=found,
        success=share_of([way.success for way in some], asked),
        mean_hops=mean_of([way.mean_hops for way in some if way.found]) if found else None,
        p99_hops=int(np.searchsorted(np.cumsum(by_hops), 0.99 * found)) if found else None,
        most_hops=len(by_hops) - 1 if found else None,
        timeouts=mean_of([way.timeouts for way in some]),
        by_hops=tuple(by_hops.tolist()),
    )


def play(seed: int, case: Case) -> Iterator[Ways]:
    """All lookups of one case."""
    seed = derived_seed(seed, "routing", case.run)
    overlay = Overlay(case.peers, k=case.k, dead=case.dead, seed=seed)
    targets, starts = Stream(seed, "targets"), Stream(seed, "starts")
    by_hops = np.zeros(MAX_HOPS + 1, dtype=np.int64)
    timeouts = 0
    for begin in range(0, case.lookups, CHUNK):
        count = min(CHUNK, case.lookups - begin)
        asked = overlay.lookups(targets.words(begin, count), starts.below(1 << 32, begin, count))
        by_hops += np.bincount(asked.hops[asked.found], minlength=len(by_hops))
        timeouts += int(asked.timeouts.sum())
    found = int(by_hops.sum())
    reached = np.cumsum(by_hops)
    yield Ways(
        **asdict(case),
        found=found,
        mean_hops=float(by_hops @ np.arange(len(by_hops)) / max(1, found)),
        p99_hops=int(np.searchsorted(reached, 0.99 * found)),
        timeouts=timeouts / case.lookups,
        by_hops=tuple(np.trim_zeros(by_hops, "b").tolist()),
    )


def experiment(request: RoutingRequest) -> Experiment:
    """Each number of peers with every share of dead ones; below one that is alone smaller ones, all alive. Raises BadParameter."""
    check_range(request.lookups, 1, MAX_LOOKUPS, "lookups")
    largest_first = sorted(request.peers, reverse=True)
    wanted = [(peers, k, dead) for peers in largest_first for k in request.k for dead in sorted({0.0, *request.dead})]
    if len(request.peers) == 1:
        wanted += [(peers, k, 0.0) for peers in _smaller(request.largest) for k in request.k]
    check_size(request.seed, request.runs, len(wanted), len(wanted) * request.runs)
    for peers, k, dead in wanted:
        check(peers, k=k, dead=dead)
    cases = [Case(peers, k, dead, request.lookups, run) for peers, k, dead in wanted for run in range(request.runs)]
    sweep = Sweep(Ways, cases, partial(play, request.seed))
    return Experiment(asdict(request), {"lookups": sweep}, partial(results_of, request))


def _smaller(peers: int) -> list[int]:
    """Powers of ten below."""
    return [10**power for power in range(8, 0, -1) if 10**power < peers]


def results_of(request: RoutingRequest, ways: Sequence[Ways]) -> Results:
    """Ways as the report shows them."""
    means = means_of(ways)
    of_size = {peers: [mean for mean in means if mean.peers == peers] for peers in request.peers}
    return Results(
        title="How far a lookup goes",
        lead=f"{request.lookups:,} lookups in each of {request.runs} overlays of up to {request.largest:,} peers.",
        notes=_NOTES,
        tables=[Table.from_rows(f"Lookups among {peers:,} peers", _COLUMNS, some) for peers, some in of_size.items()],
        findings=_findings(request, means),
        figures=_figures(request, means),
        summary=[flat(vars(mean)) for mean in means],
        rows={"lookups": ways},
    )


def _figures(request: RoutingRequest, means: Sequence[Mean]) -> list[Figure]:
    alive = [mean for mean in means if not mean.dead]
    whole = [mean for mean in means if mean.peers == request.largest]

    def drawn(identity: str, some: Sequence[Mean], by: str, x: str, y: str) -> Figure:
        """A value against a parameter, with a line for each value of another parameter."""
        lines = []
        for value, of_line in by_setting(some, attrgetter(by)).items():
            # Where no lookup succeeded there are no hops to be shown.
            ordered = sorted((mean for mean in of_line if mean.found), key=attrgetter(x))
            against = np.array([getattr(mean, x) for mean in ordered], dtype=np.float64)
            lines.append(Line(_NAMES[by].format(value), against, np.array([_VALUES[y](mean) for mean in ordered])))
        caption = _CAPTIONS[identity].format(peers=request.largest)
        return line_figure(identity, lines, x=_AXES[x], y=_UNITS[y], log_x=x == "peers", caption=caption)

    spread = [
        Line(f"k = {mean.k}", np.arange(len(mean.by_hops), dtype=np.float64), np.array(mean.by_hops) / mean.found)
        for mean in sorted(whole, key=lambda mean: mean.k)
        if not mean.dead
    ]
    return [
        drawn("peers", alive, "k", "peers", "hops, mean"),
        drawn("hops-k", whole, "dead", "k", "hops, mean"),
        drawn("success-k", whole, "dead", "k", "share that succeeded"),
        drawn("success-dead", whole, "k", "dead", "share that succeeded"),
        drawn("hops-dead", whole, "k", "dead", "hops, mean"),
        drawn("timeouts", whole, "k", "dead", "timeouts per lookup"),
        line_figure("spread", spread, x="hops (peers asked)", y="lookups (share)", caption="Lookups by their hops, all alive."),
    ]


def _findings(request: RoutingRequest, means: Sequence[Mean]) -> list[Finding]:
    """How many lookups succeed with the largest and the smallest buckets where half of all peers are dead; and how far they go."""
    whole = [mean for mean in means if mean.peers == request.largest]
    dead = min((mean.dead for mean in whole), key=lambda share: abs(share - _HALF))
    of_dead = sorted((mean for mean in whole if mean.dead == dead), key=attrgetter("k"))
    fewest, most = of_dead[0], of_dead[-1]
    who = f"where {dead:.0%} of {request.largest:,} peers are dead" if dead else f"while all of {request.largest:,} peers live"
    bars = tuple(Bar(f"k = {mean.k}", mean.success.value, share_said(mean.success.value)) for mean in (most, fewest))
    text = f"With {most.k} contacts in a bucket {bars[0].said} of lookups succeed {who}"
    found = [
        Finding(
            f"{text}." if most is fewest else f"{text}, with {fewest.k} contacts {bars[1].said}.",
            bars if most is not fewest else (),
        )
    ]
    alive = sorted((mean for mean in means if not mean.dead and mean.k == most.k and mean.mean_hops), key=attrgetter("peers"))
    if len(alive) > 1:
        hops = [(mean.peers, mean.mean_hops.value) for mean in (alive[-1], alive[0]) if mean.mean_hops]
        (large, far), (small, near) = hops
        text = f"While all live a lookup takes {far:.2f} hops among {large:,} peers, {near:.2f} among {small:,} (k = {most.k})."
        found.append(Finding(text, tuple(Bar(f"{peers:,} peers", mean, f"{mean:.2f} hops") for peers, mean in hops)))
    return found


_HALF = 0.5
"""Of the shares of dead peers the one nearest to this is told first."""
_NAMES = {"k": "k = {}", "dead": "{:.0%} dead"}
_AXES = {"peers": "peers (count)", "k": "contacts in a bucket, k (count)", "dead": "dead peers (share of all)"}
_UNITS = {
    "hops, mean": "hops in the mean (peers asked)",
    "share that succeeded": "lookups that succeeded (share)",
    "timeouts per lookup": "timeouts per lookup (count)",
}
_VALUES: dict[str, Callable[[Mean], float]] = {
    "hops, mean": lambda mean: 0.0 if mean.mean_hops is None else mean.mean_hops.value,
    "share that succeeded": lambda mean: mean.success.value,
    "timeouts per lookup": lambda mean: mean.timeouts.value,
}
_CAPTIONS = {
    "peers": "Hops against peers, all alive. What is straight here grows with the logarithm.",
    "hops-k": "Hops against k among {peers:,} peers, of the lookups that succeeded.",
    "success-k": "Success against k. A lookup ends where all contacts of a bucket are dead.",
    "success-dead": "Success against the share of peers that died since the buckets were filled.",
    "hops-dead": "Hops against the share of dead peers, of the lookups that succeeded.",
    "timeouts": "Timeouts. Each is a dead contact that was tried because it was closer than the living ones.",
}
_COLUMNS: tuple[tuple[str, str, Callable[[Mean], str]], ...] = (
    ("k", "contacts in a bucket", lambda way: f"{way.k}"),
    ("dead", "of peers", lambda way: f"{way.dead:.0%}"),
    ("success", "of lookups; more is better", lambda way: way.success.percent()),
    ("hops", "peers asked, mean; less is better", lambda way: str(way.mean_hops or "")),
    ("p99", "hops", lambda way: "" if way.p99_hops is None else f"{way.p99_hops}"),
    ("most", "hops", lambda way: "" if way.most_hops is None else f"{way.most_hops}"),
    ("timeouts", "per lookup; less is better", lambda way: str(way.timeouts)),
)
_NOTES = """\
A lookup goes from peer to peer, each time to the living contact that is closest to its target.
success: lookups that come to the living peer that is closest of all.
hops, p99, most: peers asked, by lookups that succeeded.
timeouts: dead contacts tried.
Nothing is repaired on the way, and no other way is tried: peers do better, who keep the contacts of all hops.
Brackets: 95 % intervals, by the spread between overlays; where all lookups came to the same, the bound is for lookups."""

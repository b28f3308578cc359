"""The experiment ``routing``: hops and success of lookups against the size of buckets, the share of dead peers, and the peers.

Targets are drawn evenly: keys are hashes, so those of any workload and any strategy are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from ..engine.experiment import Experiment
from ..engine.html_page import Figure
from ..engine.intervals import Interval, flat, mean_of, share_of
from ..engine.plots import Line
from ..engine.randomness import Stream, derived_seed
from ..engine.results import Results, Table, check_seed, line_figure
from ..engine.sweep import Sweep, by_setting, check_cases, check_runs
from ..errors import check_range
from .hops import MAX_HOPS, Overlay, check

MAX_LOOKUPS = 100_000_000
CHUNK = 1 << 14
"""Lookups that go together: their contacts stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class RoutingRequest:
    """What was asked for."""

    peers: int = 100_000
    lookups: int = 20_000
    k: tuple[int, ...] = (2, 4, 8, 16, 20)
    dead: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    runs: int = 5
    seed: int = 1


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
    by_hops = np.zeros(max(len(way.by_hops) for way in some), dtype=np.int64)
    for way in some:
        by_hops[: len(way.by_hops)] += np.array(way.by_hops, dtype=np.int64)
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
    """The largest overlay with every share of dead peers, and smaller ones in which all live. Raises BadParameter."""
    check_seed(request.seed)
    check_range(request.lookups, 1, MAX_LOOKUPS, "lookups")
    check_runs(request.runs)
    wanted = [(request.peers, k, dead) for k in request.k for dead in sorted({0.0, *request.dead})]
    wanted += [(peers, k, 0.0) for peers in _smaller(request.peers) for k in request.k]
    check_cases(len(wanted))
    check_cases(len(wanted) * request.runs)
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
    whole = [mean for mean in means if mean.peers == request.peers]
    return Results(
        title="How far a lookup goes",
        lead=f"{request.lookups:,} lookups in each of {request.runs} overlays of up to {request.peers:,} peers.",
        notes=_NOTES,
        tables=[Table.from_rows(_COLUMNS, whole)],
        figures=_figures(request, means),
        summary=[flat(vars(mean)) for mean in means],
        rows={"lookups": ways},
    )


def _figures(request: RoutingRequest, ways: Sequence[Mean]) -> list[Figure]:
    alive = [way for way in ways if not way.dead]
    whole = [way for way in ways if way.peers == request.peers]

    def by_k(some: Sequence[Mean], x: Callable[[Mean], float], y: Callable[[Mean], float]) -> list[Line]:
        return [_line(f"k = {k}", [way for way in some if way.k == k], x, y) for k in request.k]

    def by_dead(x: Callable[[Mean], float], y: Callable[[Mean], float]) -> list[Line]:
        shares = sorted({way.dead for way in whole})
        return [_line(f"{share:.0%} dead", [way for way in whole if way.dead == share], x, y) for share in shares]

    spread = [
        Line(f"k = {way.k}", np.arange(len(way.by_hops), dtype=np.float64), np.array(way.by_hops) / way.found)
        for way in sorted(whole, key=lambda way: way.k)
        if not way.dead
    ]
    k_axis, dead_axis = "contacts in a bucket, k", "share of dead peers"
    return [
        line_figure(
            "peers",
            by_k(alive, lambda way: way.peers, _hops),
            x="peers",
            y="hops, mean",
            log_x=True,
            caption="Hops against peers, all alive. What is straight here grows with the logarithm.",
        ),
        line_figure(
            "hops-k",
            by_dead(lambda way: way.k, _hops),
            x=k_axis,
            y="hops, mean",
            caption=f"Hops against k among {request.peers:,} peers, of the lookups that succeeded.",
        ),
        line_figure(
            "success-k",
            by_dead(lambda way: way.k, lambda way: way.success.value),
            x=k_axis,
            y="share that succeeded",
            caption="Success against k. A lookup ends where all contacts of a bucket are dead.",
        ),
        line_figure(
            "success-dead",
            by_k(whole, lambda way: way.dead, lambda way: way.success.value),
            x=dead_axis,
            y="share that succeeded",
            caption="Success against the share of peers that died since the buckets were filled.",
        ),
        line_figure(
            "hops-dead",
            by_k(whole, lambda way: way.dead, _hops),
            x=dead_axis,
            y="hops, mean",
            caption="Hops against the share of dead peers, of the lookups that succeeded.",
        ),
        line_figure(
            "timeouts",
            by_k(whole, lambda way: way.dead, lambda way: way.timeouts.value),
            x=dead_axis,
            y="timeouts per lookup",
            caption="Timeouts. Each is a dead contact that was tried because it was closer than the living ones.",
        ),
        line_figure("spread", spread, x="hops", y="share of lookups", caption="Lookups by their hops, all alive."),
    ]


def _hops(way: Mean) -> float:
    return 0.0 if way.mean_hops is None else way.mean_hops.value


def _line(name: str, some: Sequence[Mean], x: Callable[[Mean], float], y: Callable[[Mean], float]) -> Line:
    # Where no lookup succeeded there are no hops to be shown.
    ordered = sorted((way for way in some if way.found), key=x)
    return Line(name, np.array([x(way) for way in ordered], dtype=np.float64), np.array([y(way) for way in ordered]))


_COLUMNS: tuple[tuple[str, Callable[[Mean], str]], ...] = (
    ("k", lambda way: f"{way.k}"),
    ("dead", lambda way: f"{way.dead:.0%}"),
    ("success", lambda way: way.success.percent()),
    ("hops", lambda way: str(way.mean_hops or "")),
    ("p99", lambda way: "" if way.p99_hops is None else f"{way.p99_hops}"),
    ("most", lambda way: "" if way.most_hops is None else f"{way.most_hops}"),
    ("timeouts", lambda way: str(way.timeouts)),
)
_NOTES = (
    "A lookup goes from peer to peer, each time to the living contact closest to its target; it succeeds if it comes to the "
    "living peer that is closest of all. Hops are peers asked, of lookups that succeeded; timeouts are dead contacts tried, "
    "per lookup. Nothing is repaired on the way, and no other way is tried: peers do better, who keep the contacts of all "
    "hops. In brackets are 95 % intervals, by the spread between overlays; where all lookups came to the same, the bound is "
    "for lookups."
)

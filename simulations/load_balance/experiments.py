"""What an experiment is asked for, checked, run and written: the part of ``gsg simulate`` that is not the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..engine.html_page import write_page
from ..engine.provenance import Provenance, made_by
from ..engine.results import REPORT, prepare_folder, save_numbers, write_configuration
from ..engine.sweep import Player, Sweep
from ..errors import BadParameter
from ..workload.reading.distributed import Distributed
from ..workload.reading.places_of_files import check_here
from ..workload.unsteady import Drift, parse_adversary
from ..workload.workload import (
    COMMON_MIX,
    POSITIONS,
    WIDTH,
    Mix,
    Recorded,
    Subscriptions,
    Synthetic,
    Workload,
    check_subscriptions,
    parse_mix,
    three_of,
)
from .balance import PEERS_FOLDER, Engine, InOneThread, Outcome, run
from .capacities import Capacities, parse_capacities
from .peers import Peers
from .plan import check, make_plan
from .report import Growth, report
from .seeds import OverSeeds, check_seeds, figures_of
from .strategies import STANDARD, Strategy, parse

TUPLES = 1_000_000
ZIPF = "0.5,1,1"
HOURS = 24.0
"""What is usual of synthetic tuples; hours of those of a file too."""
SCATTERED, BY_RANK = "scattered", "by-rank"
"""How the numbers that synthetic objects are go with how common those are: not at all, or the commonest is the lowest."""
PEERS = 1_000
SUBSCRIPTIONS = 10_000
"""Where neither is said, and no trace has them."""
GROWTH_TUPLES = 200_000
GROWTH_SUBSCRIPTIONS = 20_000
"""What the curve against the number of peers is drawn from, at most: it takes a run for each point."""


@dataclass(frozen=True, slots=True)
class BalanceRequest:
    """A comparison of strategies as it was asked for; texts are as on the command line, empty ones mean the usual.

    So does None; for ``peers`` and ``subscriptions`` it is those of the trace, where there is one. What the workload of the request
    does not have, such as the Zipf exponents of a file, is refused where it is said.
    """

    peers: int | None
    tuples: int | None
    subscriptions: int | None
    events: str | None = None
    trace: str | None = None
    mix: str = ""
    distinct: str = ""
    zipf: str = ""
    hours: float | None = None
    width: float | None = None
    values: str = ""
    drift: float | None = None
    adversary: str = ""
    capacity: str = ""
    strategies: tuple[str, ...] = ()
    seed: int = 1
    seeds: int = 1
    """How many, from ``seed`` on; what each peer carries is that of the first."""


@dataclass(frozen=True, slots=True)
class Balance:
    """What a comparison came to."""

    outcomes: list[Outcome]
    """Of the first seed."""
    over_seeds: list[OverSeeds]
    """Of all of them; none where there was but one."""
    left_out: str
    """What is to be said of lines that were not understood."""

    def summary(self) -> list[dict[str, object]]:
        """The numbers of each strategy by name."""
        found = [outcome.summary() for outcome in self.outcomes]
        for numbers, over in zip(found, self.over_seeds, strict=False):
            numbers["over_seeds"] = over.summary()
        return found


def balance(
    request: BalanceRequest,
    started: Callable[[], Engine],
    out: Path,
    title: Callable[[str], None] = lambda _: None,
    provenance: Provenance = made_by,
) -> Balance:
    """Run all strategies and save everything in a folder.

    Whatever is impossible is refused before ``started`` starts anything. Raises SimulationError.
    """
    strategies = list(dict.fromkeys(parse(name) for name in request.strategies or STANDARD))
    mix = mix_of(request)
    check_seeds(request.seed, request.seeds)
    if request.subscriptions is not None:
        check_subscriptions(request.subscriptions)
    if request.peers is not None:
        Peers(request.peers)
    refuse_unused(request)
    capacity = capacity_of(request)
    engine = None
    if request.events is not None:
        for strategy in strategies:
            check(strategy, request.peers or PEERS, numbers=False)
        # Files are read where tuples are counted.
        check_here(request.events)
        prepare_folder(out)
        engine = started()
        title(f"reading {Path(request.events).name}")
    workload, ids, left_out = workload_of(request, engine or InOneThread())
    drawn = Peers(request.peers or PEERS) if ids is None else Peers.of(ids)
    peers = replace(drawn, seed=request.seed, capacity=capacity)
    for strategy in strategies:
        check(strategy, len(peers), numbers=isinstance(workload, Synthetic))
    asked = request.subscriptions or SUBSCRIPTIONS
    subscriptions = workload.subscriptions(asked, mix, request.seed)
    if engine is None:
        prepare_folder(out)
        engine = started()
    # What is as usual, or not used, was not said.
    said = {name: value for name, value in asdict(request).items() if value not in (None, "")}
    write_configuration(out, said, [PEERS_FOLDER])
    outcomes = []
    for strategy in strategies:
        title(strategy.name)
        outcomes.append(run(strategy, workload, subscriptions, peers, engine, out / PEERS_FOLDER))
    figures = [[figures_of(outcome)] for outcome in outcomes]
    for seed in range(request.seed + 1, request.seed + request.seeds):
        others = replace(workload, seed=seed) if isinstance(workload, Synthetic) else workload
        asking = others.subscriptions(asked, mix, seed)
        peers_of_seed = replace(peers, seed=seed)
        for strategy, kept in zip(strategies, figures, strict=True):
            title(f"{strategy.name}, seed {seed}")
            kept.append(figures_of(run(strategy, others, asking, peers_of_seed, engine)))
    over_seeds = [OverSeeds(strategy.name, kept) for strategy, kept in zip(strategies, figures, strict=True)]
    ran = {"peers": len(peers), "subscriptions": len(subscriptions), "strategies": [strategy.name for strategy in strategies]}
    configuration = {**said, **described(workload, mix), **ran, "left_out": left_out, **provenance()}
    if request.trace is not None:
        # Its tuples have their times, and its subscriptions their patterns.
        for name in ("hours", "mix") if request.subscriptions is None else ("hours",):
            del configuration[name]
    found = Balance(outcomes, over_seeds if request.seeds > 1 else [], left_out)
    save_numbers(out, {}, found.summary(), configuration, others=(PEERS_FOLDER,))
    title("fewer peers, for the report")
    grown = growths(outcomes, asked, Peers(len(peers), request.seed, capacity=capacity), workload, mix, engine.player)
    write_page(out / REPORT, report(outcomes, grown, configuration, found.over_seeds))
    return found


@dataclass(frozen=True, slots=True)
class _GrowthCase:
    """A part of the workload over so many peers."""

    strategy: Strategy
    workload: Workload
    subscriptions: Subscriptions
    peers: Peers


@dataclass(frozen=True, slots=True)
class _GrowthRow:
    """Copies of tuples at the busiest peer."""

    busiest: int


def _grown(case: _GrowthCase) -> list[_GrowthRow]:
    plan = make_plan(case.strategy, case.workload, case.subscriptions, len(case.peers))
    engine = InOneThread()
    found = engine.spread(plan, engine.counted(plan, case.workload, case.peers), case.peers)
    return [_GrowthRow(found["tuples"].largest)]


def growths(outcomes: Sequence[Outcome], asked: int, peers: Peers, workload: Workload, mix: Mix, player: Player) -> list[Growth]:
    """What the busiest peer gets with fewer peers by each strategy, on a part of the workload, and at the end what it got."""
    if isinstance(workload, Synthetic):
        workload = replace(workload, tuples=min(workload.tuples, GROWTH_TUPLES))
    elif isinstance(workload, Recorded) and workload.tuples > GROWTH_TUPLES:
        workload = workload.thinned(GROWTH_TUPLES)
    elif isinstance(workload, Distributed):
        # Tasks cannot be sent what stays with Spark.
        workload = workload.thinned(min(workload.tuples, GROWTH_TUPLES))
    subscriptions = workload.subscriptions(min(asked, GROWTH_SUBSCRIPTIONS), mix, peers.seed)
    cases = [
        _GrowthCase(outcome.strategy, workload, subscriptions, replace(peers, count=size))
        # The most peers take longest: they come first, so that the end waits for none.
        for size in (10**power for power in range(8, 0, -1))
        for outcome in outcomes
        if outcome.strategy.replicas <= size < outcome.peers
    ]
    found: dict[str, list[tuple[int, float]]] = {one.strategy.name: [(one.peers, one.busiest_tuples)] for one in outcomes}
    for case, row in zip(cases, player(Sweep(_GrowthRow, cases, _grown)), strict=True):
        found[case.strategy.name].append((len(case.peers), row.busiest / workload.tuples))
    return [Growth(workload.tuples, *zip(*sorted(points), strict=True)) for points in found.values()]


def workload_of(request: BalanceRequest, engine: Engine) -> tuple[Workload, list[bytes] | None, str]:
    """The tuples, the ids of the peers where a trace has them, and what is to be said of what was left out.

    Files are read by the engine. Raises BadParameter and BadWorkload.
    """
    refuse_unused(request)
    if request.trace is not None:
        return _traced(request, request.trace)
    hours = HOURS if request.hours is None else request.hours
    if request.events is None:
        tuples = TUPLES if request.tuples is None else request.tuples
        distinct = three_of(request.distinct, "--distinct", int) if request.distinct else usual_distinct(tuples)
        zipf = three_of(request.zipf or ZIPF, "--zipf", float)
        if request.drift is not None:
            Drift(request.drift, hours * 3600)
        if request.values not in ("", SCATTERED, BY_RANK):
            raise BadParameter(f"--values {request.values!r}; expected {SCATTERED} or {BY_RANK}")
        by_rank, drift = request.values == BY_RANK, request.drift or 0.0
        adversary = parse_adversary(request.adversary) if request.adversary else None
        return Synthetic(tuples, distinct, zipf, request.seed, hours * 3600, by_rank, drift, adversary), None, ""
    workload, left_out = engine.read(request.events, hours * 3600)
    return workload, None, left_out


def mix_of(request: BalanceRequest) -> Mix:
    """Which constants and bounds subscriptions give. Raises BadParameter."""
    mix = parse_mix(request.mix, width=WIDTH if request.width is None else request.width) if request.mix else COMMON_MIX
    if request.width is not None and not mix.bounded:
        raise BadParameter(
            f"--width {request.width:g} lies between bounds, and the mix {mix} has none; say some, as in --mix ??b=1"
        )
    if mix.bounded and (request.events or request.trace):
        raise BadParameter(
            f"the mix {mix} has bounds, and the objects of files and traces are not read as numbers; expected synthetic tuples"
        )
    return mix


def capacity_of(request: BalanceRequest) -> Capacities | None:
    """What peers are able to carry; None where all are alike. Raises BadParameter."""
    return parse_capacities(request.capacity) if request.capacity else None


def refuse_unused(request: BalanceRequest) -> None:
    """Raises BadParameter for what was said and would not be looked at, or cannot be."""
    if request.hours is not None and not 0 < request.hours < float("inf"):
        raise BadParameter(f"tuples within {request.hours:g} h; expected more than 0")
    if request.trace is not None and request.events is not None:
        raise BadParameter("--trace and --events are two workloads; expected one of them")
    given = request.trace or request.events
    if given is None:
        return
    if request.tuples is not None:
        raise BadParameter(f"--tuples {request.tuples} is for synthetic tuples; those of {given} are as many as there are")
    options = ("--distinct", "--zipf", "--values", "--drift", "--adversary")
    drift = "" if request.drift is None else f"{request.drift:g}"
    for option, text in zip(options, (request.distinct, request.zipf, request.values, drift, request.adversary), strict=True):
        if text:
            raise BadParameter(f"{option} {text} is for synthetic tuples; those of {given} are as they are")
    if request.trace is None:
        return
    if request.hours is not None:
        raise BadParameter(f"--hours {request.hours:g} is for tuples without times; those of {given} have theirs")
    if request.mix and request.subscriptions is None:
        raise BadParameter(f"--mix {request.mix} is for subscriptions that are made; say how many, with --subscriptions")


def _traced(request: BalanceRequest, folder: str) -> tuple[Workload, list[bytes] | None, str]:
    from ..workload.traces import read_trace

    trace = read_trace(folder)
    workload = trace.workload
    if request.subscriptions is not None:
        workload = replace(workload, asked=None)
    elif workload.asked is None:
        raise BadParameter(f"nobody subscribed to triples in {folder}; say how many to make, with --subscriptions")
    ids = [bytes.fromhex(peer) for peer in trace.ids] if request.peers is None else None
    if request.seeds > 1 and ids is not None and request.subscriptions is None:
        raise BadParameter(
            f"--seeds {request.seeds} draw peers and subscriptions, and those of {folder} are there; say how many to make, with "
            "--peers or --subscriptions"
        )
    return workload, ids, "; ".join(trace.remarks)


def usual_distinct(tuples: int) -> tuple[int, int, int]:
    """As many constants as so many tuples of one graph might have: a subject for four tuples, and few predicates."""
    entities = max(1, min(1_000_000, tuples // 4))
    return entities, max(1, min(1_000, tuples // 100)), entities


def described(workload: Workload, mix: Mix) -> dict[str, object]:
    """What a request came to."""
    law: dict[str, object] = {}
    if isinstance(workload, Synthetic):
        law["zipf"] = ",".join(f"{exponent:g}" for exponent in workload.exponents)
        law["values"] = BY_RANK if workload.by_rank else SCATTERED
        law |= {"drift": workload.drift} if workload.drift else {}
        law |= {} if workload.adversary is None else {"adversary": str(workload.adversary)}
    if mix.bounded:
        law["width"] = mix.width
    return {
        "tuples": workload.tuples,
        **law,
        "hours": workload.seconds / 3600,
        "mix": str(mix),
        "constants": {name: len(known.keys) for name, known in zip(POSITIONS, workload.constants, strict=True)},
    }

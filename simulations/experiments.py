"""What an experiment is asked for, checked, run and written: the part of ``gsg simulate`` that is not the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

from .balance import Counter, Outcome, in_one_thread, run, save
from .errors import BadParameter
from .loads import spread_of
from .plan import make_plan, peer_ids
from .report import Growth, write_report
from .strategies import STANDARD, Strategy, parse
from .workload import COMMON_MIX, POSITIONS, Mix, Synthetic, Workload, check_subscriptions, parse_mix

Number = TypeVar("Number", int, float)

MAX_SEED = (1 << 63) - 1
GROWTH_TUPLES = 200_000
GROWTH_SUBSCRIPTIONS = 20_000
"""What the curve against the number of peers is drawn from, at most: it takes a run for each point."""


@dataclass(frozen=True, slots=True)
class BalanceRequest:
    """A comparison of strategies as it was asked for; texts are as on the command line, empty ones mean the usual."""

    peers: int
    tuples: int
    subscriptions: int
    events: str | None = None
    mix: str = ""
    distinct: str = ""
    zipf: str = "0.5,1,1"
    hours: float = 24.0
    strategies: tuple[str, ...] = ()
    seed: int = 1


def balance(
    request: BalanceRequest, counter: Callable[[], Counter], out: Path, title: Callable[[str], None] = lambda _: None
) -> tuple[list[Outcome], str]:
    """Run all strategies, save everything in a folder; the outcomes, and what is to be said of lines that were not understood.

    Whatever is impossible is refused before ``counter`` starts anything. Raises SimulationError.
    """
    strategies = list(dict.fromkeys(parse(name) for name in request.strategies or STANDARD))
    mix = parse_mix(request.mix) if request.mix else COMMON_MIX
    if not 0 <= request.seed <= MAX_SEED:
        raise BadParameter(f"seed {request.seed}; expected 0 to {MAX_SEED}")
    check_subscriptions(request.subscriptions)
    peers = peer_ids(request.peers, request.seed)
    workload, malformed = workload_of(request)
    subscriptions = workload.subscriptions(request.subscriptions, mix, request.seed)
    count = counter()
    outcomes = []
    for strategy in strategies:
        title(strategy.name)
        outcomes.append(run(strategy, workload, subscriptions, peers, count))
    configuration = {**asdict(request), **described(workload, mix), "malformed": malformed}
    save(out, outcomes, configuration)
    title("fewer peers, for the report")
    grown = [growth(strategy, request, workload, mix) for strategy in strategies]
    write_report(out / "report.html", outcomes, grown, configuration)
    return outcomes, malformed


def growth(strategy: Strategy, request: BalanceRequest, workload: Workload, mix: Mix) -> Growth:
    """How uneven a strategy is with fewer peers, on a part of the workload that is counted here and now."""
    if isinstance(workload, Synthetic):
        workload = replace(workload, tuples=min(workload.tuples, GROWTH_TUPLES))
    subscriptions = workload.subscriptions(min(request.subscriptions, GROWTH_SUBSCRIPTIONS), mix, request.seed)
    sizes = sorted({10**power for power in range(1, 9) if 10**power < request.peers} | {request.peers})
    count = in_one_thread()
    plans = [make_plan(strategy, workload, subscriptions, peer_ids(size, request.seed)) for size in sizes]
    uneven = [spread_of(count(plan, workload).tuples).max_over_mean for plan in plans]
    return Growth(workload.tuples, tuple(sizes), tuple(uneven))


def workload_of(request: BalanceRequest) -> tuple[Workload, str]:
    """The tuples, and what is to be said of lines that hold none. Raises BadParameter and BadWorkload."""
    if request.events is None:
        distinct = _three(request.distinct, "--distinct", int) if request.distinct else usual_distinct(request.tuples)
        return Synthetic(request.tuples, distinct, _three(request.zipf, "--zipf", float), request.seed, request.hours * 3600), ""
    from .reading import read

    if not 0 < request.hours < float("inf"):
        raise BadParameter(f"tuples within {request.hours:g} h; expected more than 0")
    reading = read(request.events, seconds=request.hours * 3600)
    if not reading.malformed:
        return reading.recorded, ""
    examples = "; ".join(reading.examples)
    return reading.recorded, f"{reading.malformed:,} malformed lines were left out, the first of them: {examples}"


def usual_distinct(tuples: int) -> tuple[int, int, int]:
    """As many constants as so many tuples of one graph might have: a subject for four tuples, and few predicates."""
    entities = max(1, min(1_000_000, tuples // 4))
    return entities, max(1, min(1_000, tuples // 100)), entities


def described(workload: Workload, mix: Mix) -> dict[str, object]:
    """What a request came to."""
    return {
        "tuples": workload.tuples,
        "mix": str(mix),
        "constants": {name: len(known.keys) for name, known in zip(POSITIONS, workload.constants, strict=True)},
    }


def _three(text: str, option: str, number: type[Number]) -> tuple[Number, Number, Number]:
    try:
        one, two, three = map(number, text.split(","))
    except ValueError:
        raise BadParameter(f"{option} {text!r}; expected three numbers between commas, for {', '.join(POSITIONS)}") from None
    return one, two, three

"""What both kinds of churn are asked: which peers, tuples and subscriptions there are, and under which keys their matches meet.

Peers, Zipf exponents, mixes and strategies may each be several: each of all combinations is a setting, of one job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, Protocol, Self

from ..engine.sweep import check_cases
from ..errors import BadParameter
from ..load_balance.experiments import ZIPF, usual_distinct
from ..load_balance.meeting_sample import MeetingSample, sample_meetings
from ..load_balance.plan import check as check_strategy
from ..load_balance.plan import peer_ids
from ..load_balance.strategies import Strategy, parse
from ..workload.workload import COMMON_MIX, POSITIONS, Synthetic, check_subscriptions, parse_mix, three_of

Columns = list[tuple[str, str, Callable[["Setting"], str]]]


@dataclass(frozen=True)
class Setting:
    """Where matches meet; texts are as on the command line."""

    peers: int
    zipf: str
    mix: str
    strategy: str


class OfSetting(Protocol):
    """Whatever belongs to one setting."""

    @property
    def peers(self) -> int:
        """How many there are."""

    @property
    def zipf(self) -> str:
        """The exponents of the three positions."""

    @property
    def mix(self) -> str:
        """Which constants subscriptions give."""

    @property
    def strategy(self) -> str:
        """By which subscriptions are posted."""


def setting_of(one: OfSetting) -> Setting:
    """The setting that a case, or what came of it, belongs to."""
    return Setting(one.peers, one.zipf, one.mix, one.strategy)


@dataclass(frozen=True, slots=True)
class MeetingRequest:
    """What was asked for of matches; empty ones mean the usual."""

    peers: tuple[int, ...] = (1_000,)
    tuples: int = 100_000
    subscriptions: int = 10_000
    zipf: tuple[str, ...] = ()
    mix: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    seed: int = 1

    def with_usual_meetings(self) -> Self:
        """With what is usual in the place of what was not said, and each thing once and by one name."""
        named = replace(
            self,
            zipf=tuple(",".join(f"{each:g}" for each in three_of(text, "--zipf", float)) for text in self.zipf or (ZIPF,)),
            mix=tuple(str(parse_mix(text)) for text in self.mix) or (str(COMMON_MIX),),
            strategies=tuple(parse(name).name for name in self.strategies or ("rarest",)),
        )
        # Runs of a value that is there twice would count as independent ones, and make intervals narrower than they are.
        lists = {name: value for name, value in asdict(named).items() if isinstance(value, tuple)}
        once: dict[str, Any] = {name: tuple(dict.fromkeys(value)) for name, value in lists.items()}  # Any: as the fields are
        return replace(named, **once)

    @property
    def settings(self) -> list[Setting]:
        """All combinations, strategies next to each other."""
        return [Setting(*each) for each in product(self.peers, self.zipf, self.mix, self.strategies)]

    @property
    def law(self) -> dict[str, object]:
        """What a report says of the tuples."""
        return {"constants": dict(zip(POSITIONS, usual_distinct(self.tuples), strict=True))}

    def workload(self, zipf: str) -> Synthetic:
        """The tuples by one choice of exponents."""
        return Synthetic(self.tuples, usual_distinct(max(1, self.tuples)), three_of(zipf, "--zipf", float), self.seed)


def check_meetings(request: MeetingRequest) -> None:
    """Raises BadParameter for what makes no sense, before anything is made."""
    check_subscriptions(request.subscriptions)
    check_cases(len(request.settings))
    for zipf in request.zipf:
        request.workload(zipf)
    for strategy in map(parse, request.strategies):
        for peers in request.peers:
            check_strategy(strategy, peers, numbers=True)
        refuse_without_effect(strategy)


def refuse_without_effect(strategy: Strategy) -> None:
    """Raises BadParameter for what would not be looked at, or changes nothing: its figures would pass for those of the strategy."""
    refused = {
        f"replicas-{strategy.replicas}": (strategy.replicas > 1, "how many holders a key has is said by --replicas"),
        f"virtual-{strategy.virtual}": (strategy.virtual > 1, "peers live and die under one id each here"),
        "demand": (strategy.demand, "a tuple that goes nowhere would have met nothing, so it changes nothing that is lost"),
    }
    for part, (there, why) in refused.items():
        if there:
            raise BadParameter(f"strategy {strategy.name!r}: churn has no {part!r}: {why}; leave it out")


def meetings_of(request: MeetingRequest) -> dict[Setting, MeetingSample]:
    """A sample of the matches of each setting. Raises BadParameter where nothing matches."""
    found = {}
    for setting in request.settings:
        workload = request.workload(setting.zipf)
        subscriptions = workload.subscriptions(request.subscriptions, parse_mix(setting.mix), request.seed)
        peers = peer_ids(setting.peers, request.seed)
        found[setting] = sample_meetings(parse(setting.strategy), workload, subscriptions, peers, request.seed)
    return found


def columns_of(settings: Sequence[Setting]) -> Columns:
    """The columns of a table that tell these settings apart; the strategy is always said."""
    known: Columns = [
        ("strategy", "", lambda one: one.strategy),
        ("peers", "", lambda one: f"{one.peers:,}"),
        ("zipf", "exponents", lambda one: one.zipf),
        ("mix", "of subscriptions", lambda one: one.mix),
    ]
    return [column for column in known if column[0] == "strategy" or _varies(settings, column[0])]


def name_of(setting: Setting, settings: Sequence[Setting]) -> str:
    """What tells a setting from the others, in the words of a legend."""
    parts = {"strategy": setting.strategy, "peers": f"{setting.peers:,} peers", "zipf": f"zipf {setting.zipf}", "mix": setting.mix}
    told = [words for part, words in parts.items() if _varies(settings, part)]
    return ", ".join(told) or setting.strategy


def matches_said(request: MeetingRequest) -> str:
    """Which matches a run is about, in the words of a report."""
    *most, last = (f"{number:,}" for number in request.peers)
    peers = f"{', '.join(most)} and {last}" if most else last
    return f"Matches of {request.tuples:,} tuples and {request.subscriptions:,} subscriptions over {peers} peers"


def _varies(settings: Sequence[Setting], part: str) -> bool:
    return len({asdict(one)[part] for one in settings}) > 1

"""The experiment ``churn --lifetimes``: what it is asked, its cases, and what comes of one and of all runs of a kind."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..engine.intervals import Interval
from .lifetimes import MEAN_S, PARETO_SHAPE, WEIBULL_SHAPE, Lifetimes
from .settings import MeetingRequest, Setting

DAY_S = 86_400.0
MAX_DAYS = 366
USUAL_REPLICAS = (1, 2, 3, 5)
"""As far as there are peers to hold a key."""
SHAPES = {"exponential": 1.0, "weibull": WEIBULL_SHAPE, "pareto": PARETO_SHAPE, "yao": PARETO_SHAPE}


@dataclass(frozen=True, slots=True)
class LifetimesRequest(MeetingRequest):
    """What was asked for; texts are as on the command line, and what is empty or None means the usual."""

    lifetimes: tuple[str, ...] = ("exponential", "weibull", "pareto")
    mean_hours: tuple[float, ...] = ()
    shape: float | None = None
    """That of all laws that have one."""
    graceful: tuple[float, ...] = (0.5,)
    replicas: tuple[int, ...] = ()
    days: int = 2
    kbit_per_s: float = 10_000.0
    runs: int = 10

    def completed(self) -> LifetimesRequest:
        """With what is usual in the place of what was not said."""
        usual = tuple(replicas for replicas in USUAL_REPLICAS if replicas <= min(self.peers))
        once = self.with_usual_meetings()
        return replace(once, replicas=once.replicas or usual or (1,), mean_hours=once.mean_hours or (MEAN_S / 3600,))

    def law_of(self, name: str, mean_hours: float) -> Lifetimes:
        """One law. Raises BadParameter."""
        shape = SHAPES.get(name, 1.0) if self.shape is None or name == "exponential" else self.shape
        return Lifetimes(name, mean_hours * 3600, shape)


@dataclass(frozen=True)
class Kind(Setting):
    """What is run several times."""

    lifetimes: str
    mean_hours: float
    graceful: float
    replicas: int


@dataclass(frozen=True)
class Case(Kind):
    """One overlay; those of the same ``run`` that differ in ``replicas`` or in matches alone have the same peers and deaths."""

    run: int


@dataclass(frozen=True)
class Kept(Case):
    """What came of one overlay. Shares of time are in the mean of keys; messages and bytes are those a peer sends in an hour."""

    deaths: int
    lost_a_day: float
    """The share of keys that are lost on a day, once or more."""
    matches_lost_a_day: float
    losses_a_day: float
    """How often a key is lost in a day."""
    fewer: float
    """The share of time with fewer than r living peers that have the key."""
    late: float
    """With a primary that is dead, or does not have it yet."""
    missed: float
    """With no living peer that has it."""
    hand_over_messages: float
    hand_over_bytes: float
    repair_messages: float
    repair_bytes: float
    comparing_messages: float
    comparing_bytes: float
    busiest_bytes: float
    """The most that one peer sent and received within an hour for hand-over and repair."""
    apart: int
    """Sets of holders at the beginnings of days of which no two share a peer: so many trials are independent of each other."""


@dataclass(frozen=True)
class Mean(Kind):
    """All runs of one kind."""

    runs: int
    deaths: int
    """Of all runs."""
    lost_a_day: Interval
    matches_lost_a_day: Interval
    losses_a_day: Interval
    fewer: Interval
    late: Interval
    missed: Interval
    hand_over_messages: Interval
    hand_over_bytes: Interval
    repair_messages: Interval
    repair_bytes: Interval
    comparing_messages: float
    comparing_bytes: float
    busiest_bytes: Interval
    expected_lost_a_day: float
    """Of exponential lives, by arithmetic: see expected_losses_s."""


def expected_losses_s(replicas: int, mean_s: float, graceful: float, away_s: float) -> float:
    """How often a key is lost in a second where lives are exponential, each of r holders dies by itself, and ``away_s`` after it
    crashed another has what it had.

    The holders are a parallel system of r components, each repaired by itself: it fails when one of them fails while all others are
    down (Barlow and Proschan, "Statistical Theory of Reliability and Life Testing", 1975, chapter 7).
    """
    crashes_s = (1 - graceful) / mean_s
    down = crashes_s * away_s / (1 + crashes_s * away_s)
    return replicas * crashes_s * (1 - down) * down ** (replicas - 1)

"""What is asked of the experiment ``dissemination``, its cases, and what each of them shows, as data."""

from __future__ import annotations

from dataclasses import dataclass

FORMS = ("oldest", "random")
"""Whom an agent trades with: Cyclon's form, and that of the paper."""


@dataclass(frozen=True, slots=True)
class DisseminationRequest:
    """What was asked for."""

    agents: tuple[int, ...] = (500, 10_000, 100_000)
    views: tuple[int, ...] = (10, 20)
    exchanged: int = 8
    removed: tuple[float, ...] = (0.1, 0.2, 0.5)
    subscribers: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    settle: int = 30
    """Rounds before anything happens."""
    rounds: int = 60
    """Rounds after the removal."""
    round_s: float = 6.0
    walks: int = 4
    lifetime: int = 20
    hop_ms: tuple[float, float] = (100.0, 500.0)
    runs: int = 5
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Removal:
    """One overlay of which a share is removed."""

    agents: int
    view: int
    form: str
    removed: float
    run: int


@dataclass(frozen=True, slots=True)
class Round(Removal):
    """An overlay at the end of a round, counted from the removal; in round 0 nobody knows of it yet."""

    round: int
    in_degree_mean: float
    in_degree_std: float
    dead_references: int
    """How many references to removed agents there are in all views."""
    dead_share: float
    """As a share of all references."""
    dead_known: int
    """How many removed agents somebody still knows."""
    clear: int
    """How many agents know none of them."""
    in_degrees: tuple[int, ...]
    """How many agents were known by 0, 1, 2 ... others just before the removal; in round 0 only."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event to be published on a topic to which a share of the agents subscribe."""

    agents: int
    subscribers: float
    run: int


@dataclass(frozen=True, slots=True)
class Spread(Event):
    """How an event spread."""

    subscribed: int
    reached: int
    median_ms: float
    p99_ms: float
    last_ms: float
    """When the last of those who heard did; 0 where nobody did, as for the others."""
    walk_hops: int
    messages: int
    slice_ms: float
    heard: tuple[int, ...]
    """How many subscribers heard first in each slice of time."""


def middle(values: tuple[float, ...]) -> float:
    """The middle one of several in order, the lower one of two."""
    return values[(len(values) - 1) // 2]

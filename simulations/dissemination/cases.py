"""What is asked of the experiment ``dissemination``, its cases, and what each of them shows, as data."""

from __future__ import annotations

from dataclasses import dataclass

from gsg.topics.view import SHUFFLED


@dataclass(frozen=True, slots=True)
class DisseminationRequest:
    """What was asked for."""

    agents: tuple[int, ...] = (500, 10_000)
    views: tuple[int, ...] = (10, 20)
    exchanged: int = SHUFFLED
    removed: tuple[float, ...] = (0.1, 0.2, 0.5)
    subscribers: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    settle: int = 30
    """Rounds before the removal."""
    rounds: int = 60
    """Rounds after the removal."""
    round_s: float = 6.0
    events: int = 40
    """Events of one publisher, and then as many of changing ones, after the first event."""
    hop_ms: tuple[float, float] = (10.0, 50.0)
    runs: int = 5
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Removal:
    """One overlay of which a share is removed."""

    agents: int
    view: int
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
class Topic:
    """One topic to which a share of the agents subscribe."""

    agents: int
    subscribers: float
    run: int


@dataclass(frozen=True, slots=True)
class Spread(Topic):
    """How the events of a topic spread: the first one, some of one publisher, and some of changing ones.

    A payload is an event on its way to one agent, a small frame any other message. They are counted by member and event. What was
    not measured is None: times where nobody was told, and what an experiment of real peers was cut short before.
    """

    subscribed: int
    reached: int
    """How many subscribers the first event reached."""
    median_ms: float | None
    p99_ms: float | None
    last_ms: float | None
    """When the last of those was reached."""
    first_payloads: float | None
    steady_payloads: float | None
    steady_small: float | None
    steady_last_ms: float | None
    changing_payloads: float | None
    changing_small: float | None
    changing_last_ms: float | None
    """The longest that an event of one publisher, or of changing ones, took to a subscriber."""
    missed: int | None
    """How many times an event after the first one did not reach a subscriber."""
    carriers: int | None
    """How many of those that do not subscribe were sent a payload all the same."""
    slice_ms: float
    heard: tuple[int, ...]
    """How many subscribers the first event reached in each slice of time."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What real peers came to."""

    request: DisseminationRequest
    """What a simulation would have to be asked for, to do the same."""
    rounds: list[Round]
    spreads: list[Spread]
    remarks: str
    """How good its times are, and what is missing."""


def middle(values: tuple[float, ...]) -> float:
    """The middle one of several in order, the lower one of two."""
    return values[(len(values) - 1) // 2]

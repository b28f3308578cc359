"""What an experiment does, and when: pure functions from a plan to acts of participants.

For each share of subscribers there is a topic of its own. Its first event is published by a participant that does not subscribe
where there is one, then some by one subscriber at a steady rate, then as many by changing ones; messages are counted between.
In the end a share of all participants ends as if killed, and the others' views are watched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from ..errors import LocalError
from ..wire.experiment_messages import ActKind

SECOND_US: Final = 1_000_000
LEAD_US: Final = 3 * SECOND_US
"""How long before an act it is told: a participant asks every second, and one answer may be lost."""
EVENT_US: Final = 50_000
"""From event to event."""
WARM: Final = 2
"""Events of the steady publisher that are not counted: the tree fits the first publisher's entrance before."""
MAX_PARTICIPANTS: Final = 10_000
MAX_EVENTS: Final = 10_000
MAX_SECONDS: Final = 86_400.0
LARGEST: Final = 2**62
"""What is larger is no time, and no count: sums and differences of two travel in 64 bits."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked for. Raises LocalError for what cannot be."""

    participants: int = 8
    """So many are waited for."""
    subscribers: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    removed: float = 0.0
    events: int = 40
    """Events of one publisher, and then as many of changing ones, after the first event."""
    settle_s: float = 15.0
    """How long after all have come, and after each subscription of all, nothing is done."""
    watch_s: float = 120.0
    """How long views are watched after the removal."""
    quiet_s: float = 3.0
    """How long after the last event of several they are counted, when all have what they will ever have."""

    def __post_init__(self) -> None:
        for what, value, least, most in (
            ("participants", self.participants, 2, MAX_PARTICIPANTS),
            ("events", self.events, 1, MAX_EVENTS),
            ("seconds to settle", self.settle_s, 0, MAX_SECONDS),
            ("seconds to watch", self.watch_s, 0, MAX_SECONDS),
            ("seconds of quiet", self.quiet_s, 0, MAX_SECONDS),
        ):
            if not least <= value <= most:
                raise LocalError(f"{value:g} {what}; expected {least} to {most:g}")
        if not 0 <= self.removed < 1 or round(self.removed * self.participants) >= self.participants:
            raise LocalError(f"a share of {self.removed:g} removed; expected 0 or more, and that some stay")
        for share in self.subscribers:
            if not 0 < share <= 1 or round(share * self.participants) < 2:
                raise LocalError(f"a share of {share:g} of {self.participants} subscribe; expected two at least, and 1 at most")
        topics = [topic_of(share) for share in self.subscribers]
        for topic in topics:
            if topics.count(topic) > 1:
                raise LocalError(f"shares of {topic.removeprefix(PREFIX)} twice; expected some that differ in four digits")


class Count:
    """The counts of one topic, in their order; participants make each at the same moment."""

    BEGUN: Final = 1
    FIRST: Final = 2
    """After the first event."""
    STEADY: Final = 3
    STEADY_SENT: Final = 4
    CHANGING: Final = 5
    """Before the events of changing publishers, and so after the steady ones."""
    CHANGING_SENT: Final = 6
    ENDED: Final = 7


FIRST_EVENT: Final = 1
"""The number of a topic's first event; those after it are the warm ones, the steady ones and the changing ones."""
FIRST_STEADY: Final = FIRST_EVENT + WARM + 1


PREFIX: Final = "experiment/"
"""What the topics of experiments begin with: participants are told of no others."""


def topic_of(share: float) -> str:
    """The topic to which such a share subscribes."""
    return f"{PREFIX}{share:.4g}"


@dataclass(frozen=True, slots=True)
class Due:
    """An act of one participant."""

    participant: bytes
    at_us: int
    do: ActKind
    event: int = 0


def acts_of_topic(
    plan: Plan, members: Sequence[bytes], outside: Sequence[bytes], begin_us: int, rng: Random
) -> tuple[list[Due], int]:
    """The acts of one topic, from when all have subscribed until they leave, in order; and when they are over."""
    found = list(_acts_of_topic(plan, members, outside, begin_us, rng))
    return found, found[-1].at_us


def _acts_of_topic(plan: Plan, members: Sequence[bytes], outside: Sequence[bytes], now_us: int, rng: Random) -> Iterator[Due]:
    quiet_us = round(plan.quiet_s * SECOND_US)

    def count(number: int) -> Iterator[Due]:
        return (Due(who, now_us, ActKind.COUNT, number) for who in (*members, *outside))

    def publish(publishers: Sequence[bytes], first: int) -> Iterator[Due]:
        return (Due(who, now_us + (place + 1) * EVENT_US, ActKind.PUBLISH, first + place) for place, who in enumerate(publishers))

    one = rng.choice(members)
    yield from count(Count.BEGUN)
    yield from publish([rng.choice(outside or members)], FIRST_EVENT)
    now_us += EVENT_US + quiet_us
    yield from count(Count.FIRST)
    yield from publish([one] * WARM, FIRST_EVENT + 1)
    now_us += WARM * EVENT_US + quiet_us
    for first, begun, sent, publishers in (
        (FIRST_STEADY, Count.STEADY, Count.STEADY_SENT, [one] * plan.events),
        (FIRST_STEADY + plan.events, Count.CHANGING, Count.CHANGING_SENT, [rng.choice(members) for _ in range(plan.events)]),
    ):
        yield from count(begun)
        yield from publish(publishers, first)
        now_us += (plan.events + 1) * EVENT_US
        yield from count(sent)
        now_us += quiet_us
    yield from count(Count.ENDED)
    yield from (Due(who, now_us, ActKind.LEAVE) for who in members)

"""What came of one run: what clients did and saw, and what lay where in the end. Plain records, for :mod:`verdict`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from gsg import Row
from gsg.tuples.terms import Tuple

Answer = Counter[str]
"""Rows as text, each with how often it holds."""


@dataclass
class Published:
    """One thing that a client published. ``ended_s`` is when it was acknowledged; None where nobody knows whether it happened."""

    client: str
    sign: int
    """1 for facts that come, -1 for facts that go, 0 for events."""
    tuples: tuple[Tuple, ...]
    begun_s: float
    ended_s: float | None = None
    attempts: int = 0
    via: str = ""
    """The peer, in one of its lives, that it went by at last: the publisher, whose tuples keep their order."""
    met_death: bool = False
    """Whether a peer died while it was under way, who may have been the only one that had taken it."""
    by_several: bool = False
    """Whether it went by another peer before, of whom it may be told, and when is that one's order."""


@dataclass
class Session:
    """One subscription at one peer, from its first answer on."""

    client: str
    query: str
    peer: int
    begun_s: float
    whole_s: float | None = None
    """When its first answer was complete."""
    ended_s: float | None = None
    """When it was closed, or its peer died; None for one that stood to the end."""
    changes: list[tuple[float, int, str]] = field(default_factory=list)
    """When what came: 1, -1 or 0 for an event, and the row."""
    rows: Answer | None = None
    """The answer at the end, as the subscription has it."""


@dataclass(frozen=True)
class Trouble:
    """A fault, and when it was at work: until everybody has noticed."""

    kind: str
    begins_s: float
    ends_s: float


@dataclass
class History:
    """All of one run."""

    published: list[Published] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    asked_after: dict[str, Answer] = field(default_factory=dict)
    """By query, what a new subscription was told when everything was over."""
    lying: dict[Tuple, tuple[int, ...]] | None = None
    """By fact that lay anywhere in the end, at how many of its holders it did under each position; None where nobody looked."""
    troubles: list[Trouble] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """What peers logged as defects of their own."""
    mended_s: float = 0.0
    """How long after the end of the schedule all was as it should be, or was given up."""
    digest: str = ""
    of_topics: list[str] = field(default_factory=list)
    """What of topics was not as promised."""


def text_of(row: Row) -> str:
    """A row as text: its values."""
    return " ".join(str(value) for value in row.values())

"""What a system has to do to be measured: six calls, and one that it makes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self, TypeAlias

from ..files import Change
from ..queries import Asked
from ..users import Line

Row: TypeAlias = Sequence[str | None]
"""Terms as N-Triples writes them, in the order of the query's selection; None for a name that is unbound."""
Tell: TypeAlias = Callable[[int, int, Row], None]
"""Called with the number of a subscription, a sign (1, -1, or 0 for the row of an event) and the row."""


class Refused(Exception):
    """A subscription that the system does not answer, with the reason; it counts as not answered, and not as wrong."""


@dataclass(frozen=True, slots=True)
class PeerMeasures:
    """What one peer of the system has done until now; None for what it cannot say."""

    messages: int | None = None
    """Sent to other peers."""
    bytes: int | None = None
    load: int | None = None
    """What the system takes for work: docs/suite.md says what each of ours counts."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What a system can say of itself."""

    peers: Sequence[PeerMeasures] = field(default_factory=list)
    memory_bytes: int | None = None
    """Of all of its processes together, the most that each has had resident."""


def peak_memory_bytes(process: int) -> int | None:
    """The most memory that a process has had resident; None where the system does not say."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return None
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else None


class System(Protocol):
    """A system under measurement. Used with ``async with``, which starts and stops it."""

    name: str

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    async def subscribe(self, subscription: Line) -> None:
        """Take a subscription; rows that hold already are told as ``+``, at any time from now on. Raises Refused.

        Several may be under way at once.
        """

    async def unsubscribe(self, subscription: int) -> None:
        """End one. What is told of it after this returns is passed over."""

    async def change(self, changes: Sequence[Change]) -> None:
        """Insert, retract and notify, in order; returns when the system has taken them, whether or not anybody has been told.

        Changes of one fact keep their order; others need not.
        """

    async def settle(self) -> None:
        """Return when, as far as the system knows, everybody has been told of all that was taken."""

    async def answers(self, subscription: int) -> list[Row] | None:
        """The rows that a subscription holds, as the system has them, in any order; None where it does not keep them."""

    async def measures(self) -> Measures:
        """What the system can say of itself."""


def refuse(asked: Asked, *named: str) -> None:
    """Raises Refused where a query uses one of these parts: negated, optional, or_else, distinct, count or events."""
    used = [name for name in named if getattr(asked, name)]
    if used:
        raise Refused(f"not answered by this system: {', '.join(used)}")

"""Changes of facts that are being made, as data: those of one message, and what a holder says of them then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from ..tuples.terms import Tuple
from ..wire.messages import Origin


@dataclass(slots=True)
class Held:
    """A change that this peer has made; :attr:`everywhere` adds what other holders know better."""

    changed: int
    """How many facts changed under their position 0."""
    latest: int
    """The latest time that is known here."""
    behind: list[int]
    """Those that did not, here or at another holder, by number, because the contrary has happened later."""
    unchanged: list[int] = field(default_factory=list)
    """Those, by number, that were under their position 0 as they were to be already."""
    everywhere: Callable[[], Awaitable[None]] | None = None
    """Waits until our disk and all other holders have it; raises PeerUnreachable or Refused. None where there are none of them."""


@dataclass(slots=True)
class Change:
    """Facts of one message that come (1) or go (-1) here, at one stretch or in slices between which others have their turn."""

    sign: int
    facts: Sequence[Tuple]
    places: Sequence[bytes]
    stamp: int
    """The time of the change."""
    origins: Sequence[tuple[range, Origin | None]] = ()
    """The facts of each call, by number, with the message that says so; None for what is news to this peer alone."""
    as_holder: bool = True
    """False: for the sake of feeds that have not followed their key to its new holder yet."""
    made: int = 0
    """How many of the facts were looked at."""
    changed: int = 0
    behind: list[int] = field(default_factory=list)
    unchanged: list[int] = field(default_factory=list)
    """As in Held, all three."""

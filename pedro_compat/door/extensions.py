"""What a subscription may ask for beyond Pedro, at a door with extensions: ``subscribe(Head, Body, Rock, Options)``.

    stamp        deliveries are ``ROCK arrived(TIME,COUNT,(LINE))``: when the notification came to the door, and as which
    once         what several of the client's subscriptions with this option cover is delivered by one: the one served first
    recent       notifications that the door remembers are delivered first, oldest first
    recent(S)    as before, but those of the last S seconds only

Options are a list of these. Pedro answers a subscribe of four arguments by 0, in every version: no functor is reserved, and a
client that does not write it sees no byte that it would not see elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from gsg.errors import LocalError

from ..errors import BadSubscription
from ..terms.terms import NIL, Term, is_cons

MAX_OPTIONS = 16
"""Options in one subscription; there are three to choose from."""
EVER = float("inf")


@dataclass(frozen=True, slots=True)
class Options:
    """What a subscription asks for."""

    stamp: bool = False
    once: bool = False
    recent_s: float | None = None
    """Seconds back; EVER: as far as the door remembers; None: nothing that was."""

    def __post_init__(self) -> None:
        if self.recent_s is not None and not self.recent_s >= 0:
            raise LocalError(f"recent_s={self.recent_s!r} is no time to look back; expected seconds from 0 on, or EVER")

    def source(self) -> str:
        """The list from which :func:`options_of` makes these options."""
        recent = [] if self.recent_s is None else ["recent"] if self.recent_s == EVER else [f"recent({float(self.recent_s)!r})"]
        return f"[{','.join(['stamp'] * self.stamp + ['once'] * self.once + recent)}]"


def options_of(term: Term) -> Options:
    """The options that a list says. Raises BadSubscription for what is no list of options."""
    stamp = once = False
    recent_s: float | None = None
    for _ in range(MAX_OPTIONS):
        if type(term) is not tuple or not is_cons(term):
            break
        match term[1]:
            case "stamp":
                stamp = True
            case "once":
                once = True
            case "recent":
                recent_s = EVER
            case ("recent", int(seconds) | float(seconds)) if seconds >= 0:
                recent_s = float(min(seconds, 1e9))
            case _:
                raise BadSubscription("what a subscription may ask for is stamp, once, recent or recent(Seconds)")
        term = term[2]
    if term != NIL:
        raise BadSubscription(f"what a subscription asks for is a list, of at most {MAX_OPTIONS} options")
    return Options(stamp, once, recent_s)

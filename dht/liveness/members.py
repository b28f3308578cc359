"""One other peer, as :mod:`dht.liveness.swim` sees it: the states of its life, and what is remembered in each.

           silent             nobody vouches            the suspicion runs out
    ALIVE ────────> DOUBTED ────────────────> SUSPECTED ──────────────────────> DEAD: a Grave
      ^                │                       │      │ others pass on             ^   │
      │                │                       │      v its refutation             │   │
      │                │                       │    DISPUTED ──────────────────────┘   │
      └── answers ─────┴───────────────────────┴──────┴────────────────────────────────┘

A helper that vouches for it brings it back too, from DOUBTED and DISPUTED; what its own link or farewell says is in swim.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ..identity.contacts import Contact
from ..identity.ids import PeerId

DOUBT_S = 10.0
"""When a doubt or a probe has had no outcome for so long, whoever saw to it is gone: it counts as not asked."""


class MemberState(Enum):
    """Where a peer is in its life. DEAD is not among them: a dead peer is a :class:`Grave`."""

    ALIVE = 1
    DOUBTED = 2
    """It did not answer us; helpers are asked whether they reach it."""
    SUSPECTED = 3
    """No helper reaches it either; it has some seconds to refute that."""
    DISPUTED = 4
    """Suspected, and others pass on its refutation since: it is asked anew, and has as long again, once."""


TRANSITIONS = {
    MemberState.ALIVE: {MemberState.ALIVE, MemberState.DOUBTED, MemberState.SUSPECTED},
    MemberState.DOUBTED: {MemberState.ALIVE, MemberState.SUSPECTED},
    MemberState.SUSPECTED: {MemberState.ALIVE, MemberState.DISPUTED},
    MemberState.DISPUTED: {MemberState.ALIVE},
}


@dataclass(slots=True)
class Member:
    """A peer that is not dead."""

    contact: Contact
    heard_s: float
    incarnation: int = 0
    # The highest one that it told us itself, and the last: a later life may have a clock that is behind.
    told: int | None = None
    told_last: int = 0
    # Whether it has told us of a new life, and not answered since; and when it last had.
    has_new_life: bool = False
    new_life_s: float = float("-inf")
    state: MemberState = MemberState.ALIVE
    # Since when it is alive, doubted or suspected, and when it was last asked without an outcome yet.
    since_s: float = 0.0
    asked_s: float | None = None
    # How much longer it is suspected, where that is disputed.
    reprieve_s: float = 0.0
    # Who else finds it silent; at most CONFIRMATIONS.
    blamed_by: set[PeerId] = field(default_factory=set)
    # It told us itself that it stops.
    leaves: bool = False

    def enter(self, state: MemberState, now: float) -> None:
        """Go on to a state that TRANSITIONS allows."""
        assert state in TRANSITIONS[self.state], f"{self.state} does not lead to {state}"
        self.state = state
        if state is MemberState.DISPUTED:
            self.reprieve_s = now - self.since_s
        else:
            self.since_s = now
            self.reprieve_s = 0.0

    @property
    def is_suspected(self) -> bool:
        """Whether it will be dead soon unless it answers."""
        return self.state in (MemberState.SUSPECTED, MemberState.DISPUTED)

    @property
    def wants_vouching(self) -> bool:
        """Whether helpers decide what becomes of it."""
        return self.state in (MemberState.DOUBTED, MemberState.DISPUTED)

    def may_be_asked(self, now: float) -> bool:
        """Whether no probe of it is under way."""
        return self.asked_s is None or now - self.asked_s > DOUBT_S


@dataclass(slots=True)
class Grave:
    """A dead peer, for as long as it is remembered."""

    contact: Contact
    until_s: float
    incarnation: int
    has_left: bool
    # When it was last asked because others said that it lives: not again within DOUBT_S.
    asked_s: float = float("-inf")

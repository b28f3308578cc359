"""Whose a key is, as this peer knows, and how sure that is. State alone: gsg/churn/handover.py hands keys over.

    SETTLING   keys may be changing hands: each message is checked for keys that are another's by now
    SETTLED    what comes here is ours
    LEAVING    this peer is about to stop, and holds no key any more

A peer begins as SETTLING, as it knows of nobody before it has entered the overlay.
"""

from __future__ import annotations

import asyncio
from enum import Enum

import dht

from ..tuples.features import Interval, Key
from ..wire.messages import InsertCondition, NotHere
from .holders import UNSURE_S, Holders
from .rules import NOWHERE

SETTLING_S = UNSURE_S
"""How long after a peer was discovered its neighbours look for keys that are its own, and others may not know it yet."""


class Stage(Enum):
    """How sure it is whose keys are whose."""

    SETTLING = 1
    SETTLED = 2
    LEAVING = 3


NEXT = {
    Stage.SETTLING: {Stage.SETTLING, Stage.SETTLED, Stage.LEAVING},
    Stage.SETTLED: {Stage.SETTLING, Stage.LEAVING},
    Stage.LEAVING: {Stage.LEAVING},
}
"""Time settles, a peer that comes or goes unsettles, and who leaves does not come back."""


class Responsibility:
    """What one peer, at ``own``, is responsible for."""

    def __init__(self, own: dht.Contact, holders: Holders) -> None:
        self._own = own.id
        self._holders = holders
        self._stage = Stage.SETTLING
        self._settled_at_s = 0.0
        self._new_until_s = asyncio.get_running_loop().time() + SETTLING_S

    # --- how sure it is -------------------------------------------------------------------------------------------------------

    @property
    def stage(self) -> Stage:
        """The stage at this moment."""
        if self._stage is Stage.SETTLING and self._holders.has_entered and asyncio.get_running_loop().time() >= self._settled_at_s:
            self._enter_stage(Stage.SETTLED)
        return self._stage

    def _enter_stage(self, stage: Stage) -> None:
        if stage in NEXT[self._stage]:
            self._stage = stage

    @property
    def settling(self) -> bool:
        """Whether messages are to be checked for keys that are another's by now: so it is while this peer leaves, too."""
        return self.stage is not Stage.SETTLED

    @property
    def leaving(self) -> bool:
        """Whether this peer is about to stop: it takes nothing from others any more."""
        return self._stage is Stage.LEAVING

    @property
    def is_new(self) -> bool:
        """Whether this peer has been here so short a time that its keys' templates may not have followed yet."""
        return asyncio.get_running_loop().time() < self._new_until_s

    def unsettle(self, seconds: float) -> None:
        """Keys may change hands, for at least so long from now."""
        self._settled_at_s = max(self._settled_at_s, asyncio.get_running_loop().time() + seconds)
        self._enter_stage(Stage.SETTLING)

    def begin_anew(self) -> None:
        """This peer is like one that has just come: it was stopped for a while, and others may hold its keys by now."""
        self._new_until_s = asyncio.get_running_loop().time() + SETTLING_S
        self.unsettle(SETTLING_S)

    def leave(self) -> None:
        """This peer is about to stop."""
        self._enter_stage(Stage.LEAVING)

    def was_settling_within(self, seconds: float) -> bool:
        """Whether keys may have changed hands so short a time ago, or may still."""
        return self.leaving or asyncio.get_running_loop().time() < self._settled_at_s + seconds

    # --- whose a key is -------------------------------------------------------------------------------------------------------

    def other_primary(self, key: Key) -> dht.Contact | None:
        """The primary of a key as far as known, if it is not this peer."""
        if self.leaving:
            return next(iter(self._holders.without_us(key)), None)
        holder = self._holders.primary_now(key)
        return None if holder is None or holder.id == self._own else holder

    def holders_of(self, key: Key) -> tuple[dht.Contact, ...]:
        """All holders of a key as far as known, the primary first; not this peer where it is about to stop."""
        return self._holders.without_us(key) if self.leaving else self._holders.holders_of(key)

    def is_ours(self, key: Key) -> bool:
        """Whether this peer is among the holders of a key."""
        return any(holder.id == self._own for holder in self._holders.holders_of(key))

    def not_here(self, message: InsertCondition) -> NotHere | None:
        """The answer to a condition whose key is another's by now; None when it is ours, or for the rendezvous to refuse."""
        pattern = message.template.pattern
        if message.anchor == NOWHERE or not 0 <= message.anchor < len(pattern):
            return None
        constant = pattern[message.anchor] if message.interval is None else Interval(message.interval)
        holder = None if constant is None else self.other_primary((len(pattern), message.anchor, constant))
        return None if holder is None else NotHere(message.request, holder, self.leaving)

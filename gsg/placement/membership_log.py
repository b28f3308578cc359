"""What the log is told of peers that come and go, and of what that means for keys: calmly, a crowd is one line.

    comes or goes ──TOLD_AFTER_S──> a line for all that came, and one for all that went, unless they are back by then
                                    └──REST_S──> the next lines, for all of that time

``gsg peer`` logs these lines by default, whatever its level (gsg/cli/peer/log_output.py).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import dht

from ..wire.exchange import named, show
from ..wire.status_messages import MembershipChange

NAME = "gsg.membership"
"""By which whoever sets up logging finds it."""
log = logging.getLogger(NAME)

GONE = 1_000
"""Peers that went of which is remembered that they did, to say that they are back."""
UNTOLD = 10_000
"""Peers that came or went and are to be told of; beyond, one is passed over, and the number of those that are known says so."""
TOLD_AFTER_S = 2.0
"""The log is told so long after a peer came or went, since peers that are started or stopped together are noticed one by one."""
JOINING_S = 10.0
"""How long a peer is busy with joining, at most."""
REST_S = 5.0
"""How long after a line the next one may come, at the earliest."""
SHOWN = 3
"""Peers of one line that are named."""
NOTED = 100
"""Changes that are noted for those who ask; beyond, the oldest goes."""


@dataclass(slots=True, eq=False)
class Change:
    """A peer came or went; ``what`` says how, and is the same for those that are told together."""

    peer: bytes
    who: str
    what: str
    many: str
    """What is said of several."""
    level: int
    how: str = ""
    at_s: float = 0.0
    told: bool = False


def line_of(changes: Sequence[Change]) -> str:
    """What is said of peers to which the same has happened."""
    [first, *others] = changes
    how = [f"{each.who} ({each.how})" if each.how else each.who for each in changes[:SHOWN]]
    if not others:
        return f"{first.who} {first.what}{f': {first.how}' if first.how else ''}"
    more = f" and {len(changes) - SHOWN} more" if len(changes) > SHOWN else ""
    return f"{len(changes)} peers {first.many}: {', '.join(how)}{more}"


class MembershipLog:
    """That of one peer. ``known()`` says how many peers it knows, itself included, and ``share()`` for which share of all keys it
    is responsible, which takes a moment and is not asked where nobody reads it; ``clock()`` the seconds since 1970.

    What the log passes over, as who was away for a moment, is noted in ``changes`` as well.
    """

    def __init__(self, known: Callable[[], int], share: Callable[[], float], clock: Callable[[], float]) -> None:
        self._known = known
        self._share = share
        self._clock = clock
        self.changes: deque[MembershipChange] = deque(maxlen=NOTED)
        """The last ones, the oldest first."""
        self._last_share: float | None = None
        self._gone: dict[bytes, Change] = {}
        """Peers that went and are not back, by id. Limit: GONE; the oldest is forgotten."""
        self._untold: dict[bytes, Change] = {}
        """Limit: UNTOLD."""
        self._timer: asyncio.TimerHandle | None = None
        self._rests_until_s = float("-inf")
        self._stopped = False

    def note_came(self, contact: dht.Contact) -> None:
        """A peer is there that was not known, or at another address, or in another life."""
        went = self._gone.pop(contact.id, None)
        if went is None:
            self._note(contact.id, show(contact), "came", "it answers")
            self._tell_later(Change(contact.id, named(contact), "has come", "have come", logging.INFO))
            return
        self._note(contact.id, show(contact), "back", f"it answers again, and was gone: {went.how}")
        if went.told:
            self._tell_later(Change(contact.id, named(contact), "is back", "are back", went.level))
        else:
            self._untold.pop(contact.id, None)

    def note_suspected(self, contact: dht.Contact, is_suspected: bool) -> None:
        """A peer may be dead, or lives after all. The log is told when that is sure. A suspicion of one that came JOINING_S before
        at most is, when it is over, as if it had not been."""
        if is_suspected:
            self._note(contact.id, show(contact), "suspected", "it answers neither this peer nor others that were asked to try")
            return
        match [change for change in self.changes if change.peer == contact.id][-2:]:
            case [came, suspected] if (came.what, suspected.what) == ("came", "suspected"):
                if suspected.at_s - came.at_s < JOINING_S:
                    self.changes.remove(suspected)
                    return
        self._note(contact.id, show(contact), "back", "it answers after all")

    def note_gone(self, peer: bytes, who: str, how: str, *, level: int, address: str = "") -> None:
        """A peer went. It is told of once, by whatever that was noticed first."""
        if peer in self._gone:
            return
        self._note(peer, address, "went", how)
        if len(self._gone) >= GONE:
            del self._gone[next(iter(self._gone))]
        gone = self._gone[peer] = Change(peer, who, "is gone", "are gone", level, how, asyncio.get_running_loop().time())
        self._tell_later(gone)

    def gone_at_s(self, peer: bytes) -> float | None:
        """When a peer went that is not back."""
        gone = self._gone.get(peer)
        return None if gone is None else gone.at_s

    def stop(self) -> None:
        """Say nothing more of others."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _note(self, peer: bytes, address: str, what: str, why: str) -> None:
        if not self._stopped:
            self.changes.append(MembershipChange(self._clock(), peer, address, what, why))

    def _tell_later(self, change: Change) -> None:
        if self._stopped or (len(self._untold) >= UNTOLD and change.peer not in self._untold):
            return
        self._untold[change.peer] = change
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(loop.time() + TOLD_AFTER_S, self._rests_until_s), self._tell)

    def _tell(self) -> None:
        self._timer = None
        untold, self._untold = list(self._untold.values()), {}
        alike: dict[tuple[str, int], list[Change]] = {}
        for change in untold:
            change.told = True
            alike.setdefault((change.what, change.level), []).append(change)
        alike = {(what, level): changes for (what, level), changes in alike.items() if log.isEnabledFor(level)}
        if not alike:
            return
        self._rests_until_s = asyncio.get_running_loop().time() + REST_S
        meaning = self._meaning()
        for (_, level), changes in alike.items():
            extra = {"peer": changes[0].peer.hex()} if len(changes) == 1 else {}
            log.log(level, "%s; %s", line_of(changes), meaning, extra=extra)

    def _meaning(self) -> str:
        """How many peers there are, and what this one has of the keys."""
        count = self._known()
        known = "this peer knows of no other" if count < 2 else f"{count} peers are known, this one included"
        if not log.isEnabledFor(logging.INFO):
            return known
        before, self._last_share = self._last_share, self._share()
        was = "" if before is None else f", and was for {before:.1%}"
        return f"{known}; this one is responsible for about {self._last_share:.1%} of all keys{was}"

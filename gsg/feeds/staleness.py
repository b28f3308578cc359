"""Rows that may be out of date, as a feed that makes them could not be set up anew: readers are told, while it is tried on.

a feed is to be replaced ──fails ATTEMPTS times──> stale: counted, logged, told to whoever uses the memory
     └──it stands──> forgotten                          └──it stands, or nobody wants it any more──> forgotten
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import dht

from ..errors import Elsewhere, GsgError, PeerUnreachable, Stale
from ..languages.notation import alpha_text
from ..placement.rules import NOWHERE
from ..tuples.features import alpha_of
from ..wire.exchange import show
from .alpha_memory import AlphaMemory

log = logging.getLogger(__name__)

ATTEMPTS = 5
"""How often a feed is tried to be set up before whoever asks for it is told that it cannot be."""
RETRY_S = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Pauses between attempts to restore a broken feed; the last repeats until it works or nobody wants the feed any more."""
REMINDED = 60
"""After so many attempts more the log says it once more: about every five minutes."""


class Staleness:
    """The memories of one peer whose facts may be out of date. ``on_stale(memory, why)`` hears of each feed, once."""

    def __init__(self, on_stale: Callable[[AlphaMemory, Stale], None]) -> None:
        self._on_stale = on_stale
        self._of: dict[AlphaMemory, dict[bytes, Stale]] = {}
        """By memory, and by holder of the feed to be replaced. Bounded by the feeds; an entry goes when that is tried no more."""

    async def until_set_up(
        self,
        memory: AlphaMemory,
        holder: dht.Contact,
        set_up: Callable[[int], Awaitable[GsgError | None]],
        is_wanted: Callable[[], bool],
    ) -> bool:
        """Set up a feed of a memory in the place of the one from this holder; False where nobody wants it any more.

        ``set_up(attempt)``, which counts from 0, returns why an attempt has failed that another one is to follow, or raises.
        """
        attempt = 0
        try:
            while is_wanted():
                problem = await set_up(attempt)
                if problem is None:
                    self.note_success(memory, holder)
                    return True
                self.note_failure(memory, holder, attempt, problem)
                await asyncio.sleep(RETRY_S[min(attempt, len(RETRY_S) - 1)])
                attempt += 1
            return False
        finally:
            self._forget(memory, holder)

    def note_failure(self, memory: AlphaMemory, holder: dht.Contact, attempt: int, problem: GsgError) -> None:
        """An attempt to replace a memory's feed from this holder, the so many-eth from 0, has failed."""
        what, tried = alpha_text(alpha_of(memory.template)), attempt + 1
        why = nobody_takes(memory, problem) if isinstance(problem, Elsewhere) else problem
        if tried < ATTEMPTS:
            # A peer that is lost breaks many feeds at once, and most stand again after the first attempts: no news then.
            log.info("no feed of %s yet: %s", what, why)
            return
        where = "at" if memory.anchor == NOWHERE else "in the place of the one from"
        stale = Stale(
            f"rows may be out of date: no feed of {what} could be set up {where} {show(holder)} in {tried} attempts: {why}; "
            f"this peer tries on every {RETRY_S[-1]:g} s, and rows are right again when it has worked: see to what is said there, "
            "or subscribe at another peer"
        )
        log.log(logging.INFO if (tried - ATTEMPTS) % REMINDED else logging.WARNING, "%s", stale)
        known = self._of.setdefault(memory, {})
        is_news = holder.id not in known
        known[holder.id] = stale
        if is_news:
            self._on_stale(memory, stale)

    def note_success(self, memory: AlphaMemory, holder: dht.Contact) -> None:
        """A feed stands in the place of the one from this holder."""
        if holder.id in self._of.get(memory, ()):
            log.info("there is a feed of %s again", alpha_text(alpha_of(memory.template)))
        self._forget(memory, holder)

    def _forget(self, memory: AlphaMemory, holder: dht.Contact) -> None:
        """It is not tried any more to replace a memory's feed from this holder."""
        known = self._of.get(memory, {})
        if known.pop(holder.id, None) is not None and not known:
            del self._of[memory]

    def reason_for(self, memory: AlphaMemory) -> Stale | None:
        """Why the facts of a memory may be out of date, if they may."""
        return next(iter(self._of.get(memory, {}).values()), None)

    def __len__(self) -> int:
        """Feeds that are missing now."""
        return sum(map(len, self._of.values()))


def nobody_takes(memory: AlphaMemory, error: Elsewhere) -> PeerUnreachable:
    """Each peer that was asked for a memory's feed has named another."""
    return PeerUnreachable(
        f"no peer takes {alpha_text(alpha_of(memory.template))}: {error}; peers do not agree on who holds it, as while many come "
        "and go, where their lists of --allow-peers differ, or where two have one --data directory: try again in a moment, then "
        "look at their logs"
    )

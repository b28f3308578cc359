"""Facts under keys all of whose holders died at once: gone there, they are brought back from their other keys.

A fact of three terms lies under three keys, each with holders of its own, so it is rarely gone under all of them. Where as many
peers as hold a key died of late, all closer to it than any that lives and has not just come, nothing is left of what lay under it.
Whoever looks after one of its facts under another key then tells those who hold it now, with the stamp that the fact has. A key
that was not lost after all is told in vain: the later stamp counts, as ever (:mod:`gsg.storage.facts_by_key`).

Of peers that died far away it hears by notices (:mod:`gsg.churn.death_notices`), and holders that it does not know are looked up,
of keys that may have been lost as far as it knows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, KeysView, Sequence
from itertools import islice
from typing import TypeAlias

import dht

from ..errors import PeerUnreachable
from ..placement.holders import Holders
from ..placement.rules import REPLICAS
from ..rendezvous.rendezvous import Rendezvous
from ..tuples.features import Key, key
from ..tuples.terms import Tuple

log = logging.getLogger(__name__)

REMEMBERED_S = 120.0
"""How long a peer counts as one that died of late: many that die at one moment are found out one after the other."""
MAX_DEAD = 1_000
"""Peers that died of late; a further one is passed over."""
NEW_S = 30.0
"""How long a peer that came may not have what it holds: it has not, where those died who would have told it."""
FACTS_PER_TURN = 200
"""Facts that are looked at before others get their turn: of each, holders of its keys may have to be found."""

Restored: TypeAlias = "dict[dht.Contact, list[tuple[Tuple, bytes, int]]]"
"""For each holder: facts, the positions of those of their keys that were lost, and their stamps."""
Lost: TypeAlias = dict[Key, tuple[dht.Contact, ...]]
"""Keys that were lost, and who holds each of them now."""


class Restoring:
    """What one peer can bring back."""

    def __init__(self, holders: Holders, rendezvous: Rendezvous) -> None:
        self._holders = holders
        self._held = rendezvous.held
        # Limit: MAX_DEAD, the one that died first in front.
        self._died_s: dict[bytes, float] = {}
        # Limit: MAX_DEAD too; a further one counts as one that has what it holds.
        self._came_s: dict[bytes, float] = {}
        self._points: list[int] = []
        # Facts, of all keys together: most keys have few.
        self._looked_at = 0
        # Keys that were found lost or not, with these dead. Bounded by the keys of the facts here.
        self._lost: Lost = {}
        self.unsure = False
        """Whether it could not be found out of some key, since :meth:`begin`: it counts as one that was not until the next time."""
        # Of each key of ours those that its facts were brought back under, and who was told, as they may die too. Bounded likewise.
        self._done: dict[Key, Lost] = {}

    def died(self, peer: bytes, now: float) -> None:
        """A peer is dead."""
        if len(self._died_s) < MAX_DEAD:
            self._died_s.setdefault(peer, now)

    def came(self, peer: bytes, now: float) -> None:
        """A peer is there, with whatever it had."""
        self._died_s.pop(peer, None)
        if len(self._came_s) < MAX_DEAD or peer in self._came_s:
            self._came_s[peer] = now

    def begin(self, now: float) -> bool:
        """All keys are about to be looked through, with the dead of this moment: whether any may have been lost."""
        for peer in [peer for peer, died_s in self._died_s.items() if now - died_s > REMEMBERED_S]:
            del self._died_s[peer]
        for peer in [peer for peer, came_s in self._came_s.items() if now - came_s > NEW_S]:
            del self._came_s[peer]
        self._points = [int.from_bytes(peer, "big") for peer in self._died_s]
        self._lost.clear()
        self.unsure = False
        if len(self._points) < REPLICAS:
            self._done.clear()
        return len(self._points) >= REPLICAS

    async def add(self, place: Key, restored: Restored) -> Lost:
        """What is to be brought back of the facts under a key that this peer looks after; the keys that were lost."""
        arity, own_position, _ = place
        done = self._done.get(place, _NOTHING)
        found: Lost = {}
        for fact, stamp in list(self._held.under(place).items()):
            self._looked_at += 1
            if self._looked_at % FACTS_PER_TURN == 0:
                await asyncio.sleep(0)
            for position, constant in enumerate(fact):
                other = (arity, position, constant)
                if position != own_position:
                    told = done.get(other, ())
                    for holder in await self._to_tell(other):
                        if holder not in told:
                            restored.setdefault(holder, []).append((fact, bytes((position,)), stamp))
                            found[other] = self._lost[other]
        return found

    def finished(self, found: dict[Key, Lost]) -> None:
        """What was found has been brought back, and those who hold it now are not to be told again."""
        for place, others in found.items():
            self._done.setdefault(place, {}).update(others)

    def dead(self) -> KeysView[bytes]:
        """Who died of late."""
        return self._died_s.keys()

    async def _to_tell(self, other: Key) -> tuple[dht.Contact, ...]:
        """Who holds a key that was lost; nobody for one that was not."""
        holders = self._lost.get(other)
        if holders is None:
            found = await self._lost_to(other)
            self.unsure |= found is None
            holders = self._lost[other] = found or ()
        return holders

    async def _lost_to(self, other: Key) -> tuple[dht.Contact, ...] | None:
        """The same, by asking; None where nobody can say."""
        point = key(*other)
        if not was_lost(point, self._closest_of_old(self._holders.closest_known(other)), self._points):
            return ()
        try:
            await self._holders.look_up([other])
        except PeerUnreachable as error:
            log.info("facts under %s are not brought back yet: %s", other, error)
            return None
        holders = self._holders.all_of(other)
        if not holders:
            # What was just found is forgotten again where the lookup has shown that something else was wrong.
            return None
        return holders if was_lost(point, self._closest_of_old(holders), self._points) else ()

    def _closest_of_old(self, holders: Sequence[dht.Contact]) -> bytes:
        """The first that has not come of late; where all have, the last, as if the others were not there."""
        return next((holder.id for holder in holders if holder.id not in self._came_s), holders[-1].id)


def was_lost(point: bytes, closest: bytes, dead: Iterable[int]) -> bool:
    """Whether all holders of a point are among the dead, when this peer is the closest of those that live and may have been one."""
    distance, at = dht.distance(closest, point), int.from_bytes(point, "big")
    closer = (peer for peer in dead if peer ^ at < distance)
    return len(list(islice(closer, REPLICAS))) == REPLICAS


_NOTHING: Lost = {}

"""Who is sent which keys, and whom their feeds follow, when peers came or died: decided key by key, without I/O.

Of those that have a key the closest sends it to those that do not, so that each is told once (:mod:`gsg.churn.handover`).
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import dht

from ..placement.rules import REPLICAS
from ..tuples.features import Key


class Plan:
    """What one look through all keys finds to do."""

    def __init__(self) -> None:
        self.copies: dict[dht.Contact, list[Key]] = {}
        """Which newcomers get what is known of which keys: at once, as they may be asked for it already."""
        self.doubtful: dict[dht.Contact, list[Key]] = {}
        """Who gets what is known of which keys unless it has the same already, as it mostly does: it is asked first."""
        self.primaries: dict[dht.Contact, list[Key]] = {}
        """Whom the feeds of which keys are to follow."""
        self.others: dict[Key, set[bytes]] = {}
        """Keys that we hold no more, and whoever has to have them before."""

    def decide(
        self,
        key: Key,
        holders: Sequence[dht.Contact],
        own: dht.Contact,
        newcomers: Set[bytes],
        dead: Set[bytes],
        *,
        place: bytes,
        posted: bool,
    ) -> None:
        """Decide for one key, that lies at a place, with these holders, closest first; ``posted``: it has templates."""
        ids = [holder.id for holder in holders]
        new = gained(place, ids, newcomers, dead)
        ours = own.id in ids
        # Of those that have it the closest sends; and we, before we let go of it. Where all may have come by it of late, each sends
        # what it has.
        senders = [holder for holder in ids if holder not in new]
        others_died = len(dead) > (own.id in dead)
        if not ours or senders[:1] == [own.id] or not senders:
            # Nothing is dropped here that not all of them have: we may have held it in the place of one that took no changes, and
            # while peers die one of them may be dead, and we the next.
            targets = new if ours or (new and not others_died) else set(ids)
            for holder in holders:
                if holder.id in targets and holder.id != own.id:
                    comes = holder.id in newcomers and senders and (ours or not others_died)
                    (self.copies if comes else self.doubtful).setdefault(holder, []).append(key)
            if not ours:
                self.others[key] = targets
        if ids[0] != own.id and (posted or not ours):
            self.primaries.setdefault(holders[0], []).append(key)


def gained(key: bytes, holders: Sequence[bytes], newcomers: Set[bytes], dead: Set[bytes]) -> set[bytes]:
    """Which of a key's holders, closest first, may have been none before these peers came and those died.

    Those were holders that were among the closest while all of these lived, whatever the order in which they died. Newcomers count
    like the dead, since a peer that was a holder before one came may have let go of the key.
    """
    new = {holder for holder in holders if holder in newcomers}
    if dead:
        point = int.from_bytes(key, "big")
        distances = [int.from_bytes(holder, "big") ^ point for holder in holders]
        farthest = distances[-1]
        gone = [distance for peer in dead if (distance := int.from_bytes(peer, "big") ^ point) < farthest]
        if gone:
            closer = [number + sum(each < distance for each in gone) for number, distance in enumerate(distances)]
            new.update(holder for holder, others in zip(holders, closer, strict=True) if others >= REPLICAS)
    return new

"""Who is sent which keys, and whom their feeds follow, when peers came or died: decided key by key, without I/O.

Of those that have a key the closest sends it to those that do not, so that each is told once (:mod:`gsg.handover`).
"""

from __future__ import annotations

from collections.abc import Sequence

import dht

from . import features
from .features import Key
from .placement import REPLICAS


class Plan:
    """What one look through all keys finds to do."""

    def __init__(self) -> None:
        self.copies: dict[dht.Contact, list[Key]] = {}
        """Who gets what is known of which keys."""
        self.primaries: dict[dht.Contact, list[Key]] = {}
        """Whom the feeds of which keys are to follow."""
        self.others: dict[Key, set[bytes]] = {}
        """Keys that we hold no more, and whoever has to have them before."""

    def add(
        self,
        key: Key,
        holders: Sequence[dht.Contact],
        own: dht.Contact,
        newcomers: set[bytes],
        dead: set[bytes],
        *,
        posted: bool,
        leaving: bool,
    ) -> bool:
        """Decide for one key; ``posted``: it has templates. Whether it is this peer that sends what others lack."""
        if not holders:
            return False
        ids = [holder.id for holder in holders]
        new = gained(features.key(*key), ids, newcomers, dead, leaving=leaving and len(ids) == REPLICAS)
        ours = own.id in ids
        # Of those that have it the closest sends; and we, before we let go of it.
        senders = [holder for holder in ids if holder not in new]
        sends = not ours or senders[:1] == [own.id] or not senders
        if sends:
            # We may have held it in the place of one that took no changes: nothing is dropped here that not all of them have.
            targets = new or (set() if ours else set(ids))
            for holder in holders:
                if holder.id in targets and holder.id != own.id:
                    self.copies.setdefault(holder, []).append(key)
            if not ours:
                self.others[key] = targets
        if ids[0] != own.id and (posted or not ours):
            self.primaries.setdefault(holders[0], []).append(key)
        return sends


def gained(key: bytes, holders: Sequence[bytes], newcomers: set[bytes], dead: set[bytes], *, leaving: bool = False) -> set[bytes]:
    """Which of a key's holders, closest first, were none before these peers came and those died; ``leaving``: and we left."""
    new = {holder for holder in holders if holder in newcomers}
    if dead and len(holders) == REPLICAS:
        furthest = dht.distance(holders[-1], key)
        before = sum(dht.distance(peer, key) < furthest for peer in dead)
        kept = [holder for holder in holders if holder not in new]
        new.update(kept[len(kept) - before :] if before else ())
    if leaving:
        new.add(holders[-1])
    return new

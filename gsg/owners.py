"""Which peer is the rendezvous of a feature: the overlay's answer, remembered per feature."""

from __future__ import annotations

from collections.abc import Iterable

import dht

from .errors import PeerUnreachable
from .features import key
from .model import Term

REMEMBERED = 500_000
"""Features whose owner is remembered; at the limit all are forgotten, and asked again as they come (a local computation mostly)."""


class Owners:
    """Owners by feature. Everything remembered is forgotten when a peer comes or goes."""

    def __init__(self, overlay: dht.Overlay) -> None:
        self._overlay = overlay
        self._known: dict[tuple[int, int, Term], dht.Contact] = {}

    def forget(self) -> None:
        """Peers have come or gone."""
        self._known.clear()

    def lost(self, peer: bytes) -> None:
        """A peer does not answer: nobody is sent there until it is heard of again."""
        self._overlay.lost(peer)
        self._known.clear()

    async def of(self, features: Iterable[tuple[int, int, Term]]) -> dict[tuple[int, int, Term], dht.Contact]:
        """The owner of each feature. Raises PeerUnreachable when the overlay cannot say."""
        known = self._known
        found = {}
        for feature in features:
            owner = known.get(feature)
            if owner is None:
                owner = await self._look_up(feature)
                if len(known) >= REMEMBERED:
                    known.clear()
                known[feature] = owner
            found[feature] = owner
        return found

    async def _look_up(self, feature: tuple[int, int, Term]) -> dht.Contact:
        name = key(*feature)
        owners = self._overlay.owners_now(name)
        if not owners:
            try:
                owners = await self._overlay.owners(name)
            except dht.DhtError as error:
                raise PeerUnreachable(str(error)) from None
        return owners[0]

    def shares(self, samples: int) -> dict[bytes, float]:
        """The fraction of all keys that each peer is responsible for, estimated from so many keys spread evenly by hash."""
        counts: dict[bytes, int] = {}
        for number in range(samples):
            owners = self._overlay.owners_now(key(1, 0, number))
            if owners:
                counts[owners[0].id] = counts.get(owners[0].id, 0) + 1
        return {peer: count / samples for peer, count in counts.items()}

    def everybody(self) -> list[dht.Contact]:
        """All peers that this one knows of, itself included."""
        return [self._overlay.contact, *self._overlay.contacts()]

"""Who holds a key, by the definition, and who has facts under it."""

from __future__ import annotations

from collections.abc import Sequence

from dht import distance
from gsg import Peer
from gsg.placement.holders import REPLICAS
from gsg.tuples.features import Key, key


def holders(peers: Sequence[Peer], place: Key, count: int = REPLICAS) -> list[Peer]:
    """The closest of these peers, the primary first."""
    return sorted(peers, key=lambda peer: distance(peer.contact.id, key(*place)))[:count]


def where(peers: Sequence[Peer], place: Key) -> list[Peer]:
    """Its holders that have facts under it."""
    return [peer for peer in holders(peers, place) if place in peer._parts.rendezvous.held]

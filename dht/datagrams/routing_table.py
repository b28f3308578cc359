"""The routing table: Kademlia's buckets, from the ``kademlia`` package, with exact neighbours.

The package decides which bucket splits and who waits for a place. Added here: the contacts of all buckets kept beside them, so that
the closest to a point are exact, and the share of an address block in one bucket.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import islice

import kademlia.routing
from kademlia.node import Node

from ..identity.contacts import Contact
from ..identity.ids import PeerId, as_int
from .address_blocks import IN_BUCKET, block_of, limit_per_block


class RoutingTable(kademlia.routing.RoutingTable):  # type: ignore[misc]  # the package has no types
    """The contacts of one peer.

    Its limits: k contacts and 5 k replacements a bucket, of one address block IN_BUCKET times ``per_block`` together, and as many
    buckets as prefixes that it splits. ``on_doubtful`` hears of the oldest contact of a full bucket when a newer one wants its
    place.
    """

    def __init__(self, own: PeerId, k: int, per_block: int, on_doubtful: Callable[[Contact], Awaitable[object]]) -> None:
        super().__init__(self, k, Node(own))
        self._per_block = per_block
        self._on_doubtful = on_doubtful
        # The contacts of all buckets, and their points, kept beside them; None when the package has moved some by itself.
        self._all: dict[PeerId, Contact] | None = {}
        self._points: dict[int, Contact] = {}
        self._has_blocks = False

    def contacts(self) -> dict[PeerId, Contact]:
        """Every contact, those waiting for a place in a full bucket included. Not to be kept: it changes with the table."""
        if self._all is None:
            self._all = {
                node.id: Contact(node.id, node.ip, node.port)
                for bucket in self.buckets
                for nodes in (bucket.nodes, bucket.replacement_nodes)
                for node in nodes.values()
            }
            self._points = {as_int(peer): contact for peer, contact in self._all.items()}
            self._has_blocks = any(block_of(contact.host) is not None for contact in self._all.values())
        return self._all

    def insert(self, contact: Contact) -> bool:
        """Make a contact that answered its bucket's newest, or let it wait there; False when its address block has its share."""
        node = Node(contact.id, contact.host, contact.port)
        bucket = self.buckets[self.get_bucket_for(node)]
        held = bucket.nodes.get(contact.id)
        block = block_of(contact.host) if self._per_block else None
        if block is not None:
            others = (each for nodes in (bucket.nodes, bucket.replacement_nodes) for each in nodes.values())
            if sum(block_of(each.ip) == block and each.id != contact.id for each in others) >= IN_BUCKET * self._per_block:
                return False
        if held is None or (held.ip, held.port) != contact.address:
            bucket.remove_node(node)
        self.add_contact(node)
        known = self.contacts()
        if known.get(contact.id) != contact:
            known[contact.id] = self._points[as_int(contact.id)] = contact
            self._has_blocks = self._has_blocks or block_of(contact.host) is not None
            if len(known) != sum(len(each.nodes) + len(each.replacement_nodes) for each in self.buckets):
                # The one that waited the longest has gone for it.
                self._all = None
        return True

    def remove(self, peer: PeerId) -> None:
        """Take a contact out; the newest that waits takes its place."""
        self.remove_contact(Node(peer))
        if self._all is not None and self._all.pop(peer, None) is not None:
            del self._points[as_int(peer)]

    def get_bucket_for(self, node: Node) -> int:
        """The index of the bucket whose range holds the node. (The package's own is off by one at the upper end of a range.)"""
        return next(index for index, bucket in enumerate(self.buckets) if bucket.has_in_range(node))

    def call_ping(self, node: Node) -> Awaitable[object]:
        """The package asks whether the oldest contact of a full bucket lives; whoever gave ``on_doubtful`` owns the task."""
        return self._on_doubtful(Contact(node.id, node.ip, node.port))

    def nearest(self, target: bytes, k: int) -> list[Contact]:
        """The k known contacts closest to the target, closest first, of whatever blocks."""
        self.contacts()
        return [self._points[each] for each in sorted(self._points, key=as_int(target).__xor__)[:k]]

    def closest(self, target: bytes, k: int, *, besides: PeerId | None = None) -> list[Contact]:
        """The k known contacts closest to the target that count, closest first, without ``besides``."""
        self.contacts()
        points = self._points
        # The bound method compares without a call into Python; sorting the few hundred contacts of a table beats a heap.
        nearest = sorted(points, key=as_int(target).__xor__)
        if self._has_blocks and self._per_block:
            ours = (points[each] for each in nearest if points[each].id != besides)
            return list(islice(limit_per_block(ours, self._per_block), k))
        del nearest[k + 1 :]
        return [points[each] for each in nearest if points[each].id != besides][:k]

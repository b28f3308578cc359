"""Address blocks, so that whoever has many addresses of one block, or many ports of one address, is not many peers.

Ids cost little, so somebody may have twenty beside a key; addresses in different networks cost more (Douceur 2002, "The Sybil
Attack"). Of one block, an IPv4 /24 or an IPv6 /64, at most PER_BLOCK peers count in any answer to who is closest to a point, the
closest of them, so that all peers leave out the same. Loopback and private networks are exempt: whoever is there was let in.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from ..identity.contacts import Contact

log = logging.getLogger(__name__)

PER_BLOCK = 2
"""Peers of one block among those closest to a point: fewer than the three holders of a key."""

IN_BUCKET = 4
"""How many times as many may stand in one bucket of the routing table, and in the address book: each counts for other points."""

LATELY_S = 90.0
"""How long a peer that was passed over counts as living, in seconds: peers refresh every 30 s, so it answers again within that."""


@lru_cache(maxsize=4096)
def block_of(host: str) -> bytes | None:
    """The block of an IP literal; None for one that is exempt, and for a name."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_private or address.is_loopback or address.is_link_local:
        return None
    return address.packed[: 8 if isinstance(address, IPv6Address) else 3]


class BlockShares:
    """Counts peers by their block, the closest first; ``per_block`` is 0 for no limit."""

    def __init__(self, per_block: int) -> None:
        self._per_block = per_block
        self._counts: Counter[bytes] = Counter()

    def count_peer(self, host: str) -> bool:
        """Count one more peer at this address; whether it is within the share of its block."""
        block = block_of(host) if self._per_block else None
        if block is None:
            return True
        self._counts[block] += 1
        return self._counts[block] <= self._per_block


class PassedOver:
    """Living peers that are not among those known, as more of their block are."""

    def __init__(self, per_block: int) -> None:
        self._per_block = per_block
        self._last_s: float | None = None

    def report(self, contact: Contact, counts: Counter[str], now: float) -> None:
        """One answered: it is counted, and of the first it is logged what to do."""
        if self._last_s is None:
            log.warning(
                "%s is passed over, as are others: more than %d peers of its address block are known already; where all of them "
                "are yours, start all peers with --peers-per-block 0",
                contact,
                IN_BUCKET * self._per_block,
            )
        self._last_s = now
        counts["peers beyond their block's share"] += 1

    def lately(self, now: float) -> bool:
        """Whether any answered in the last LATELY_S."""
        return self._last_s is not None and now - self._last_s < LATELY_S


def limit_per_block(contacts: Iterable[Contact], per_block: int) -> Iterator[Contact]:
    """Those of the contacts, in their order, that are within the shares of their blocks."""
    shares = BlockShares(per_block)
    return (contact for contact in contacts if shares.count_peer(contact.host))

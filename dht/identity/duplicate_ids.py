"""Another process with our id, which is mostly a copy of our data directory: said in the log, as only people can mend it."""

from __future__ import annotations

import logging

from ..errors import Address, show
from .ids import PeerId

TWIN_S = 60.0
"""How often it is logged, in seconds: one may be met by each of its datagrams."""

log = logging.getLogger(__name__)


class Twins:
    """What one peer says of others with its id."""

    def __init__(self, own: PeerId) -> None:
        self._own = own
        self._told_s = float("-inf")

    def met(self, address: Address, now: float) -> None:
        """There is one at this address, or whoever listens there knows of one."""
        if now - self._told_s >= TWIN_S:
            self._told_s = now
            log.error(
                "peer %s runs twice: the other one is at %s, or the peer there has met it; some peers know this process, and some "
                "the other, so rows and facts are missing at both: stop one of them, and give each peer a --data directory of its "
                "own, since a copy of one is the same peer",
                self._own.hex()[:12],
                show(*address),
            )

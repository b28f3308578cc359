"""Another process with our id, which is mostly a copy of our data directory: said in the log, as only people can mend it."""

from __future__ import annotations

import logging

from ..errors import Address, show
from .ids import PeerId

LOG_EVERY_S = 60.0
"""How long nothing more is logged after a line, in seconds: each datagram of the other process reports it again."""

log = logging.getLogger(__name__)


class DuplicateIds:
    """Logs other processes with the id of this peer, one line in LOG_EVERY_S."""

    def __init__(self, own: PeerId) -> None:
        self._own = own
        self._logged_s = float("-inf")

    def report(self, address: Address, now: float) -> None:
        """Another process with our id is at this address, or whoever listens there knows of one."""
        if now - self._logged_s >= LOG_EVERY_S:
            self._logged_s = now
            log.error(
                "peer %s runs twice: the other one is at %s, or the peer there has met it; some peers know this process, and some "
                "the other, so rows and facts are missing at both: stop one of them, and give each peer a --data directory of its "
                "own, since a copy of one is the same peer",
                self._own.hex()[:12],
                show(*address),
            )

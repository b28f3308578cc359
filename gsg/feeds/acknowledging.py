"""Events that arrived are acknowledged, so that rendezvous know what is lost with a link (gsg/rendezvous/broken_links.py)."""

from __future__ import annotations

import asyncio
import contextlib

from ..errors import PeerUnreachable
from ..wire.exchange import PeerLink
from ..wire.messages import Arrived

ARRIVED_S = 0.1
"""How long an acknowledgement may wait for more to acknowledge."""
ARRIVED_MESSAGES = 64
"""So many messages are acknowledged at once."""


class Acknowledger:
    """Acknowledges the messages of events that one peer receives."""

    def __init__(self) -> None:
        self._received: dict[PeerLink, int] = {}
        """How many messages of events each link has brought. Bounded by the links, like the next."""
        self._acknowledged: dict[PeerLink, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        """One for all links, there while something is to be acknowledged, for ARRIVED_S at most; :meth:`stop` ends it."""

    def count_message(self, link: PeerLink) -> None:
        """A link has brought events: that is acknowledged, soon."""
        if not link.is_remote:
            return
        count = self._received[link] = self._received.get(link, 0) + 1
        if count - self._acknowledged.get(link, 0) >= ARRIVED_MESSAGES:
            self._acknowledge(link, count)
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(ARRIVED_S, self._acknowledge_all)

    def forget_link(self, link: PeerLink) -> None:
        """A link is gone."""
        self._received.pop(link, None)
        self._acknowledged.pop(link, None)

    def stop(self) -> None:
        """The peer stops."""
        if self._timer is not None:
            self._timer.cancel()

    def _acknowledge_all(self) -> None:
        self._timer = None
        for link, count in self._received.items():
            if count != self._acknowledged.get(link, 0):
                self._acknowledge(link, count)

    def _acknowledge(self, link: PeerLink, count: int) -> None:
        self._acknowledged[link] = count
        with contextlib.suppress(PeerUnreachable):  # its loss is about to be told
            link.send(Arrived(count))

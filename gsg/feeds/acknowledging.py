"""Events that arrived are acknowledged, so that rendezvous know what is lost with a link (gsg/rendezvous/broken_links.py)."""

from __future__ import annotations

import asyncio
import contextlib

from ..errors import PeerUnreachable
from ..wire.exchange import Channel
from ..wire.messages import Arrived

ARRIVED_S = 0.1
"""How long an acknowledgement may wait for more to acknowledge."""
ARRIVED_MESSAGES = 64
"""So many messages are acknowledged at once."""


class Arrivals:
    """Those of one peer."""

    def __init__(self) -> None:
        self._come: dict[Channel, int] = {}
        """How many messages of events each link has brought. Bounded by the links, like the next."""
        self._told: dict[Channel, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        """One for all links, there while something is to be acknowledged, for ARRIVED_S at most; :meth:`stop` ends it."""

    def came(self, channel: Channel) -> None:
        """A link has brought events."""
        if not channel.is_remote:
            return
        count = self._come[channel] = self._come.get(channel, 0) + 1
        if count - self._told.get(channel, 0) >= ARRIVED_MESSAGES:
            self._tell(channel, count)
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(ARRIVED_S, self._tell_all)

    def lost(self, channel: Channel) -> None:
        """A link is gone."""
        self._come.pop(channel, None)
        self._told.pop(channel, None)

    def stop(self) -> None:
        """The peer stops."""
        if self._timer is not None:
            self._timer.cancel()

    def _tell_all(self) -> None:
        self._timer = None
        for channel, count in self._come.items():
            if count != self._told.get(channel, 0):
                self._tell(channel, count)

    def _tell(self, channel: Channel, count: int) -> None:
        self._told[channel] = count
        with contextlib.suppress(PeerUnreachable):  # its loss is about to be told
            channel.send(Arrived(count))

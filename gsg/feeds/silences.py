"""How long a subscriber waits for snapshots: a link brings them one after the other, so it is the link that must not be silent."""

from __future__ import annotations

import asyncio

from dht.liveness.late_timers import late_s

from ..errors import PeerUnreachable
from ..wire.exchange import ANSWER_TIMEOUT_S, Channel, show


class Silences:
    """When each link last brought a part of a snapshot."""

    def __init__(self) -> None:
        self._heard_s: dict[Channel, float] = {}
        """Bounded by the links that somebody waits for, as it goes with the last who does."""
        self._waiting: dict[Channel, int] = {}
        """How many wait for each."""

    def heard(self, channel: Channel) -> None:
        """A part of a snapshot has come, whichever."""
        if channel in self._heard_s:
            self._heard_s[channel] = asyncio.get_running_loop().time()

    async def until(self, whole: asyncio.Future[None], channel: Channel) -> None:
        """Wait for a snapshot. Raises what ``whole`` does, and PeerUnreachable when none has come for ANSWER_TIMEOUT_S."""
        clock = asyncio.get_running_loop().time
        begun_s = clock()
        self._heard_s.setdefault(channel, begun_s)
        self._waiting[channel] = self._waiting.get(channel, 0) + 1
        try:
            while not whole.done():
                left_s = max(begun_s, self._heard_s[channel]) + ANSWER_TIMEOUT_S - clock()
                if left_s <= 0:
                    raise PeerUnreachable(f"{show(channel.contact)} stopped in the middle of a snapshot")
                due_s = clock() + left_s
                await asyncio.wait([whole], timeout=left_s)
                if late_s(due_s):
                    begun_s = clock()
            await whole
        finally:
            self._waiting[channel] -= 1
            if not self._waiting[channel]:
                del self._waiting[channel], self._heard_s[channel]

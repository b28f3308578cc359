"""Snapshots that are waited for, and feeds that are asked for a fresh one.

A link brings snapshots one after the other, so it is the link that must not be silent: a snapshot is waited for as long as parts of
any come by its link. A feed that gets none is set up anew at whoever is to feed it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from dht.liveness.late_timers import late_s

from ..background import StartTask
from ..errors import PeerUnreachable
from ..wire.exchange import ANSWER_TIMEOUT_S, PeerLink, show
from ..wire.messages import Resume
from .alpha_memory import Source
from .feed import FeedState
from .ordered_delivery import OrderedDelivery

log = logging.getLogger(__name__)


class Resync:
    """The snapshots of one peer. ``replace(source)`` sets a feed up anew at whoever is to feed it."""

    def __init__(self, order: OrderedDelivery, start_task: StartTask, replace: Callable[[Source], None]) -> None:
        self._order = order
        self._start_task = start_task
        self._replace = replace
        self._asked: dict[Source, asyncio.Future[None]] = {}
        """Done when the snapshot is whole, or nobody waits for it any more. Bounded by the feeds."""
        self._part_s: dict[PeerLink, float] = {}
        """When each link last brought a part of a snapshot. Bounded by the links that somebody waits for, as the next."""
        self._waiting: dict[PeerLink, int] = {}
        """How many wait for each."""

    def note_part(self, link: PeerLink) -> None:
        """A part of a snapshot has come by a link, whichever feed it is of."""
        if link in self._part_s:
            self._part_s[link] = asyncio.get_running_loop().time()

    async def until_whole(self, whole: asyncio.Future[None], link: PeerLink) -> None:
        """Wait for a snapshot. Raises what ``whole`` does, and PeerUnreachable when none has come for ANSWER_TIMEOUT_S."""
        clock = asyncio.get_running_loop().time
        begun_s = clock()
        self._part_s.setdefault(link, begun_s)
        self._waiting[link] = self._waiting.get(link, 0) + 1
        try:
            while not whole.done():
                left_s = max(begun_s, self._part_s[link]) + ANSWER_TIMEOUT_S - clock()
                if left_s <= 0:
                    raise PeerUnreachable(f"{show(link.contact)} stopped in the middle of a snapshot")
                due_s = clock() + left_s
                await asyncio.wait([whole], timeout=left_s)
                if late_s(due_s):
                    begun_s = clock()
            await whole
        finally:
            self._waiting[link] -= 1
            if not self._waiting[link]:
                del self._waiting[link], self._part_s[link]

    def ask_snapshot(self, source: Source) -> None:
        """Ask a feed's rendezvous for a snapshot, once more where it was asked already."""
        source.feed.state = FeedState.WAITING
        with contextlib.suppress(PeerUnreachable):  # a link that breaks ends the feed
            source.link.send(Resume(source.number))
        if source not in self._asked:
            whole = self._asked[source] = asyncio.get_running_loop().create_future()
            self._start_task(self._until_resumed(source, whole))

    def end_wait(self, source: Source) -> None:
        """The snapshot that a feed has asked for is whole, or the feed has ended."""
        whole = self._asked.pop(source, None)
        if whole is not None and not whole.done():
            whole.set_result(None)

    async def hear_out(self, source: Source) -> bool:
        """Wait until all is told that a feed's rendezvous has sent by now; False where that has to be waited for once more, as the
        link broke or a snapshot was asked for."""
        whole = self._asked.get(source)
        if whole is not None:
            await asyncio.wait([whole])
            return False
        return await self._order.hear_out(source.way) and source not in self._asked

    async def _until_resumed(self, source: Source, whole: asyncio.Future[None]) -> None:
        try:
            await self.until_whole(whole, source.link)
        except PeerUnreachable as error:
            # Its rendezvous may know nothing of the feed, or be unable to send what it has.
            log.warning("feed %d from %s is set up anew: %s", source.number, show(source.holder), error)
            self._asked.pop(source, None)
            self._replace(source)

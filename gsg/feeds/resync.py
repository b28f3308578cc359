"""Feeds that asked for a fresh snapshot, and what becomes of those that get none."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from ..background import StartTask
from ..errors import PeerUnreachable
from ..wire.exchange import show
from ..wire.messages import Resume
from .alpha_memories import Source
from .feed import FeedState
from .silences import Silences

log = logging.getLogger(__name__)


class Resuming:
    """Those of one peer. ``restore(source)`` sets a feed up anew at whoever is to feed it."""

    def __init__(self, silences: Silences, start_task: StartTask, restore: Callable[[Source], Awaitable[None]]) -> None:
        self._silences = silences
        self._start_task = start_task
        self._restore = restore
        self._asked: dict[Source, asyncio.Future[None]] = {}
        """Done when the snapshot is whole, or nobody waits for it any more. Bounded by the feeds."""

    def ask(self, source: Source) -> None:
        """Ask for a snapshot, once more where one was asked for already."""
        source.feed.state = FeedState.WAITING
        with contextlib.suppress(PeerUnreachable):  # a link that breaks ends the feed
            source.channel.send(Resume(source.number))
        if source not in self._asked:
            whole = self._asked[source] = asyncio.get_running_loop().create_future()
            self._start_task(self._wait(source, whole))

    def under_way(self, source: Source) -> asyncio.Future[None] | None:
        """Done when the snapshot that a feed has asked for is whole, or waited for no more; None where it has asked for none."""
        return self._asked.get(source)

    def end(self, source: Source) -> None:
        """The snapshot is whole, or the feed has ended."""
        whole = self._asked.pop(source, None)
        if whole is not None and not whole.done():
            whole.set_result(None)

    async def _wait(self, source: Source, whole: asyncio.Future[None]) -> None:
        try:
            await self._silences.until(whole, source.channel)
        except PeerUnreachable as error:
            # Its rendezvous may know nothing of the feed, or be unable to send what it has.
            log.warning("feed %d from %s is set up anew: %s", source.number, show(source.holder), error)
            self._asked.pop(source, None)
            if not source.following:
                source.follow()
                await self._restore(source)

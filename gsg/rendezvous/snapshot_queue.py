"""Snapshots leave a rendezvous at the pace of each link: one after the other, and none while the link takes no more.

    asked for ──link takes it, nobody before it──> begun ──last part sent──> released: its deltas follow
        └──────> in line ──its turn, link has room──> begun

All feeds of a link may ask at once, as after it broke. One in line keeps nothing: its snapshot is of the moment when it is begun.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import TypeAlias

from ..background import StartTask
from ..errors import GsgError, PeerUnreachable
from ..wire.exchange import PeerLink
from ..wire.messages import Snapshot
from .feed import Feed
from .rendezvous import Rendezvous

log = logging.getLogger(__name__)

Begun: TypeAlias = tuple[Feed, Iterator[Snapshot | None]]
"""A feed, and what is still to be sent of its snapshot."""


class SnapshotQueue:
    """The snapshots of one rendezvous.

    ``start_task`` runs a coroutine while the peer lives, ``flush`` sends what feeds have kept meanwhile.
    """

    def __init__(self, rendezvous: Rendezvous, start_task: StartTask, flush: Callable[[], None]) -> None:
        self._rendezvous = rendezvous
        self._start_task = start_task
        self._flush = flush
        self._turn = asyncio.Lock()
        """Held from one turn of the loop to the next, so that one slice is looked through in each. Bounded by the links."""
        self._lines: dict[PeerLink, dict[Feed, None]] = {}
        """Links with a snapshot under way, and the feeds whose turn comes after it. Bounded by the feeds; one task for each link,
        which ends with it."""

    def send_snapshot(self, link: PeerLink, feed: Feed) -> None:
        """Send what is stored for a feed, then let it speak: now, or when it is its turn. Raises PeerUnreachable."""
        line = self._lines.get(link)
        if line is not None or link.congested:
            feed.await_snapshot()
            if line is None:
                line = self._lines[link] = {}
                self._start_task(self._serve(link, line))
            line[feed] = None
            return
        parts = self._rendezvous.snapshot(feed)
        part = next(parts)
        if part is not None:
            link.send(part)
        if part is not None and part.last:
            self._rendezvous.release_feed(feed)
        else:
            line = self._lines[link] = {}
            self._start_task(self._serve(link, line, (feed, parts)))

    async def _serve(self, link: PeerLink, line: dict[Feed, None], begun: Begun | None = None) -> None:
        """Send the rest of a snapshot that is begun, then those in line."""
        try:
            if begun is not None:
                await self._send_rest(link, *begun)
            while line:
                feed = next(iter(line))
                del line[feed]
                await self._send(link, feed)
        finally:
            del self._lines[link]

    async def _send(self, link: PeerLink, feed: Feed) -> None:
        await link.drained()
        if self._rendezvous.conditions.feed(link, feed.number) is feed:
            await self._send_rest(link, feed, self._rendezvous.snapshot(feed))

    async def _send_rest(self, link: PeerLink, feed: Feed, parts: Iterator[Snapshot | None]) -> None:
        """One part, or slice, at a turn, so that a large one keeps nobody else waiting, and no faster than it is read."""
        now = feed.round
        try:
            while True:
                # Whatever else has filled the link in this moment: one part more each time that it was drained.
                await link.drained()
                async with self._turn:
                    await asyncio.sleep(0)
                if feed.round != now or self._rendezvous.conditions.feed(link, feed.number) is not feed:
                    return
                part = next(parts)
                if part is not None:
                    link.send(part)
                    if part.last:
                        break
        except PeerUnreachable:
            raise
        except GsgError as error:
            # What cannot be sent is missed by this feed alone.
            log.error("no snapshot of feed %d: %s", feed.number, error)
            return
        self._rendezvous.release_feed(feed)
        self._flush()

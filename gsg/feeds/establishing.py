"""A feed is set up: its condition is posted at a rendezvous, which feeds it, or names a head that does.

posted ──Done──> its snapshot comes ──whole──> kept
   └──ByHead──> posted at the head ──Done──> its snapshot comes by the head ──whole──> kept
                        └──refused, or not reached──> posted at the rendezvous again, without that head
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import dht

from ..errors import PeerUnreachable, Refused, RemoteError
from ..placement.holders import Holders
from ..rendezvous.fan_out.parts import REFUSALS
from ..wire.exchange import Exchange, FannedOut, show
from ..wire.messages import ByHead
from .alpha_memory import AlphaMemory, Source
from .by_heads.part_feeds import PartLinks, PartSource
from .feeding_links import BrokenFeeds, FeedingLinks
from .resync import Resync
from .standbys import Standbys

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Establishing:
    """Sets up the feeds of one peer."""

    holders: Holders
    exchange: Exchange
    sources: dict[int, Source]
    """All feeds, by number."""
    numbers: Iterator[int]
    links: FeedingLinks
    """Those by which rendezvous feed this peer."""
    parts: PartLinks
    """Those by which heads do."""
    broken: BrokenFeeds
    standbys: Standbys
    resync: Resync
    end_feed: Callable[[Source], None]

    async def feed_from(self, memory: AlphaMemory, holder: dht.Contact, anchor: int) -> None:
        """One more feed of a memory, until its first snapshot is whole. Raises PeerUnreachable, Refused or Elsewhere."""
        not_by: list[bytes] = []
        try:
            while not await self._is_fed_from(memory, holder, anchor, not_by):
                if len(not_by) > REFUSALS:
                    raise Refused(
                        f"{show(holder)} has named {len(not_by)} peers in its place, none of which feeds {memory.template!r:.200}"
                    )
        except PeerUnreachable as error:
            self.holders.failed(holder.id, error)
            raise

    async def _is_fed_from(self, memory: AlphaMemory, holder: dht.Contact, anchor: int, not_by: list[bytes]) -> bool:
        """Post once; False where the head that was named does not feed us, which ``not_by`` has then as well."""
        link = await self.exchange.link(holder)
        if not memory.users:
            # Whoever asked has gone meanwhile, and the template may have another memory by now.
            return True
        # The first feed has the memory's number: one number for both is one object less for each of very many.
        number = next(self.numbers) if memory.number in self.sources else memory.number
        by_heads = [one for one in memory.sources if isinstance(one, PartSource) and one.holder.id == holder.id]
        source = Source(memory, number, link)
        self._enter(source)
        try:
            await source.post(
                anchor,
                instead=self.standbys.feed_number_at(memory, holder.id),
                again=self.broken.numbers_at(memory, holder.id),
                came_to=max((one.came_to for one in by_heads), default=-1),
                not_by=not_by,
            )
            await self._until_whole(source)
            return True
        except FannedOut as fanned_out:
            by = fanned_out.by
        except BaseException:
            self.end_feed(source)
            raise
        try:
            if await self._is_fed_by_head(source, anchor, by):
                return True
            not_by.append(by.head.id)
            return False
        finally:
            self.end_feed(source)  # where another has its number by now, there is nothing to end

    def _enter(self, source: Source) -> None:
        """A feed is about to be asked for."""
        self.sources[source.number] = source
        if isinstance(source, PartSource):
            self.parts.add_feed(source)
        else:
            self.links.add_feed(source.link)
        source.memory.sources += (source,)

    async def _is_fed_by_head(self, asked: Source, anchor: int, by: ByHead) -> bool:
        """A head is to feed a memory in the place of its rendezvous, which was asked: whether it does.

        Raises as :meth:`feed_from`.
        """
        try:
            link = await self.exchange.link(by.head)
        except PeerUnreachable:
            return False
        memory, loading = asked.memory, asked.loading
        if loading is not None and loading.done():
            await loading  # the link of the rendezvous broke meanwhile, or it has moved
        if self.sources.get(asked.number) is not asked:
            return True  # nobody wants it any more
        source = PartSource(memory, asked.number, link, asked.link, by.position - 1)
        memory.sources = memory.other_sources(asked)
        self.links.remove_feed(asked.link)
        self._enter(source)
        try:
            await self._post_at_head(source, anchor, by.sequence)
            await self._until_whole(source)
        except (PeerUnreachable, Refused) as error:
            log.info("%s does not pass on what %s feeds: %s", show(by.head), show(source.holder), error)
            self.end_feed(source)
            return False
        except BaseException:
            self.end_feed(source)
            raise
        return True

    async def _post_at_head(self, source: PartSource, anchor: int, sequence: int) -> None:
        """Raises PeerUnreachable, or Refused for whatever else a head answers: only its rendezvous may name another peer."""
        try:
            await source.post(anchor, of=source.holder.id, came_to=source.came_to, sequence=sequence)
        except PeerUnreachable:
            raise
        except RemoteError as error:
            raise Refused(str(error)) from None

    async def _until_whole(self, source: Source) -> None:
        loading = source.loading
        if loading is None:
            return
        if source.memory.events_only:
            # There is nothing stored to wait for; the link may have broken all the same.
            if loading.done():
                await loading
            source.end_loading()
            return
        await self.resync.until_whole(loading, source.link)

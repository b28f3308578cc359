"""A feed that is of no use any more gives way to one at whoever is the rendezvous by then.

    its link broke, its rendezvous moved, or no snapshot comes ──posted again──> beside it ──whole, heard out──> it ends
                                                                   └──it fails──> again after RETRY_S (gsg/feeds/staleness.py)

Until its snapshot is whole the new feed runs beside the old one: a fact counts once however many feeds have it, so what readers see
is the difference. The snapshot may be older than what the old one has told meanwhile, so of that its word counts until the other
rendezvous is heard out. From when that one is asked the old one is not listened to: what it told then might not be part of the
answer, and would go with it and come back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping

import dht

from ..errors import Elsewhere, GsgError
from ..placement.holders import Holders
from ..placement.rules import NOWHERE
from ..wire.exchange import ANSWER_TIMEOUT_S, show
from .alpha_memories import Memory, Source
from .feed import Differences
from .in_order import InOrder
from .resync import Resuming
from .staleness import RETRY_S, Staleness
from .standbys import Standbys
from .unanchored import Everywhere

log = logging.getLogger(__name__)


class Replacing:
    """That of one peer, whose feeds are ``sources``.

    ``post(memory)`` sets up a feed at the rendezvous of now, ``forget`` ends one, ``tell(memory, differences)`` hears of changes.
    """

    def __init__(
        self,
        holders: Holders,
        sources: Mapping[int, Source],
        inorder: InOrder,
        resuming: Resuming,
        standbys: Standbys,
        staleness: Staleness,
        everywhere: Everywhere,
        *,
        post: Callable[[Memory], Coroutine[None, None, None]],
        forget: Callable[[Source], None],
        tell: Callable[[Memory, Differences], None],
    ) -> None:
        self._holders = holders
        self._sources = sources
        self._inorder = inorder
        self._resuming = resuming
        self._standbys = standbys
        self._staleness = staleness
        self._everywhere = everywhere
        self._post = post
        self._forget = forget
        self._tell = tell
        self.retired: set[Source] = set()
        """Feeds that are not listened to any more, while those in their place are heard out. Bounded by the feeds."""

    async def follow(self, source: Source, to: dht.Contact) -> None:
        """The rendezvous has moved: set up a feed there beside the old one, then end that."""
        await self._holders.wait_to_meet(to)
        await self.replace(source)

    def replace(self, source: Source) -> Coroutine[None, None, None]:
        """Replace a feed, for as long as somebody wants it; the old one goes when the new one is whole."""
        return self._everywhere.again(source) if source.memory.anchor == NOWHERE else self._post_again(source)

    async def _post_again(self, source: Source) -> None:
        if await self._until_posted(source):
            await self.hand_over(source)
            self._standbys.look_at(source.memory)

    async def _until_posted(self, source: Source) -> bool:
        """Set up a feed in the place of one; False where nobody wants it any more."""
        memory, holder = source.memory, source.holder
        attempt = 0
        try:
            while memory.users and self._sources.get(source.number) is source:
                try:
                    await self._post(memory)
                except GsgError as error:
                    self._staleness.failed(memory, holder, attempt, error)
                    if isinstance(error, Elsewhere):
                        await self._holders.wait_to_meet(error.contact, attempt)
                else:
                    self._staleness.stands(memory, holder)
                    return True
                await asyncio.sleep(RETRY_S[min(attempt, len(RETRY_S) - 1)])
                attempt += 1
            return False
        finally:
            self._staleness.forget(memory, holder)

    async def hand_over(self, source: Source) -> None:
        """The feeds that take the place of one are whole: it ends."""
        if self._sources.get(source.number) is not source:
            return  # nobody uses the memory any more
        self._tell(source.memory, source.memory.yields(source))
        if source.memory.contested(source):
            self.retired.add(source)
            try:
                async with asyncio.timeout(ANSWER_TIMEOUT_S):
                    await self._hear_out(source)
            except TimeoutError:
                log.info(
                    "%s has not said within %g s what it holds: what %s has told lately goes with it",
                    *(source.memory.template, ANSWER_TIMEOUT_S, show(source.holder)),
                )
            finally:
                self.retired.discard(source)
        self._forget(source)

    async def _hear_out(self, source: Source) -> None:
        """Wait until the feed that takes the place of one has told all that its rendezvous has sent by now."""
        while self._sources.get(source.number) is source:
            latest = source.memory.sources[-1]
            if latest is source or latest.whole is not None or latest.following:
                # That one broke, or moved, and is about to be replaced.
                await asyncio.sleep(RETRY_S[0])
            elif (waits := self._resuming.under_way(latest)) is not None:
                await asyncio.wait([waits])
            elif await self._inorder.heard_out(latest.channel) and self._resuming.under_way(latest) is None:
                return

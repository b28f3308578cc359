"""A feed that is of no use any more gives way to one at whoever is the rendezvous by then.

    its link broke, its rendezvous moved, or no snapshot comes ──posted again──> beside it ──whole, heard out──> it ends
                                                                   └──it fails──> again after RETRY_S (gsg/feeds/staleness.py)

Until its snapshot is whole the new feed runs beside the old one: a fact counts once however many feeds have it, so what readers see
is the difference. The snapshot may be older than what the old one has told meanwhile, so of that its word counts until the other
rendezvous is heard out. The old one is not listened to from when that one is asked what it holds: what the old one told then might
not be part of the answer, and would go with it and come back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field

import dht

from ..background import StartTask
from ..errors import Elsewhere, GsgError
from ..placement.holders import Holders
from ..placement.rules import NOWHERE
from ..wire.exchange import ANSWER_TIMEOUT_S, show
from .alpha_memory import AlphaMemory, Source
from .feed import Differences
from .resync import Resync
from .staleness import RETRY_S, Staleness
from .standbys import Standbys
from .unanchored import UnanchoredTemplates

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Replacing:
    """The replacing of one peer's feeds."""

    holders: Holders
    sources: Mapping[int, Source]
    """All feeds, by number."""
    resync: Resync
    standbys: Standbys
    staleness: Staleness
    unanchored: UnanchoredTemplates
    start_task: StartTask
    post: Callable[[AlphaMemory], Coroutine[None, None, None]]
    """Sets up a feed at the rendezvous of now."""
    end_feed: Callable[[Source], None]
    tell: Callable[[AlphaMemory, Differences], None]
    """Hears of changes."""
    retired: set[Source] = field(default_factory=set)
    """Feeds that are not listened to any more, while those in their place are heard out. Bounded by the feeds."""

    def start_replacing(self, source: Source, to: dht.Contact | None = None) -> None:
        """A feed is of no use any more: begin to replace it, unless that is under way. ``to`` is said to be its rendezvous now."""
        if not source.is_replaced:
            source.begin_replacing()
            self.start_task(self.replace(source, to))

    def replace(self, source: Source, to: dht.Contact | None = None) -> Coroutine[None, None, None]:
        """Replace a feed, for as long as somebody wants it; the old one goes when the new one is whole."""
        return self.unanchored.replace_feed(source) if source.memory.anchor == NOWHERE else self._replace_anchored(source, to)

    async def _replace_anchored(self, source: Source, to: dht.Contact | None) -> None:
        if to is not None:
            await self.holders.wait_to_meet(to)
        if await self._until_posted(source):
            await self.hand_over(source)
            self.standbys.check_memory(source.memory)

    async def _until_posted(self, source: Source) -> bool:
        """Set up a feed in the place of one; False where nobody wants it any more."""
        memory = source.memory

        async def post(attempt: int) -> GsgError | None:
            try:
                await self.post(memory)
            except GsgError as error:
                if isinstance(error, Elsewhere):
                    await self.holders.wait_to_meet(error.contact, attempt)
                return error
            return None

        def is_wanted() -> bool:
            return bool(memory.users) and self.sources.get(source.number) is source

        return await self.staleness.until_set_up(memory, source.holder, post, is_wanted)

    async def hand_over(self, source: Source) -> None:
        """The feeds that take the place of one are whole: it ends."""
        if self.sources.get(source.number) is not source:
            return  # nobody uses the memory any more
        self.tell(source.memory, source.memory.drop_unconfirmed(source))
        if source.memory.is_contested(source):
            self.retired.add(source)
            try:
                async with asyncio.timeout(ANSWER_TIMEOUT_S):
                    await self._hear_out_latest(source)
            except TimeoutError:
                log.info(
                    "%s has not said within %g s what it holds: what %s has told lately goes with it",
                    *(source.memory.template, ANSWER_TIMEOUT_S, show(source.holder)),
                )
            finally:
                self.retired.discard(source)
        self.end_feed(source)

    async def _hear_out_latest(self, source: Source) -> None:
        """Wait until the feed that takes the place of one has told all that its rendezvous has sent by now."""
        while self.sources.get(source.number) is source:
            latest = source.memory.sources[-1]
            if latest is source or latest.loading is not None or latest.is_replaced:
                # That one broke, or moved, and is about to be replaced.
                await asyncio.sleep(RETRY_S[0])
            elif await self.resync.hear_out(latest):
                return

"""Templates that stand by: each is posted at all holders of its anchor's key, so that an event finds it whichever of them lives.

The closest holder, the primary, feeds a memory, with facts and events. At the others the template stands by, for events only, which
come there while keys change hands (:mod:`gsg.churn.forward_events`). Which holders these are is looked at again whenever peers
come or go and whenever a feed was set up anew; what does not stand where it should is posted again until it does, and what stands
where it should not ends when all others stand.

    kept ──posted at the other holders──> standing ──peers came or went, or a link broke──> looked at ──posted──> standing
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Collection, Iterator
from itertools import islice

import dht

from ..background import StartTask, Worker
from ..errors import GsgError, PeerUnreachable, Refused
from ..placement.holders import Holders
from ..placement.rules import NOWHERE
from ..wire.exchange import Exchange, PeerLink, show
from ..wire.messages import RemoveCondition
from .alpha_memory import AlphaMemory, Source
from .feeding_links import BrokenFeeds, FeedingLinks

log = logging.getLogger(__name__)

FIRST_S = 1.0
"""How long a subscription waits until it stands by everywhere; beyond, that goes on beside it."""
AGAIN_S = (1.0, 2.0, 5.0, 15.0)
"""Pauses before what could not be posted is tried again; the last repeats until it works or nobody wants it any more."""
LOOK_S = 10.0
"""How often it is looked whether lookups have found other holders, of which nobody is told."""
MEMORIES_PER_TURN = 500
"""Memories whose holders are looked at before others get their turn."""
TAKEN_S = (0.2, 0.4, 0.8)
"""Pauses before it is believed that somebody else has what is exclusive: who has just given it up may be heard of late."""


class Standby(Source):
    """A template that stands by at one holder; nothing is stored for it, and facts never come by it."""

    __slots__ = ("anchor",)

    def __init__(self, memory: AlphaMemory, number: int, link: PeerLink, anchor: int) -> None:
        super().__init__(memory, number, link)
        self.loading = None
        self.anchor = anchor


class Standbys:
    """What stands by for the memories of one peer. ``sources`` and ``numbers`` are those of all its feeds."""

    def __init__(
        self,
        holders: Holders,
        exchange: Exchange,
        sources: dict[int, Source],
        numbers: Iterator[int],
        broken: BrokenFeeds,
        start_task: StartTask,
    ) -> None:
        self._holders = holders
        self._exchange = exchange
        self._sources = sources
        self._numbers = numbers
        self._broken = broken
        self._start_task = start_task
        self._of_memory: dict[AlphaMemory, dict[bytes, Standby]] = {}
        """By memory and holder; bounded by the memories, and by REPLICAS for each once all stand."""
        self._links = FeedingLinks()
        """The links by which something stands by."""
        self._beginning: set[AlphaMemory] = set()
        """Memories that are just set up, and looked at by whoever does that."""
        self._due: dict[AlphaMemory, None] = {}
        """Memories to look at. Limit: the memories there are."""
        self._failed: dict[AlphaMemory, tuple[int, float]] = {}
        """Those that do not stand by everywhere yet: how often that was tried, and when it is again. Limit as above."""
        self._all_due = False
        self._worker = Worker(start_task, self._work)
        self._timer: asyncio.TimerHandle | None = None
        """Wakes the worker when what failed is tried again, or LOOK_S have passed; :meth:`stop` ends it."""
        self._version, self._look_s = -1, 0.0
        """That of the holders at the last look at whether lookups have found others, and when the next one is."""

    def links_from(self, peer: bytes) -> Collection[PeerLink]:
        """The links by which events may come from a peer: none while all is sure, as only primaries are sent events then."""
        return self._links.links_from(peer) if self._links and self._holders.unsure else ()

    def links(self) -> Iterator[PeerLink]:
        """The links by which something stands by."""
        return iter(self._links)

    def feed_number_at(self, memory: AlphaMemory, peer: bytes) -> int:
        """The feed that stands by for a memory at a peer; 0 where none does."""
        standby = self._of_memory.get(memory, {}).get(peer)
        return 0 if standby is None else standby.number

    async def set_up(self, memory: AlphaMemory) -> None:
        """A memory has its feed: it is to stand by at the other holders. Returns when it does, or after FIRST_S.

        Raises Refused when it is exclusive and somebody else has it there.
        """
        if self._holders.alone or memory.anchor == NOWHERE:
            return
        self._beginning.add(memory)
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._start_task(self._set_up(memory, begun))
        await asyncio.wait([begun], timeout=FIRST_S + sum(TAKEN_S) if memory.exclusive else FIRST_S)
        if begun.done():
            begun.result()

    async def _set_up(self, memory: AlphaMemory, begun: asyncio.Future[None]) -> None:
        try:
            stands = await self._look_at(memory)
            for pause_s in TAKEN_S if memory.exclusive else ():
                if stands:
                    break
                await asyncio.sleep(pause_s)
                stands = await self._look_at(memory, refuse=pause_s == TAKEN_S[-1])
        except Refused as error:
            if not begun.done():
                begun.set_exception(error)
                begun.exception()  # whoever waits may have been cancelled
        finally:
            self._beginning.discard(memory)
            if not begun.done():
                begun.set_result(None)
            # Peers may have come and gone meanwhile, and links broken, which nobody looked at for its sake.
            self.check_memory(memory)

    def check_memory(self, memory: AlphaMemory) -> None:
        """The feed of a memory comes from another holder, or something does not stand by any more."""
        if memory.anchor != NOWHERE:
            self._due[memory] = None
            self._worker.wake()

    def check_all(self) -> None:
        """Peers have come or gone: other holders may be the others by now."""
        self._all_due = True
        self._worker.wake()

    def end_all_of(self, memory: AlphaMemory) -> None:
        """Nobody uses a memory any more: nothing stands by for it."""
        self._due.pop(memory, None)
        self._failed.pop(memory, None)
        for standby in list(self._of_memory.get(memory, {}).values()):
            self.end_standby(standby)

    def end_standby(self, standby: Standby) -> None:
        """It stands by no more, as when its link broke; its holder is told."""
        if self._sources.pop(standby.number, None) is None:
            return
        memory, peer = standby.memory, standby.holder.id
        # What came in its place may have ended before it.
        of_memory = self._of_memory.get(memory, {})
        if of_memory.get(peer) is standby:
            del of_memory[peer]
            if not of_memory:
                del self._of_memory[memory]
        self._links.remove_feed(standby.link)
        with contextlib.suppress(PeerUnreachable):  # the rendezvous drops the feeds of a link that is gone
            standby.link.send(RemoveCondition(standby.number))

    # --- the work ---------------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        """Look at what is new, and at what failed and is to be tried again by now; begin to wait for what is next."""
        loop = asyncio.get_running_loop()
        if loop.time() >= self._look_s:
            self._all_due |= self._version != self._holders.version
            self._version, self._look_s = self._holders.version, loop.time() + LOOK_S
        if self._all_due:
            self._all_due = False
            self._due.update(dict.fromkeys(source.memory for source in self._sources.values()))
        self._due.update(dict.fromkeys(memory for memory, (_, again_s) in self._failed.items() if again_s <= loop.time()))
        if not await self._look_at_due():
            # To fail may itself be news of a peer: what is to be looked at for it waits as long as what fails at least.
            await asyncio.sleep(AGAIN_S[0])
        self.stop()
        if self._sources or self._failed:
            next_s = min([self._look_s, *(again_s for _, again_s in self._failed.values())])
            self._timer = loop.call_at(next_s, self._worker.wake)

    def stop(self) -> None:
        """Look at nothing any more before somebody asks for it, as when the peer stops."""
        if self._timer is not None:
            self._timer.cancel()

    async def _look_at_due(self) -> bool:
        """Look at what is due; whether all of that stands where it should."""
        all_stand = True
        while self._due:
            looked = list(islice(self._due, MEMORIES_PER_TURN))
            for memory in looked:
                del self._due[memory]
            turn = [memory for memory in looked if self._is_amiss(memory)]
            stand = dict(zip(turn, await asyncio.gather(*map(self._looked_at, turn)), strict=True))
            now = asyncio.get_running_loop().time()
            for memory in looked:
                times, _ = self._failed.pop(memory, (0, 0.0))
                if memory in stand and not stand[memory]:
                    self._failed[memory] = times + 1, now + AGAIN_S[min(times, len(AGAIN_S) - 1)]
                    all_stand = False
            await asyncio.sleep(0)
        return all_stand

    async def _looked_at(self, memory: AlphaMemory) -> bool:
        try:
            return await self._look_at(memory)
        except GsgError as error:
            log.info("template does not stand by everywhere yet: %s", error)
        except Exception:
            # A defect that one memory brings out is no reason not to look at the others, nor at this one again.
            log.exception("template does not stand by everywhere yet")
        return False

    def _wanted(self, memory: AlphaMemory) -> dict[bytes, dht.Contact] | None:
        """Where a memory is to stand by: with each holder that does not feed it yet; None where those are unknown."""
        # Until the feed of one that takes over is whole, its rendezvous knows of what stands by alone.
        feeding = {source.holder.id for source in memory.sources if source.loading is None}
        holders = self._holders.holders_of(memory.key)
        if not holders:
            return None
        return {holder.id: holder for holder in holders if holder.id not in feeding}

    def _is_amiss(self, memory: AlphaMemory) -> bool:
        """Whether a memory that is in use stands by elsewhere than it should, as far as known."""
        if not memory.users or memory.ready is not True or memory.anchor == NOWHERE or memory in self._beginning:
            return False
        standing, wanted = self._of_memory.get(memory, {}), self._wanted(memory)
        return wanted is None or standing.keys() != wanted.keys() or any(one.anchor != memory.anchor for one in standing.values())

    async def _look_at(self, memory: AlphaMemory, *, refuse: bool = False) -> bool:
        """Let a memory stand by where it should; whether it does. Raises PeerUnreachable, and Refused where that is asked for."""
        anchor = memory.anchor
        assert anchor is not None, "it has its feed"
        await self._holders.look_up([memory.key])
        wanted = self._wanted(memory)
        if wanted is None:
            # What was just found is forgotten again where the lookup has shown that something else was wrong.
            return False
        standing = self._of_memory.get(memory, {})
        missing = [holder for holder in wanted.values() if not (one := standing.get(holder.id)) or one.anchor != anchor]
        results = await asyncio.gather(*(self._post(memory, holder, anchor, refuse=refuse) for holder in missing))
        if not all(results):
            return False
        if memory.users and memory.anchor == anchor:
            for peer, standby in list(self._of_memory.get(memory, {}).items()):
                if peer not in wanted:
                    self.end_standby(standby)
        return True

    async def _post(self, memory: AlphaMemory, holder: dht.Contact, anchor: int, *, refuse: bool) -> bool:
        """Let a memory stand by at one holder; whether it does."""
        try:
            link = await self._exchange.link(holder)
            if not memory.users:
                return True
            before = self._of_memory.get(memory, {}).get(holder.id)
            standby = Standby(memory, next(self._numbers), link, anchor)
            self._sources[standby.number] = standby
            self._of_memory.setdefault(memory, {})[holder.id] = standby
            self._links.add_feed(link)
            instead, again = 0 if before is None else before.number, self._broken.numbers_at(memory, holder.id)
            try:
                await standby.post(anchor, instead=instead, again=again, standby=True)
            except BaseException:
                self.end_standby(standby)
                raise
            finally:
                if before is not None:
                    self.end_standby(before)
        except PeerUnreachable as error:
            self._holders.failed(holder.id, error)
            return False
        except Refused as error:
            if refuse:
                raise
            log.info("template does not stand by at %s: %s", show(holder), error)
            return False
        return True

"""The feeds that keep the alpha memories of this peer: where each is posted, what comes by it, and what happens when its rendezvous
changes.

    wanted ──loads asked, anchor chosen──> posted ──snapshot whole──> kept ──link broken, or rendezvous moved──> posted again

For a new template the rendezvous of each of its constants is asked for its load, and the template is posted at the rarest. One
without constants is posted at every peer (:mod:`gsg.feeds.unanchored`). What is posted again takes the place of a feed that is of
no use any more (:mod:`gsg.feeds.replacing`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Hashable, Mapping
from itertools import chain, count
from typing import Protocol, TypeAlias, TypeVar

import dht
import rete

from ..background import StartTask
from ..errors import Elsewhere, PeerUnreachable, Stale
from ..placement.anchors import Anchors
from ..placement.holders import Holders
from ..placement.rules import NOWHERE, Anchor
from ..rendezvous.broken_links import BACK_S
from ..rendezvous.condition_tests import test_of
from ..tuples.features import Template, alpha_of
from ..tuples.terms import Tuple
from ..wire.exchange import Exchange, Leaving, LinkBroke, PeerLink, show
from ..wire.messages import Deltas, Gap, Happened, Missed, Moved, Passed, RemoveCondition, Snapshot, Test
from ..wire.trace_context import Spans
from .alpha_memories import AlphaMemories, LeavingFacts
from .alpha_memory import AlphaMemory, OnEvent, Source
from .by_heads.heads import Heads
from .by_heads.part_feeds import HeadWay, PartLinks, PartSource, comes_by, is_of, passed_on
from .establishing import Establishing
from .events import IncomingEvents, Joins
from .facts import LEAVING_FACTS, FactReader, IncomingFacts
from .feed import Received
from .feeding_links import BrokenFeeds, FeedingLinks
from .intervals import Intervals, intervals_of
from .ordered_delivery import OrderedDelivery
from .replacing import Replacing
from .resync import Resync
from .staleness import ATTEMPTS, Staleness, nobody_takes
from .standbys import Standby, Standbys
from .unanchored import UnanchoredTemplates

log = logging.getLogger(__name__)

NEXT_S = 1.0
"""How long a link that broke is waited for in the order of publishers: mostly there is another one before, with what was lost."""

FromRendezvous: TypeAlias = Deltas | Gap | Happened | Missed | Moved | Passed | Snapshot


Awaited = TypeVar("Awaited")


class Matcher(FactReader, Joins, Protocol):
    """The queries of a peer, which its feeds tell what they bring."""

    def note_stale(self, memory: AlphaMemory, why: Stale) -> None:
        """Facts of an alpha memory may be out of date, as a feed could not be set up anew for some time."""

    def note_missed(self, memory: AlphaMemory, events: int) -> None:
        """So many events of an alpha memory did not come, as a rendezvous could not keep them for long enough."""


class Feeds:
    """All feeds of one peer. ``start_task`` runs a coroutine while the peer lives; ``rule`` chooses anchors."""

    def __init__(
        self, holders: Holders, exchange: Exchange, matcher: Matcher, start_task: StartTask, rule: Anchor = Anchor.RAREST
    ) -> None:
        self._holders = holders
        self._exchange = exchange
        self.anchors = Anchors(holders, exchange, rule)
        self._matcher = matcher
        self._start_task = start_task
        self.memories = AlphaMemories()
        """Those of queries."""
        self._sources: dict[int, Source] = {}
        """All feeds by number, and what stands by. Bounded by the memories, those of listeners too: each has one feed, or two while
        one is replaced, or one of each peer, and stands by at REPLICAS. They go by :meth:`_end_feed` and Standbys.end_standby."""
        self._links = FeedingLinks()
        """The links by which we are fed."""
        self._parts = PartLinks(self._links.links_from)
        """Those of what comes by heads."""
        self.heads: Heads | None = None
        """What is passed on to others."""
        self._broken: dict[PeerLink, None] = {}
        """Those links that broke within NEXT_S: what they had still to bring may come by the next one."""
        self._broken_feeds = BrokenFeeds()
        self._numbers = count(1)
        self.standbys = Standbys(holders, exchange, self._sources, self._numbers, self._broken_feeds, start_task)
        """What stands by at the holders that do not feed us."""
        self.events = IncomingEvents(self.memory_of_feed, matcher)
        self.order = OrderedDelivery(self._parts.ways_from, self.standbys.links_from, self.events)
        """What decides whose turn it is."""
        self.resync = Resync(self.order, start_task, lambda source: self.replacing.start_replacing(source))
        self._facts = IncomingFacts(
            matcher,
            self.order,
            self.resync,
            lambda *changes: self._unanchored.apply_changes(*changes),
            self._begin_leaving,
        )
        self.received = Received()
        self.staleness = Staleness(matcher.note_stale)
        """What could not be set up anew for some time."""
        self._establishing = Establishing(
            holders,
            exchange,
            self._sources,
            self._numbers,
            self._links,
            self._parts,
            self._broken_feeds,
            self.standbys,
            self.resync,
            self._end_feed,
        )
        self._unanchored = UnanchoredTemplates(
            holders,
            self.resync,
            self.staleness,
            start_task,
            lambda memory, contact: self._establishing.feed_from(memory, contact, NOWHERE),
            self._end_feed,
            self._facts.tell_reader,
        )
        self.replacing = Replacing(
            holders,
            self._sources,
            self.resync,
            self.standbys,
            self.staleness,
            self._unanchored,
            start_task,
            self._post,
            self._end_feed,
            self._facts.tell_reader,
        )
        self.on_memory: Callable[[AlphaMemory, bool], None] = lambda memory, kept: None
        """Hears of each memory when it is kept, and when nobody uses it any more."""

    def make_spans(self, spans: Spans) -> None:
        """Make these of what comes from now on."""
        self.events.spans = self._facts.spans = spans

    # --- what queries and listeners ask -----------------------------------------------------------------------------------

    def use_memories(self, alpha: rete.AlphaSpec) -> tuple[AlphaMemory, ...]:
        """What keeps an alpha memory, for one more user: one memory, or one for each of the keys that it is posted under. Await
        :meth:`until_ready` of each before its facts count."""
        memories = self.memories.memories_of(alpha)
        if not memories:
            now_s, (test, tested) = asyncio.get_running_loop().time(), test_of(alpha)
            at = self.intervals_of(alpha)
            for interval in (None,) if at is None else at.numbers:
                anchor = None if at is None else at.position
                memory = AlphaMemory(alpha, next(self._numbers), now_s, anchor=anchor, interval=interval, test=test)
                memory.tested = tested
                memories += (memory,)
            self.memories.keep_memories(memories)
        for memory in memories:
            memory.users += 1
        return memories

    def intervals_of(self, alpha: rete.AlphaSpec) -> Intervals | None:
        """The intervals under whose keys an alpha memory would be posted, rather than at every peer."""
        ordered = self._holders.ordered
        return intervals_of(alpha, ordered, len(self._holders.everybody())) if ordered else None

    def make_listener(
        self, template: Template, on_event: OnEvent, *, anchor: int, test: Test | None, exclusive: bool, note: int
    ) -> AlphaMemory:
        """A memory of events only, of its own; await :meth:`until_ready`."""
        number, now_s = next(self._numbers), asyncio.get_running_loop().time()
        memory = AlphaMemory(alpha_of(template), number, now_s, anchor=anchor, test=test, exclusive=exclusive)
        memory.on_event, memory.note = on_event, note
        memory.users = 1
        return memory

    def release(self, memory: AlphaMemory) -> None:
        """One user fewer; with the last one the feeds end, and with them the template at its rendezvous."""
        memory.users -= 1
        if memory.users:
            return
        if memory.ready is True:
            self.on_memory(memory, False)
        if memory.on_event is None:
            self.memories.forget_memories(memory.alpha)
        self._unanchored.remove_template(memory)
        self.standbys.end_all_of(memory)
        for source in memory.sources:
            self._end_feed(source)

    async def until_ready(self, memory: AlphaMemory) -> None:
        """Set the memory up, or wait for whoever is at it; if they fail or are cancelled, try in their place.

        Raises PeerUnreachable after ATTEMPTS, or Refused.
        """
        while memory.ready is not True:
            if (leaving := self.memories.leaving.get(memory.alpha)) is not None:
                await asyncio.wait([leaving.done])
                continue
            if isinstance(memory.ready, asyncio.Future):
                await asyncio.wait([memory.ready])
                continue
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            memory.ready = done
            try:
                # Whoever was at it before may have been cancelled when it was fed already, and did not stand by yet.
                if memory.anchor == NOWHERE or not memory.sources:
                    await self._establish(memory)
                await self.standbys.set_up(memory)
                memory.ready = True
                self.on_memory(memory, True)
            finally:
                if memory.ready is done:
                    memory.ready = False
                done.set_result(None)

    def memory_of_feed(self, link: PeerLink, number: int) -> AlphaMemory | None:
        """The memory that a feed keeps; None when the feed has ended."""
        source = self._sources.get(number)
        return source.memory if source is not None and comes_by(source, link) else None

    def links(self) -> Collection[PeerLink]:
        """The links by which anything comes, or would if its holder were the primary."""
        links = chain(self._links, self.standbys.links(), self._parts.links())
        return {link: None for link in links if link not in self._broken}.keys()

    # --- what other peers tell --------------------------------------------------------------------------------------------

    def receive(self, link: PeerLink, message: FromRendezvous) -> None:
        """What a rendezvous tells, or a head in its place. Raises PeerMisbehaved."""
        by_head: Hashable | None = None
        match message:
            case Happened():
                if self.events.accept(link, message):
                    self.received.add(message)
                    by_head = self._parts.way_of(link, message, self._sources) if self._parts else None
                    self.order.take_events(link, message, by_head)
            case Deltas():
                if (source := self._source_at(link, message.feed)) is not None:
                    source.check_deltas(message)  # also of a retired one, as it may be passed on
                    self.received.add(message)
                    if source not in self.replacing.retired:
                        self._facts.take_deltas(source, message)
            case Snapshot():
                if (source := self._source_at(link, message.feed)) is not None:
                    source.check_snapshot(message)
                    self.received.add(message)
                    if source not in self.replacing.retired:
                        self._facts.take_snapshot(link, source, message)
            case Passed():
                self.order.note_passed(link, message)
            case Gap():
                # The rendezvous could not keep what we did not read.
                if (source := self.source_by(link, message.feed)) is not None:
                    log.warning("feed %d from %s fell behind: asking for a snapshot", message.feed, show(source.holder))
                    self.resync.ask_snapshot(source)
            case Missed():
                memory = self.memory_of_feed(link, message.feed)
                if memory is not None and message.events > 0:
                    log.warning(
                        "%d events of feed %d from %s were missed: its link was full, or had broken",
                        *(message.events, message.feed, show(link.contact)),
                    )
                    self._matcher.note_missed(memory, message.events)
            case Moved():
                source = self._sources.get(message.feed)
                # Of a feed by way of a head it is the rendezvous that says so, not the head.
                says_so = is_of(source, link) if isinstance(source, PartSource) else self.source_by(link, message.feed) is source
                if source is not None and says_so:
                    self._follow_rendezvous(source, message)
        # Behind what this peer makes of it: what cannot be has ended the link by then. Nothing is passed on a second time.
        if self.heads is not None and by_head is None:
            self.heads.receive(link, message)

    def _follow_rendezvous(self, source: Source, moved: Moved) -> None:
        """Another peer is the rendezvous of a feed's key now."""
        if moved.leaves:
            self._holders.failed(source.holder.id, Leaving(f"{show(source.holder)} is about to stop"))
        if source.memory.anchor == NOWHERE:
            self._unanchored.post_at_named(source.memory, moved.to)
        elif source.loading is not None:
            # Whoever waits for it goes there by itself: two that set up one memory would leave it with two feeds.
            source.fail_loading(Elsewhere(f"{show(source.holder)} has moved to {show(moved.to)}", contact=moved.to))
        else:
            self.replacing.start_replacing(source, moved.to)

    def forget_link(self, link: PeerLink) -> None:
        """A link is gone: what it fed is set up anew, and what comes by others waits a moment at most for what it had to bring."""
        self._broken[link] = None
        if ways := self._parts.ways_by(link):
            # Who sends what was not brought does so as soon as the feeds are posted again.
            self._start_task(self._after(NEXT_S, self._end_broken_ways, ways))
        for source in [source for source in self._sources.values() if comes_by(source, link)]:
            self.resync.end_wait(source)
            if source.holder.id == link.contact.id:
                self._broken_feeds.add_feed(link, source.memory, source.number)
            if self.heads is not None:
                self.heads.end_feed(link, source.number)
            if isinstance(source, Standby):
                self.standbys.end_standby(source)
                self.standbys.check_memory(source.memory)
                continue
            if source.loading is None:
                self.replacing.start_replacing(source)
            else:
                # Whoever waits for it tries again by itself.
                source.fail_loading(LinkBroke(f"the link to {show(source.holder)} broke"))
        if link in self._broken_feeds:
            self._start_task(self._after(BACK_S, self._broken_feeds.forget_link, link))
        # Nobody waits for the dead, nor where only events might have come.
        if (link in self._links or self._parts.is_directly(link)) and self._holders.contact_of(link.contact.id) is not None:
            self._start_task(self._after(NEXT_S, self._end_link, link))
        else:
            self._end_link(link)
        self.order.note_broken(link)
        self.events.acknowledger.forget_link(link)

    def post_at_newcomer(self, contact: dht.Contact) -> None:
        """A peer has come: templates without constants are to be posted there too, and others may have to stand by there."""
        self.events.alone = False
        self.standbys.check_all()
        self._unanchored.post_all_at(contact)

    def stop(self) -> None:
        """The peer stops: events wait for their turn no longer."""
        self.order.stop()
        self.standbys.stop()
        self.events.acknowledger.stop()

    # --- feeds ------------------------------------------------------------------------------------------------------------

    def source_by(self, link: PeerLink, number: int) -> Source | None:
        """The feed of this number, if it comes by this link and is listened to: numbers are easy to guess, and only its
        rendezvous counts."""
        source = self._source_at(link, number)
        return None if source in self.replacing.retired else source

    def _source_at(self, link: PeerLink, number: int) -> Source | None:
        """The feed of this number, if it comes by this link, also where it is retired."""
        source = self._sources.get(number)
        return None if source is None or source.link is not link or isinstance(source, Standby) else source

    async def _establish(self, memory: AlphaMemory) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                await self._post(memory)
                return
            except Elsewhere as error:
                if attempt == ATTEMPTS:
                    raise nobody_takes(memory, error) from None
                await self._holders.wait_to_meet(error.contact, attempt - 1)
            except PeerUnreachable:
                if attempt == ATTEMPTS:
                    raise

    async def _post(self, memory: AlphaMemory) -> None:
        """Choose the anchor and set up the feed, or all of them."""
        template = memory.template
        if memory.on_event is None and memory.interval is None:
            memory.anchor = await self.anchors.choose(template)
        anchor = memory.anchor
        assert anchor is not None, "listeners say where"
        if anchor == NOWHERE:
            await self._unanchored.post_template(memory)
            return
        key = memory.key
        holder = (await self._holders.primaries_of([key]))[key]
        await self._establishing.feed_from(memory, holder, anchor)

    def _end_feed(self, source: Source) -> None:
        """End a feed here and at its rendezvous; facts that no other feed has go with it."""
        if self._sources.get(number := source.number) is not source:  # the memory's number may be another feed's by now
            return
        del self._sources[number]
        self.resync.end_wait(source)
        if isinstance(source, PartSource):
            if self._parts.remove_feed(source):
                self._end_way(source.way)
        elif source.link in self._links and self._links.remove_feed(source.link):
            self._end_link(source.link)
        if self.heads is not None:
            self.heads.end_feed(source.link, number)
        self._facts.remove_feed(source)
        # Nothing will come any more: whoever waits for it goes on without.
        source.end_loading()
        for link in (source.link, source.rendezvous) if isinstance(source, PartSource) else (source.link,):
            with contextlib.suppress(PeerUnreachable):  # the rendezvous drops the feeds of a link that is gone
                link.send(RemoveCondition(number))

    def _begin_leaving(self, memory: AlphaMemory, facts: list[Tuple]) -> None:
        if (leaving := self.memories.leaving.get(memory.alpha)) is not None:
            leaving.left += facts  # of another of its intervals
            return
        leaving = self.memories.leaving[memory.alpha] = LeavingFacts(memory.alpha, facts)
        self._start_task(self._leave(memory, leaving))

    async def _leave(self, memory: AlphaMemory, leaving: LeavingFacts) -> None:
        """Facts of a memory that nobody asks for any more leave in turns."""
        try:
            while leaving.left:
                self._facts.tell_reader(memory, [(fact, -1) for fact in leaving.left[-LEAVING_FACTS:]])
                del leaving.left[-LEAVING_FACTS:]
                await asyncio.sleep(0)
        finally:
            del self.memories.leaving[memory.alpha]
            leaving.done.set_result(None)

    def _end_broken_ways(self, ways: Mapping[HeadWay, Collection[PartSource]]) -> None:
        """One of both links of these ways broke a while ago, by which these feeds came: another feed may come by one again."""
        for way, sources in ways.items():
            if self._parts.come_by_no_more(way, sources):
                self._end_way(way)

    def _end_way(self, way: HeadWay) -> None:
        """Nothing comes by a head any more."""
        self._parts.forget_way(way)
        self.order.forget_link(way)
        self.order.forget_link(passed_on(way))

    async def _after(self, seconds: float, work: Callable[[Awaited], None], what: Awaited) -> None:
        await asyncio.sleep(seconds)
        work(what)

    def _end_link(self, link: PeerLink) -> None:
        """Nothing is fed by a link any more: if it broke, nothing that it had still to bring comes either."""
        self._links.forget_link(link)
        self._parts.forget_link(link)
        if link in self._broken:
            del self._broken[link]
            self.order.forget_link(link)

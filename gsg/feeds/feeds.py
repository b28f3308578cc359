"""The feeds that keep the alpha memories of this peer: where each is posted, and what happens when its rendezvous changes.

    wanted ──loads asked, anchor chosen──> posted ──snapshot whole──> kept ──link broken, or rendezvous moved──> posted again

For a new template the rendezvous of each of its constants is asked for its load, and the template is posted at the rarest. One
without constants is posted at every peer (:mod:`gsg.feeds.unanchored`). What is posted again takes the place of a feed that is of
no use any more (:mod:`gsg.feeds.replacing`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import chain, count

import dht
import rete

from ..background import StartTask
from ..errors import Elsewhere, PeerMisbehaved, PeerUnreachable
from ..placement.anchors import Anchors, feature_of
from ..placement.holders import Holders
from ..placement.rules import NOWHERE, Anchor
from ..rendezvous.broken_links import BACK_S
from ..rendezvous.condition_tests import test_of
from ..tuples.features import Template, alpha_of
from ..tuples.terms import Tuple
from ..wire.exchange import Channel, Exchange, Leaving, LinkBroke, show
from ..wire.messages import Deltas, Gap, Moved, RemoveCondition, Snapshot, Test
from .alpha_memories import Memory, OnEvent, Source
from .feed import Differences, SequenceHole
from .feeding_links import BrokenFeeds, FeedingLinks
from .ordered_delivery import OrderedDelivery
from .replacing import Replacing
from .resync import Resync
from .staleness import ATTEMPTS, Staleness, nobody_takes
from .standbys import Standby, Standbys
from .unanchored import UnanchoredTemplates

log = logging.getLogger(__name__)

NEXT_S = 1.0
"""How long a link that broke is waited for in the order of publishers: mostly there is another one before, with what was lost."""


class Intake:
    """The alpha memories of one peer.

    ``on_change(alpha, differences)`` hears of facts that came and went, also where ``is_fed(alpha)`` though nobody uses them any
    more; ``start_task`` runs a coroutine while the peer lives; ``rule`` chooses anchors.
    """

    def __init__(
        self,
        holders: Holders,
        exchange: Exchange,
        *,
        on_change: Callable[[rete.AlphaSpec, Differences], None],
        is_fed: Callable[[rete.AlphaSpec], bool],
        start_task: StartTask,
        rule: Anchor = Anchor.RAREST,
    ) -> None:
        self._holders = holders
        self._exchange = exchange
        self.anchors = Anchors(holders, exchange, rule)
        self._on_change = on_change
        self._is_fed = is_fed
        self._start_task = start_task
        self._memories: dict[rete.AlphaSpec, Memory] = {}
        """Those of queries; each goes with its last user. Not bounded by number: as many as users of this peer ask for."""
        self._sources: dict[int, Source] = {}
        """All feeds by number, and what stands by. Bounded by the memories, those of listeners too: each has one feed, or two while
        one is replaced, or one of each peer, and stands by at REPLICAS. They go by :meth:`_forget` and :meth:`Standbys.end`."""
        self._links = FeedingLinks()
        """The links by which we are fed."""
        self._broken: dict[Channel, None] = {}
        """Those links that broke within NEXT_S: what they had still to bring may come by the next one."""
        self.alone = True
        """Whether there was never another peer: everything comes once then."""
        self._broken_feeds = BrokenFeeds()
        self._numbers = count(1)
        self.standbys = Standbys(holders, exchange, self._sources, self._numbers, self._broken_feeds, start_task)
        """What stands by at the holders that do not feed us."""
        self.inorder = OrderedDelivery(self._links.links_from, self.standbys.links_from)
        """What decides whose turn it is."""
        self._resync = Resync(self.inorder, start_task, lambda source: self.replacing.start_replacing(source))
        self.staleness = Staleness()
        """What could not be set up anew for some time."""
        self._unanchored = UnanchoredTemplates(
            holders,
            self._resync,
            self.staleness,
            start_task,
            feed_from=lambda memory, contact: self._feed_from(memory, contact, NOWHERE),
            forget=self._forget,
            tell=self._tell,
        )
        self.replacing = Replacing(
            holders,
            self._sources,
            self._resync,
            self.standbys,
            self.staleness,
            self._unanchored,
            start_task,
            post=self._post,
            forget=self._forget,
            tell=self._tell,
        )
        self.on_memory: Callable[[Memory, bool], None] = lambda memory, kept: None
        """Hears of each memory when it is kept, and when nobody uses it any more."""

    # --- what the subscriber asks -----------------------------------------------------------------------------------------

    def facts(self, alpha: rete.AlphaSpec) -> Iterator[Tuple]:
        """The facts of an alpha memory that somebody asks for; of one with parameters, those of all its constants asked for."""
        return chain.from_iterable(memory.facts() for memory in self._kept(alpha))

    def size(self, alpha: rete.AlphaSpec) -> int:
        """How many facts there are, at most."""
        return sum(memory.size() for memory in self._kept(alpha))

    def known(self, alpha: rete.AlphaSpec) -> int | None:
        """How many facts there are, where somebody asks for this alpha memory already."""
        memory = self._memories.get(alpha)
        return memory.size() if memory is not None and memory.ready is True else None

    def like(self, condition: rete.Condition | rete.AlphaSpec) -> list[Tuple]:
        """The facts of all memories of a condition, whatever tests they make."""
        alike = [memory for alpha, memory in self._memories.items() if alpha.template == condition.template and not alpha.window]
        alike.sort(key=lambda memory: len(memory.alpha.tests))
        if alike and not alike[0].alpha.tests:
            return list(alike[0].facts())
        return list({fact: None for memory in alike for fact in memory.facts()})

    def _kept(self, alpha: rete.AlphaSpec) -> list[Memory]:
        template = alpha.template
        if isinstance(template, rete.OpenTemplate):
            alike = (memory for kept, memory in self._memories.items() if (kept.tests, kept.window) == (alpha.tests, alpha.window))
            return [memory for memory in alike if template.covers(memory.template)]
        return [self._memories[alpha]]

    def heard_then(self, memory: Memory, age_s: float) -> bool:
        """Whether a memory was here so long ago."""
        return memory.since_s <= asyncio.get_running_loop().time() - age_s

    def use(self, alpha: rete.AlphaSpec) -> Memory:
        """An alpha memory, for one more user; await :meth:`until_ready` before its facts count."""
        memory = self._memories.get(alpha)
        if memory is None:
            memory = self._memories[alpha] = Memory(alpha, next(self._numbers), asyncio.get_running_loop().time())
            memory.test, memory.tested = test_of(alpha)
        memory.users += 1
        return memory

    def listen(
        self, template: Template, on_event: OnEvent, *, anchor: int, test: Test | None, exclusive: bool, note: int
    ) -> Memory:
        """A memory of events only, of its own; await :meth:`until_ready`."""
        number, now_s = next(self._numbers), asyncio.get_running_loop().time()
        memory = Memory(alpha_of(template), number, now_s, anchor=anchor, test=test, exclusive=exclusive)
        memory.on_event, memory.note = on_event, note
        memory.users = 1
        return memory

    def leave(self, memory: Memory) -> None:
        """One user fewer; with the last one the feeds end, and with them the template at its rendezvous."""
        memory.users -= 1
        if memory.users:
            return
        if memory.ready is True:
            self.on_memory(memory, False)
        if memory.on_event is None:
            del self._memories[memory.alpha]
        self._unanchored.remove_template(memory)
        self.standbys.end_all_of(memory)
        for source in memory.sources:
            self._forget(source)

    async def until_ready(self, memory: Memory) -> None:
        """Set the memory up, or wait for whoever is at it; if they fail or are cancelled, try in their place.

        Raises PeerUnreachable after ATTEMPTS, or Refused.
        """
        while memory.ready is not True:
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

    def of_feed(self, channel: Channel, number: int) -> Memory | None:
        """The memory that a feed keeps; None when the feed has ended."""
        source = self._sources.get(number)
        return source.memory if source is not None and source.channel is channel else None

    def channels(self) -> Collection[Channel]:
        """The channels by which anything comes, or would if its holder were the primary."""
        return {channel: None for channel in chain(self._links, self.standbys.links()) if channel not in self._broken}.keys()

    # --- what other peers tell --------------------------------------------------------------------------------------------

    def snapshot(self, channel: Channel, part: Snapshot) -> None:
        """A part of a feed's stored facts."""
        source = self._source(channel, part.feed)
        if source is None:
            return
        self._resync.note_part(channel)
        source.check_snapshot(part)
        before, union = source.facts, source.memory.union
        memory = source.memory
        is_alone = union is None and len(memory.sources) == 1 and not source.is_replaced
        differences = source.feed.take_part(part, is_heard=not is_alone or self._is_fed(memory.alpha))
        if differences is not None:
            if union is None:
                self._change(source, differences)
            else:
                for fact, stamp in zip(part.went, part.went_stamps, strict=True):
                    union.note_retraction(fact, stamp)
                # One that was there may be there by a later stamp now, or gone at another holder.
                facts = {**before, **source.facts, **dict.fromkeys(union.facts_of(part.went), 0)}
                had = {fact: stamp for fact, stamp in before.items() if fact not in source.facts}
                self._unanchored.apply_changes(source.memory, facts, had)
            source.end_loading()
            self._resync.end_wait(source)

    def deltas(self, channel: Channel, deltas: Deltas) -> None:
        """Changes of a feed's facts: they are applied when it is their turn."""
        source = self._source(channel, deltas.feed)
        if source is None:
            return
        source.check(deltas.facts)
        if len(deltas.signs) != len(deltas.facts):
            raise PeerMisbehaved(f"{len(deltas.facts)} deltas with {len(deltas.signs)} signs; expected as many")
        if len(deltas.stamps) not in (0, len(deltas.facts)):
            raise PeerMisbehaved(f"{len(deltas.facts)} deltas with {len(deltas.stamps)} stamps; expected as many, or none")
        try:
            if source.feed.is_next(deltas):
                apply = partial(self._apply, source, source.feed.round, deltas)
                self.inorder.take_deltas(channel, deltas, apply, one_of_all=source.memory.union is not None)
        except SequenceHole:
            log.warning("feed %d from %s has a hole: asking for a snapshot", deltas.feed, show(source.holder))
            self._resync.ask_snapshot(source)

    def _apply(self, source: Source, round: int, deltas: Deltas) -> None:
        feed = source.feed
        # While these waited their feed may have ended, or a snapshot begun that has them.
        if feed.round == round and self._sources.get(source.number) is source:
            union = source.memory.union
            if union is None:
                self._change(source, feed.apply(deltas))
                return
            known, signed = feed.facts, zip(deltas.facts, deltas.signs, strict=True)
            had = {fact: known[fact] for fact, sign in signed if sign < 0 and fact in known}
            feed.apply(deltas)
            for fact, sign, stamp in zip(deltas.facts, deltas.signs, deltas.stamps, strict=False):
                if sign < 0:
                    union.note_retraction(fact, stamp)
            # Also what this feed did not have, as another may have it by an older stamp.
            self._unanchored.apply_changes(source.memory, deltas.facts, had)

    def gap(self, channel: Channel, gap: Gap) -> None:
        """The rendezvous could not keep what we did not read: start from a snapshot."""
        source = self._source(channel, gap.feed)
        if source is not None:
            log.warning("feed %d from %s fell behind: asking for a snapshot", gap.feed, show(source.holder))
            self._resync.ask_snapshot(source)

    def moved(self, channel: Channel, moved: Moved) -> None:
        """Another peer is the rendezvous of a feed's key now."""
        source = self._source(channel, moved.feed)
        if source is not None:
            if moved.leaves:
                self._holders.failed(source.holder.id, Leaving(f"{show(source.holder)} is about to stop"))
            if source.memory.anchor == NOWHERE:
                self._unanchored.post_at_named(source.memory, moved.to)
            elif source.loading is not None:
                # Whoever waits for it goes there by itself: two that set up one memory would leave it with two feeds.
                source.fail_loading(Elsewhere(f"{show(source.holder)} has moved to {show(moved.to)}", contact=moved.to))
            else:
                self.replacing.start_replacing(source, moved.to)

    def broken(self, channel: Channel) -> None:
        """A link is gone: set up anew what it fed."""
        self._broken[channel] = None
        for source in [source for source in self._sources.values() if source.channel is channel]:
            self._resync.end_wait(source)
            self._broken_feeds.add_feed(channel, source.memory, source.number)
            if isinstance(source, Standby):
                self.standbys.end_standby(source)
                self.standbys.check(source.memory)
                continue
            if source.loading is None:
                self.replacing.start_replacing(source)
            else:
                # Whoever waits for it tries again by itself.
                source.fail_loading(LinkBroke(f"the link to {show(source.holder)} broke"))
        if channel in self._broken_feeds:
            self._start_task(self._after(BACK_S, self._broken_feeds.forget_link, channel))
        # Nobody waits for the dead, nor where only events might have come.
        if channel in self._links and self._holders.contact_of(channel.contact.id) is not None:
            self._start_task(self._after(NEXT_S, self._no_way, channel))
        else:
            self._no_way(channel)

    def discovered(self, contact: dht.Contact) -> None:
        """A peer has come: templates without constants are to be posted there too, and others may have to stand by there."""
        self.alone = False
        self.standbys.check_all()
        self._unanchored.post_all_at(contact)

    # --- feeds ------------------------------------------------------------------------------------------------------------

    def _source(self, channel: Channel, number: int) -> Source | None:
        """The feed of this number, if it comes by this channel and is listened to: numbers are easy to guess, and only its
        rendezvous counts."""
        source = self._sources.get(number)
        if source is None or source.channel is not channel or isinstance(source, Standby) or source in self.replacing.retired:
            return None
        return source

    async def _establish(self, memory: Memory) -> None:
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

    async def _post(self, memory: Memory) -> None:
        """Choose the anchor and set up the feed, or all of them."""
        template = memory.template
        if memory.on_event is None:
            memory.anchor = await self.anchors.choose(template)
        anchor = memory.anchor
        assert anchor is not None, "listeners say where"
        if anchor == NOWHERE:
            await self._unanchored.post_template(memory)
            return
        feature = feature_of(template, anchor)
        holder = (await self._holders.primaries_of([feature]))[feature]
        await self._feed_from(memory, holder, anchor)

    async def _feed_from(self, memory: Memory, holder: dht.Contact, anchor: int) -> None:
        """One more feed, until its first snapshot is whole. Raises PeerUnreachable, Refused or Elsewhere."""
        try:
            channel = await self._exchange.channel(holder)
            if not memory.users:
                # Whoever asked has gone meanwhile, and the template may have another memory by now.
                return
            # The first feed has the memory's number: one number for both is one object less for each of very many.
            number = next(self._numbers) if memory.number in self._sources else memory.number
            source = Source(memory, number, channel)
            self._sources[number] = source
            self._links.add_feed(channel)
            memory.sources += (source,)
            instead, again = self.standbys.feed_number_at(memory, holder.id), self._broken_feeds.numbers_at(memory, holder.id)
            try:
                await source.post(anchor, instead=instead, again=again)
                await self._until_whole(source)
            except BaseException:
                self._forget(source)
                raise
        except PeerUnreachable as error:
            self._holders.failed(holder.id, error)
            raise

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
        await self._resync.until_whole(loading, source.channel)

    def _forget(self, source: Source) -> None:
        """End a feed here and at its rendezvous; facts that no other feed has go with it."""
        if self._sources.get(number := source.number) is not source:  # the memory's number may be another feed's by now
            return
        del self._sources[number]
        self._resync.end_wait(source)
        if source.channel in self._links and self._links.remove_feed(source.channel):
            self._no_way(source.channel)
        memory = source.memory
        if memory.union is None:
            # Where nobody uses the memory any more, one of a template with parameters may have its facts still.
            if memory.users or self._is_fed(memory.alpha):
                self._tell(memory, memory.remove_feed(source))
            else:
                memory.sources = memory.other_sources(source)
        else:
            memory.sources = memory.other_sources(source)
            self._unanchored.apply_changes(memory, source.facts, source.facts)
        # Nothing will come any more: whoever waits for it goes on without.
        source.end_loading()
        with contextlib.suppress(PeerUnreachable):  # the rendezvous drops the feeds of a link that is gone
            source.channel.send(RemoveCondition(number))

    async def _after(self, seconds: float, work: Callable[[Channel], None], channel: Channel) -> None:
        await asyncio.sleep(seconds)
        work(channel)

    def _no_way(self, channel: Channel) -> None:
        """Nothing is fed by a channel any more: if it broke, nothing that it had still to bring comes either."""
        self._links.forget_link(channel)
        if channel in self._broken:
            del self._broken[channel]
            self.inorder.forget_link(channel)

    def _change(self, source: Source, differences: Differences) -> None:
        """Tell what a feed's differences mean for its memory."""
        self._tell(source.memory, source.memory.changes_from(source, differences))

    def _tell(self, memory: Memory, differences: Differences) -> None:
        """Facts of a memory have come and gone."""
        if not memory.tested:
            differences = [(fact, sign) for fact, sign in differences if memory.alpha.admits(fact)]
        if differences:
            self._on_change(memory.alpha, differences)

"""The subscriber's peer: feeds from rendezvous peers come in, joins run here, rows go out.

A query's conditions become templates; each template has one alpha memory in this peer, whoever asks for it, and one feed that keeps
it. For a new template the rendezvous of each of its constants is asked for its load, and the template is posted at the rarest; one
without constants is posted at every peer. A query enters the network when the snapshots of all its feeds are whole, so that
its first rows are its answer.

A feed whose link breaks is set up anew, at whoever owns the anchor now; until its snapshot comes, the rows stand as they were.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from itertools import count
from typing import TypeAlias

import dht
import rete

from .errors import GsgError, PeerUnreachable
from .exchange import ANSWER_TIMEOUT_S, Channel, Exchange, answer_of, show
from .features import Template
from .feeds import AlphaFeed, Differences, FeedState, RecentEvents, SequenceHole
from .messages import (
    AskLoads,
    Deltas,
    Done,
    Event,
    Gap,
    Happened,
    InsertCondition,
    Load,
    Loads,
    RemoveCondition,
    Resume,
    Snapshot,
    Test,
)
from .model import Term, Tuple
from .owners import Owners
from .placement import NOWHERE, choose_anchor
from .query import Query, refusing_bad_queries, templates

log = logging.getLogger(__name__)

ATTEMPTS = 3
"""How often a feed is tried to be set up before the subscriber is told that it cannot be."""
RETRY_S = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Pauses between attempts to restore a broken feed; the last repeats until it works or nobody wants the feed any more."""

OnRows: TypeAlias = Callable[[list[tuple[Tuple, int]]], None]
OnEvent: TypeAlias = Callable[[Event], None]
StartTask: TypeAlias = Callable[[Coroutine[None, None, None]], object]


class _Memory:
    """A template that somebody here asks for, and the feeds that keep it: one, or one a peer for a template without constants."""

    __slots__ = ("anchor", "events_only", "exclusive", "number", "on_event", "ready", "sources", "template", "test", "users")

    def __init__(
        self,
        template: Template,
        number: int,
        *,
        anchor: int | None = None,
        test: Test | None = None,
        exclusive: bool = False,
        on_event: OnEvent | None = None,
    ) -> None:
        self.template = template
        self.number = number
        """Counts up: which of two is newer."""
        self.anchor = anchor
        """Where it is posted; None until chosen."""
        self.test = test
        self.exclusive = exclusive
        self.on_event = on_event
        self.events_only = on_event is not None
        self.users = 0
        self.sources: dict[int, _Source] = {}
        self.ready: asyncio.Future[None] | None = None


class _Source:
    """One feed of a memory."""

    __slots__ = ("channel", "feed", "memory", "owner", "silence", "whole")

    def __init__(self, memory: _Memory, owner: dht.Contact, channel: Channel, feed: AlphaFeed) -> None:
        self.memory = memory
        self.owner = owner
        self.channel = channel
        self.feed = feed
        self.whole: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the first snapshot is whole; PeerUnreachable when the link breaks before."""
        self.silence: asyncio.Timeout | None = None
        """Ends the wait for a snapshot when no part of it has come for ANSWER_TIMEOUT_S."""


class Standing:
    """A query in the network of this peer."""

    __slots__ = ("_on_events", "memories", "production", "query")

    def __init__(self, query: Query, memories: list[_Memory], production: rete.Production, on_events: OnRows) -> None:
        self.query = query
        self.memories = memories
        self.production = production
        self._on_events = on_events

    def rows(self) -> Counter[Tuple]:
        """The rows that hold now."""
        return self.production.rows()

    def flashed(self, rows: list[tuple[Tuple, int]]) -> None:
        """Rows that held for the moment of an event."""
        self._on_events(rows)


class Listening:
    """Somebody who hears of events that one template and its test let through."""

    __slots__ = ("memory",)

    def __init__(self, memory: _Memory) -> None:
        self.memory = memory


class Subscriber:
    """The standing queries of one peer. ``start_task`` runs a coroutine for as long as the peer lives."""

    def __init__(self, owners: Owners, exchange: Exchange, start_task: StartTask) -> None:
        self._owners = owners
        self._exchange = exchange
        self._start_task = start_task
        self._network = rete.Network(self._facts_of, self._count_of)
        self._memories: dict[Template, _Memory] = {}
        self._sources: dict[int, _Source] = {}
        self._numbers = count(1)
        self._made = count(1)
        self._standing: dict[rete.Production, Standing] = {}
        self._recent = RecentEvents()

    # --- what the peer's users ask ----------------------------------------------------------------------------------------

    async def subscribe(self, query: Query, on_rows: OnRows, on_events: OnRows) -> Standing:
        """Add a query; returns when its first answer is complete. ``on_rows`` hears of changes from then on.

        Raises PeerUnreachable or Refused when a template could not be posted, BadQuery when the query cannot be built.
        """
        memories: list[_Memory] = []
        try:
            for template in templates(query):
                memories.append(self._use(template))
            for memory in memories:
                await self._until_ready(memory)
            with refusing_bad_queries():
                production = self._network.subscribe(query.group, query.select, on_rows)
        except BaseException:
            self._leave(memories)
            raise
        standing = self._standing[production] = Standing(query, memories, production, on_events)
        return standing

    def unsubscribe(self, standing: Standing) -> None:
        """Remove a query; feeds that nobody else uses end, and with them the templates at their rendezvous."""
        if self._standing.pop(standing.production, None) is not None:
            self._network.unsubscribe(standing.production)
            self._leave(standing.memories)

    async def listen(
        self, template: Template, on_event: OnEvent, *, anchor: int, test: Test | None = None, exclusive: bool = False
    ) -> Listening:
        """Hear of events that match a template and pass its test, posted at the anchor given.

        Raises PeerUnreachable, or Refused: among others when ``exclusive`` and the place is taken.
        """
        memory = _Memory(template, next(self._made), anchor=anchor, test=test, exclusive=exclusive, on_event=on_event)
        memory.users = 1
        try:
            await self._until_ready(memory)
        except BaseException:
            self._leave([memory])
            raise
        return Listening(memory)

    def end_listening(self, listening: Listening) -> None:
        """Hear no more."""
        if listening.memory.users:
            self._leave([listening.memory])

    # --- what other peers tell --------------------------------------------------------------------------------------------

    def snapshot(self, part: Snapshot) -> None:
        """A part of a feed's stored facts."""
        source = self._sources.get(part.feed)
        if source is None:
            return
        if source.silence is not None:
            source.silence.reschedule(asyncio.get_running_loop().time() + ANSWER_TIMEOUT_S)
        differences = source.feed.snapshot(part)
        if differences is not None:
            self._change(source, differences)
            if not source.whole.done():
                source.whole.set_result(None)

    def deltas(self, deltas: Deltas) -> None:
        """Changes of a feed's facts."""
        source = self._sources.get(deltas.feed)
        if source is None:
            return
        try:
            self._change(source, source.feed.deltas(deltas))
        except SequenceHole:
            log.warning("feed %d from %s has a hole: asking for a snapshot", deltas.feed, show(source.owner))
            self._resume(source)

    def gap(self, gap: Gap) -> None:
        """The rendezvous could not keep what we did not read: start from a snapshot."""
        source = self._sources.get(gap.feed)
        if source is not None:
            log.warning("feed %d from %s fell behind: asking for a snapshot", gap.feed, show(source.owner))
            self._resume(source)

    def happened(self, happened: Happened) -> None:
        """An event."""
        memories = [source.memory for number in happened.feeds if (source := self._sources.get(number)) is not None]
        # Newest first, those without constants last: the order in which Pedro serves its subscriptions (facts, section 3).
        memories.sort(key=_pedro_order)
        for memory in memories:
            if memory.on_event is not None:
                memory.on_event(happened.event)
        if any(memory.on_event is None for memory in memories) and self._recent.is_new(happened.publisher, happened.event.number):
            for production, rows in self._network.flash(happened.event.items):
                self._standing[production].flashed(rows)

    def broken(self, channel: Channel) -> None:
        """A link is gone: set up anew what it fed."""
        for number, source in list(self._sources.items()):
            if source.channel is channel:
                if not source.whole.done():
                    # Whoever waits for it tries again by itself.
                    source.whole.set_exception(PeerUnreachable(f"the link to {show(source.owner)} broke"))
                    source.whole.exception()
                    continue
                del self._sources[number], source.memory.sources[number]
                self._start_task(self._restore(source))

    def discovered(self, contact: dht.Contact) -> None:
        """A peer has come: templates without constants are to be posted there too."""
        for memory in self._memories.values():
            if memory.anchor == NOWHERE and all(source.owner.id != contact.id for source in memory.sources.values()):
                self._start_task(self._widen(memory, contact))

    # --- feeds ------------------------------------------------------------------------------------------------------------

    def _use(self, template: Template) -> _Memory:
        memory = self._memories.get(template)
        if memory is None:
            memory = self._memories[template] = _Memory(template, next(self._made))
        memory.users += 1
        return memory

    def _leave(self, memories: list[_Memory]) -> None:
        for memory in memories:
            memory.users -= 1
            if memory.users:
                continue
            if self._memories.get(memory.template) is memory:
                del self._memories[memory.template]
            for number, source in memory.sources.items():
                del self._sources[number]
                self._tell_removed(source)
            memory.sources = {}

    def _tell_removed(self, source: _Source) -> None:
        with contextlib.suppress(PeerUnreachable):  # the rendezvous drops the feeds of a link that is gone
            source.channel.send(RemoveCondition(source.feed.number))

    async def _until_ready(self, memory: _Memory) -> None:
        """Set the memory up, or wait for whoever is at it; if they fail or are cancelled, try in their place."""
        while memory.ready is None or not memory.ready.done():
            if memory.ready is not None:
                await asyncio.wait([memory.ready])
                continue
            memory.ready = asyncio.get_running_loop().create_future()
            try:
                await self._establish(memory)
            except BaseException:
                waiting, memory.ready = memory.ready, None
                waiting.cancel()
                raise
            memory.ready.set_result(None)

    async def _establish(self, memory: _Memory) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                await self._post(memory, {})
                return
            except PeerUnreachable:
                if attempt == ATTEMPTS:
                    raise

    async def _post(self, memory: _Memory, facts: dict[Tuple, None]) -> None:
        """Choose the anchor and set up the feed; ``facts`` is what an earlier feed had brought."""
        template = memory.template
        if not memory.exclusive and not memory.events_only:
            memory.anchor = await self._choose_anchor(template)
        anchor = memory.anchor
        assert anchor is not None
        if anchor == NOWHERE:
            had = {source.owner.id for source in memory.sources.values()}
            await asyncio.gather(*(self._widen(memory, contact) for contact in self._owners.everybody() if contact.id not in had))
            return
        feature = _feature(template, anchor)
        owner = (await self._owners.of([feature]))[feature]
        await self._feed_from(memory, owner, anchor, facts)

    async def _widen(self, memory: _Memory, contact: dht.Contact) -> None:
        """Post a template without constants at one more peer; one that cannot be reached has nothing to say."""
        try:
            await self._feed_from(memory, contact, NOWHERE, {})
        except PeerUnreachable as error:
            log.info("template without constants not posted: %s", error)

    async def _choose_anchor(self, template: Template) -> int:
        candidates = template.anchors()
        if len(candidates) < 2:
            return choose_anchor(template, {})
        features = [_feature(template, position) for position in candidates]
        owners = await self._owners.of(features)
        by_owner: dict[dht.Contact, list[int]] = {}
        for position, feature in zip(candidates, features, strict=True):
            by_owner.setdefault(owners[feature], []).append(position)
        load_at: dict[int, Load] = {}

        async def ask(owner: dht.Contact, positions: list[int]) -> None:
            try:
                answer = await self._exchange.ask(owner, lambda request: AskLoads(request, template, positions), Loads)
            except PeerUnreachable:
                self._owners.lost(owner.id)
                return
            load_at.update(zip(positions, answer.loads, strict=False))

        await asyncio.gather(*(ask(owner, positions) for owner, positions in by_owner.items()))
        return choose_anchor(template, load_at)

    async def _feed_from(self, memory: _Memory, owner: dht.Contact, anchor: int, facts: dict[Tuple, None]) -> None:
        """One feed, until its first snapshot is whole."""
        number = next(self._numbers)
        source: _Source | None = None
        try:
            channel = await self._exchange.channel(owner)
            source = _Source(memory, owner, channel, AlphaFeed(number, facts))
            self._sources[number] = memory.sources[number] = source
            answer = channel.ask(
                lambda request: InsertCondition(
                    request, number, memory.template, anchor, memory.test, memory.events_only, memory.exclusive
                )
            )
            await answer_of(channel, answer, Done)
            if not memory.events_only:
                try:
                    async with asyncio.timeout(ANSWER_TIMEOUT_S) as source.silence:
                        await source.whole
                except TimeoutError:
                    raise PeerUnreachable(f"{show(owner)} stopped in the middle of a snapshot") from None
            elif not source.whole.done():
                source.whole.set_result(None)
        except BaseException as error:
            if source is not None:
                self._sources.pop(number, None)
                memory.sources.pop(number, None)
                self._tell_removed(source)
            if isinstance(error, PeerUnreachable):
                self._owners.lost(owner.id)
            raise
        if not memory.users:
            # Whoever asked has gone meanwhile.
            self._sources.pop(number, None)
            memory.sources.pop(number, None)
            self._tell_removed(source)

    async def _restore(self, source: _Source) -> None:
        """Replace a feed whose link broke, for as long as somebody wants it."""
        memory = source.memory
        attempt = 0
        if memory.anchor == NOWHERE:
            # That peer's facts are unknown until it is heard of again (see discovered).
            self._change(source, [(fact, -1) for fact in source.feed.facts])
            return
        while memory.users:
            try:
                await self._post(memory, source.feed.facts)
                return
            except GsgError as error:
                pause = RETRY_S[min(attempt, len(RETRY_S) - 1)]
                log.warning("feed of %s not restored, next attempt in %.1f s: %s", memory.template, pause, error)
                attempt += 1
                await asyncio.sleep(pause)

    def _resume(self, source: _Source) -> None:
        source.feed.state = FeedState.WAITING
        with contextlib.suppress(PeerUnreachable):  # broken() sets the feed up anew
            source.channel.send(Resume(source.feed.number))

    def _change(self, source: _Source, differences: Differences) -> None:
        if differences:
            self._network.change_memory(source.memory.template, differences)

    def _facts_of(self, template: rete.AnyTemplate) -> list[Tuple]:
        return [fact for source in self._memories[template].sources.values() for fact in source.feed.facts]

    def _count_of(self, template: rete.AnyTemplate) -> int:
        return sum(len(source.feed.facts) for source in self._memories[template].sources.values())


def _pedro_order(memory: _Memory) -> tuple[bool, int]:
    return memory.anchor == NOWHERE, -memory.number


def _feature(template: Template, position: int) -> tuple[int, int, Term]:
    constant = template.pattern[position]
    assert constant is not None, "an anchor is a constant"
    return (len(template.pattern), position, constant)

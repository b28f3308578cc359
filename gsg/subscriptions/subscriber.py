"""The standing queries of a peer: alpha memories are kept by feeds from elsewhere, joins run here, rows go out.

A query's conditions become templates; each template has one memory in this peer, whoever asks for it. A query enters the network
when the snapshots of all its memories are whole, so that its first rows are its answer. One that takes long to enter has its place
in another network (:mod:`gsg.subscriptions.long_queries`), so that the others have their turn meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from math import inf
from typing import TypeAlias

import rete

from ..background import StartTask
from ..errors import Overrun, PeerMisbehaved, Stale, TooManyTokens
from ..feeds.acknowledging import Arrivals
from ..feeds.alpha_memories import Memory, OnEvent
from ..feeds.feed import Differences, RecentEvents
from ..feeds.feeds import Intake
from ..feeds.seen_events import Heard
from ..interleaving import in_thread
from ..languages.query import Query, alphas, is_large, refusing_bad_queries, too_many_tokens
from ..placement.holders import Holders
from ..placement.rules import NOWHERE, Anchor
from ..rendezvous.broken_links import BACK_S
from ..tuples.features import Template
from ..tuples.long_constants import size_of
from ..tuples.terms import Tuple
from ..wire.exchange import Channel, Exchange, show
from ..wire.messages import Deltas, Event, Gap, Happened, Missed, Moved, Passed, Snapshot, Test
from .entrance import Entrance
from .long_queries import AT_ONCE, LongQueries
from .windows import FullWindows, windowed

log = logging.getLogger(__name__)

OnRows: TypeAlias = Callable[[list[tuple[Tuple, int]]], None]
OnEnd: TypeAlias = Callable[[TooManyTokens], None]
OnOverrun: TypeAlias = Callable[[Overrun], None]
OnStale: TypeAlias = Callable[[Stale], None]
Flashed: TypeAlias = dict[rete.Production, list[tuple[Tuple, int]]]
"""The rows that events made for their moment, and that are still to be told."""
FromRendezvous: TypeAlias = Deltas | Gap | Happened | Missed | Moved | Passed | Snapshot


class Standing:
    """A query in the network of this peer."""

    __slots__ = ("flashed", "long", "memories", "on_end", "on_full", "on_missed", "on_stale", "production", "since_s")

    def __init__(
        self,
        memories: list[Memory],
        production: rete.Production,
        flashed: OnRows,
        on_end: OnEnd,
        on_full: OnOverrun,
        on_missed: OnOverrun,
        on_stale: OnStale,
        since_s: float,
        long: LongQueries | None,
    ) -> None:
        self.since_s = since_s
        """When it was complete: of what was said before it is not to hear, however late that comes."""
        self.on_end = on_end
        self.on_full: OnOverrun | None = on_full
        """Hears, once, that a window of the query is full."""
        self.on_missed = on_missed
        """Hears that events did not come."""
        self.on_stale = on_stale
        """Hears that rows may be out of date."""
        self.memories = memories
        self.production = production
        self.flashed = flashed
        """Hears of rows that held for the moment of an event."""
        self.long = long
        """Where it is, if it took long to enter."""

    def rows(self) -> Counter[Tuple]:
        """The rows that hold now. Raises TooManyTokens where it takes too long to find them."""
        if self.long is not None:
            self.long.claim()
        with refusing_bad_queries():
            return self.production.rows()


class Subscriber:
    """The standing queries and listeners of one peer. ``start_task`` runs a coroutine for as long as the peer lives, ``rule``
    chooses anchors."""

    def __init__(self, holders: Holders, exchange: Exchange, start_task: StartTask, *, rule: Anchor = Anchor.RAREST) -> None:
        self._network = rete.Network(
            lambda alpha: self.intake.facts(alpha), lambda alpha: self.intake.size(alpha), by_feed=True, on_end=self._too_large
        )
        self._entrance = Entrance(self._network)
        self._full_windows = FullWindows(self._network)
        self._long = LongQueries(lambda alpha: self.intake.facts(alpha), self._too_large)
        self.intake = Intake(holders, exchange, on_change=self._change, is_fed=self._is_fed, start_task=start_task, rule=rule)
        self.intake.staleness.on_stale = self._stale
        self.inorder = self.intake.inorder
        self.inorder.on_happened = self.happened_all
        self.inorder.on_held = self.held
        self._standing: dict[rete.Production, Standing] = {}
        self._asking: dict[Memory, dict[Standing, None]] | None = None
        """Who asks for each memory, from when somebody was first told. Bounded by the standing queries, each with its memories."""
        self._recent = RecentEvents()
        self._heard = Heard()
        self._arrivals = Arrivals()
        self.missed = 0
        """Events that did not come, as a link to this peer was full, or broke, for longer than they are kept, since the start."""
        self._expiry: asyncio.TimerHandle | None = None

    async def subscribe(
        self,
        query: Query,
        on_rows: OnRows,
        on_events: OnRows,
        on_end: OnEnd,
        on_full: OnOverrun,
        on_missed: OnOverrun,
        on_stale: OnStale,
        *,
        max_tokens: int,
    ) -> tuple[Standing, list[tuple[Tuple, int]]]:
        """Add a query; returns it when its first answer is complete, and that. ``on_rows`` hears of changes from then on, which may
        be before this returns, ``on_end`` when it turns out to hold more than ``max_tokens``, and is to be removed, ``on_full``
        when events leave a window of its early, ``on_missed`` when some did not come, ``on_stale`` when rows may be out of date, as
        they may be by now.

        Raises PeerUnreachable or Refused when a template could not be posted, BadQuery when the query cannot be built,
        TooManyTokens when it holds too much at once.
        """
        memories: list[Memory] = []
        try:
            for alpha in await in_thread(alphas, query) if is_large(query) else alphas(query):
                memories.append(self.intake.use(alpha))
            for memory in memories:
                await self.intake.until_ready(memory)
            production, rows, long = await self._enter(query, memories, on_rows, max_tokens)
        except BaseException:
            for memory in memories:
                self.intake.leave(memory)
            raise
        standing = self._standing[production] = Standing(
            memories, production, on_events, on_end, on_full, on_missed, on_stale, self._now(), long
        )
        if self._asking is not None:
            _add(self._asking, standing)
        self._full_windows.again()
        for memory in memories:
            if (stale := self.intake.staleness.reason_for(memory)) is not None:
                on_stale(stale)
        return standing, rows

    async def _enter(
        self, query: Query, memories: list[Memory], on_rows: OnRows, max_tokens: int
    ) -> tuple[rete.Production, list[tuple[Tuple, int]], LongQueries | None]:
        """Add a query to the network that it belongs to; in the end that of long ones, if it is one.

        One with a window is to find there what happened before it was asked, so it is where the window is. In a simulated network
        no step takes time, and a thread would.
        """
        is_simulated = getattr(asyncio.get_running_loop(), "is_simulated", False)
        waits = is_simulated or any(memory.alpha.window for memory in memories)
        if waits or not is_large(query):
            with suppress(rete.TakesLong):
                entered = self._entrance.enter(query, on_rows, max_tokens, rete.UNLIMITED if waits else AT_ONCE)
                return *entered, None
        return *await self._long.enter(query, [memory.alpha for memory in memories], on_rows, max_tokens), self._long

    def _is_fed(self, alpha: rete.AlphaSpec) -> bool:
        return alpha in self._long.alphas or self._network.is_fed(alpha)

    def _change(self, alpha: rete.AlphaSpec, differences: Differences) -> None:
        self._network.change_memory(alpha, differences)
        if self._long.alphas and alpha in self._long.alphas:
            self._long.change(alpha, differences)

    def _too_large(self, production: rete.Production, why: rete.TooManyTokens) -> None:
        standing = self._standing.get(production)
        if standing is not None:
            standing.on_end(too_many_tokens(why))

    def networks(self) -> tuple[rete.Network, rete.Network]:
        """The matchers: of what is entered at once, and of what takes longer, which is waited for where it is at a query."""
        self._long.claim()
        return self._network, self._long.network

    async def until_free(self) -> None:
        """Wait until the matchers can be looked into at once, which they can until the loop goes on."""
        await self._long.until_free()

    def facts_of(self, condition: rete.Condition | rete.AlphaSpec) -> Iterable[Tuple]:
        """What a condition may match now: the facts that came here for it, or the events of its window."""
        return self.intake.like(condition) if condition.window is None else windowed(self._network, condition)

    def unsubscribe(self, standing: Standing) -> None:
        """Remove a query; feeds that nobody else uses end, and with them the templates at their rendezvous."""
        if self._standing.pop(standing.production, None) is not None:
            if standing.long is None:
                self._entrance.leave(standing.production)
            else:
                standing.long.leave(standing.production, [memory.alpha for memory in standing.memories])
            if self._asking is not None:
                _remove(self._asking, standing)
            for memory in standing.memories:
                self.intake.leave(memory)

    async def listen(
        self,
        template: Template,
        on_event: OnEvent,
        *,
        anchor: int,
        test: Test | None = None,
        exclusive: bool = False,
        note: int = 0,
    ) -> Memory:
        """Hear of events that match a template and pass its test, posted at the anchor given, until :meth:`end_listening`.

        ``on_event`` is called with the event and the ``note``.

        Raises PeerUnreachable, or Refused: among others when ``exclusive`` and the place is taken.
        """
        memory = self.intake.listen(template, on_event, anchor=anchor, test=test, exclusive=exclusive, note=note)
        try:
            await self.intake.until_ready(memory)
        except BaseException:
            self.intake.leave(memory)
            raise
        return memory

    def end_listening(self, memory: Memory) -> None:
        """Hear no more of what :meth:`listen` began."""
        if memory.users:
            self.intake.leave(memory)

    def received(self, channel: Channel, message: FromRendezvous) -> None:
        """What a rendezvous tells."""
        match message:
            case Happened():
                if len(message.feeds) != len(message.events):
                    raise PeerMisbehaved(f"{len(message.events)} events with {len(message.feeds)} lists of feeds; expected as many")
                self._arrivals.came(channel)
                if self._concerns_us(channel, message):
                    self.inorder.take_events(channel, message)
            case Deltas():
                self.intake.deltas(channel, message)
            case Snapshot():
                self.intake.snapshot(channel, message)
            case Passed():
                self.inorder.note_passed(channel, message)
            case Gap():
                self.intake.gap(channel, message)
            case Missed():
                self._missed(channel, message)
            case Moved():
                self.intake.moved(channel, message)

    def _concerns_us(self, channel: Channel, happened: Happened) -> bool:
        """Whether some feed of it comes by this channel: nobody else is to say what was published, and what comes before it."""
        of_feed = self.intake.of_feed
        for feeds in happened.feeds:
            for number in feeds:
                if of_feed(channel, number) is not None:
                    return True  # nearly always the first
        return False

    def broken(self, channel: Channel) -> None:
        """A link is gone: what it fed is set up anew, and what comes by others waits a moment at most for what it had to bring."""
        self.intake.broken(channel)
        self.inorder.note_broken(channel)
        self._arrivals.lost(channel)

    def happened_all(self, channel: Channel, publisher: bytes, events: Sequence[Event], feeds: Sequence[Sequence[int]]) -> None:
        """It is the turn of events: as :meth:`happened` for each of them, but each query hears of its rows at once."""
        gathered: Flashed = {}
        for event, numbers in zip(events, feeds, strict=True):
            try:
                self._happened(channel, publisher, event, numbers, gathered)
            except Exception:
                # A defect of ours in one listener must not keep the others waiting.
                log.exception("an event was not carried out")
        self._tell_flashed(gathered)

    def happened(self, channel: Channel, publisher: bytes, event: Event, feeds: Sequence[int]) -> None:
        """It is the turn of an event that some feeds match: listeners hear, and it joins with the facts of this moment, once."""
        gathered: Flashed = {}
        self._happened(channel, publisher, event, feeds, gathered)
        if gathered:
            self._tell_flashed(gathered)

    def held(self, channel: Channel, publisher: bytes, event: Event, feeds: Sequence[int]) -> Callable[[], None]:
        """What is to be done when it is the turn of an event that has come already, and some feeds match.

        Whoever listens now hears of it then, also where it has ended by then: it was said before. A query that is asked until then
        does not.
        """
        came_s = self._now()
        memories = [memory for number in feeds if (memory := self.intake.of_feed(channel, number)) is not None]

        def tell() -> None:
            gathered: Flashed = {}
            # A query that has ended has no rows any more.
            still = [memory for memory in memories if memory.on_event is not None or memory.users]
            self._hear(publisher, event, still, gathered, came_s)
            self._tell_flashed(gathered)

        return tell

    def _happened(self, channel: Channel, publisher: bytes, event: Event, feeds: Sequence[int], gathered: Flashed) -> None:
        of_feed = self.intake.of_feed
        if len(feeds) == 1:
            # Nearly always, so it is made short.
            only = of_feed(channel, feeds[0])
            if only is None:
                return
            if only.on_event is not None and self.intake.alone:
                only.on_event(event, only.note)
                return
            memories = [only]
        else:
            memories = [memory for number in feeds if (memory := of_feed(channel, number)) is not None]
        self._hear(publisher, event, memories, gathered)

    def _hear(self, publisher: bytes, event: Event, memories: list[Memory], gathered: Flashed, came_s: float | None = None) -> None:
        """Tell whom an event concerns; ``came_s`` is when it came here, where that was not now.

        Who asked since it was said does not hear of it, as far as is known when that was.
        """
        said_s = inf if came_s is None else came_s
        if event.late_s > 0:
            now = self._now()
            said_s = min(said_s, now) - (event.late_s - 1)
            memories = [memory for memory in memories if self.intake.heard_then(memory, now - said_s)]
        # Newest first, those without constants last: the order in which Pedro serves its subscriptions (facts, section 3).
        memories.sort(key=_pedro_order)
        listeners: Sequence[Memory] = [memory for memory in memories if memory.on_event is not None]
        joins = len(listeners) < len(memories)
        if listeners and not self.intake.alone:
            # A listener may stand by where it is fed, for a moment.
            listeners = self._heard.anew(publisher, event.number, list(dict.fromkeys(listeners)))
        for memory in listeners:
            assert memory.on_event is not None, "a listener"
            memory.on_event(event, memory.note)
        if joins and self._recent.is_new(publisher, event.number):
            if self._long.alphas and any(memory.alpha in self._long.alphas for memory in memories):
                self._flash_long(event, said_s, gathered)
            if self._network.has_windows:
                # What a window tells has its place between the rows of one event and those of the next.
                self._tell_flashed(gathered)
                rows_of = self._network.notify(event.items, self._now())
                gathered.update({production: rows for production, rows in rows_of if not self._asked_since(production, said_s)})
                self._tell_flashed(gathered)
                self._tell_full_windows()
                self._expire_later()
                return
            self._flash(self._network, event, said_s, gathered)

    def _flash(self, network: rete.Network, event: Event, said_s: float, gathered: Flashed) -> None:
        for production, rows in network.flash(event.items):
            if self._asked_since(production, said_s):
                continue
            known = gathered.get(production)
            if known is None:
                gathered[production] = rows
            else:
                known += rows

    def _flash_long(self, event: Event, said_s: float, gathered: Flashed) -> None:
        """The same for queries that took long to enter."""
        if not self._long.is_busy:
            self._flash(self._long.network, event, said_s, gathered)
            return
        said_s = min(said_s, self._now())

        def tell() -> None:
            rows: Flashed = {}
            self._flash(self._long.network, event, said_s, rows)
            self._tell_flashed(rows)

        self._long.later(tell, 1, size_of(event.items))

    def _asked_since(self, production: rete.Production, said_s: float) -> bool:
        standing = self._standing.get(production)
        return standing is not None and standing.since_s > said_s

    def _tell_flashed(self, gathered: Flashed) -> None:
        """Each query hears of the rows that events made for their moment."""
        for production, rows in gathered.items():
            # Whoever heard of rows before may have ended the others.
            standing = self._standing.get(production)
            if standing is not None:
                standing.flashed(rows)
        gathered.clear()

    def _missed(self, channel: Channel, missed: Missed) -> None:
        """A rendezvous could not keep all events until this peer took them: whoever asked for them is told."""
        memory = self.intake.of_feed(channel, missed.feed)
        if memory is None or missed.events < 1:
            return
        self.missed += missed.events
        log.warning(
            "%d events of feed %d from %s were missed: its link was full, or had broken",
            *(missed.events, missed.feed, show(channel.contact)),
        )
        for standing in self._who_asks(memory):
            standing.on_missed(
                Overrun(
                    f"{missed.events} events were missed because this peer did not take them in time, or its link to who kept them "
                    "had broken; rows that are state are complete: give the peer more of the machine, or ask for fewer events",
                    lost=missed.events,
                )
            )

    def was_away(self, away_s: float) -> None:
        """This peer was stopped for so long: every subscription is told where others may have given up keeping events for it."""
        if away_s >= BACK_S:
            overrun = Overrun(
                f"events may have been missed: this peer was stopped for {away_s:.0f} s, and others keep them for one that is "
                f"back within {BACK_S:.0f} s; rows that are state will be right again in a moment",
                lost=0,
            )
            for standing in list(self._standing.values()):
                standing.on_missed(overrun)

    def _stale(self, memory: Memory, why: Stale) -> None:
        """A feed could not be set up anew for some time: whoever asked for it is told. Listeners are not: it is in the log."""
        for standing in self._who_asks(memory):
            standing.on_stale(why)

    def _who_asks(self, memory: Memory) -> list[Standing]:
        """The queries that have a memory."""
        if self._asking is None:
            # Many feeds are told of at once.
            self._asking = {}
            for standing in self._standing.values():
                _add(self._asking, standing)
        return list(self._asking.get(memory, ()))

    def _tell_full_windows(self) -> None:
        for spec, overrun in self._full_windows.take().items():
            for standing in list(self._standing.values()):
                if standing.on_full is not None and any(memory.alpha == spec for memory in standing.memories):
                    tell, standing.on_full = standing.on_full, None
                    tell(overrun)

    def stop(self) -> None:
        """The peer stops: windows wait for their time no longer, nor events for their turn."""
        self.inorder.stop()
        self._arrivals.stop()
        self._long.stop()
        if self._expiry is not None:
            self._expiry.cancel()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    def _expire_later(self) -> None:
        """Wake up when the next event leaves a window; with several windows that may be sooner than was arranged."""
        soonest = self._network.next_expiry()
        if soonest is None:
            return
        if self._expiry is not None:
            if self._expiry.when() <= soonest:
                return
            self._expiry.cancel()
        self._expiry = asyncio.get_running_loop().call_at(soonest, self._expire)

    def _expire(self) -> None:
        self._expiry = None
        self._network.expire(self._now())
        self._expire_later()


def _add(asking: dict[Memory, dict[Standing, None]], standing: Standing) -> None:
    for memory in standing.memories:
        asking.setdefault(memory, {})[standing] = None


def _remove(asking: dict[Memory, dict[Standing, None]], standing: Standing) -> None:
    for memory in standing.memories:
        those = asking.get(memory, {})
        those.pop(standing, None)
        if not those:
            asking.pop(memory, None)


def _pedro_order(memory: Memory) -> tuple[bool, int]:
    return memory.anchor == NOWHERE, -memory.number

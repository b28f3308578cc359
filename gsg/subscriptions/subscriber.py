"""The standing queries of a peer: alpha memories are kept by feeds from elsewhere, joins run here, rows go out.

A query's conditions become templates; each template has one memory in this peer, whoever asks for it. A query enters the network
when the snapshots of all its memories are whole, so that its first rows are its answer. One that takes long to enter has its place
in another network (:mod:`gsg.subscriptions.long_queries`), so that the others have their turn meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby

import rete

from ..background import StartTask
from ..errors import Overrun, Stale
from ..feeds.alpha_memory import AlphaMemory, OnEvent
from ..feeds.feed import Differences
from ..feeds.feeds import Feeds
from ..interleaving import in_thread
from ..languages.query import Query, alphas, is_large
from ..placement.holders import Holders
from ..placement.rules import Anchor
from ..rendezvous.broken_links import BACK_S
from ..tuples.features import Template
from ..tuples.long_constants import size_of
from ..tuples.terms import Tuple
from ..wire.exchange import Exchange
from ..wire.messages import Event, Test
from .entrance import Entrance
from .long_queries import AT_ONCE, Entered, LongQueries
from .standing_query import RowsTold, StandingQuery
from .windows import FullWindows, windowed


class Subscriber:
    """The standing queries and listeners of one peer. ``start_task`` runs a coroutine for as long as the peer lives, ``rule``
    chooses anchors."""

    def __init__(self, holders: Holders, exchange: Exchange, start_task: StartTask, *, rule: Anchor = Anchor.RAREST) -> None:
        self.feeds = Feeds(holders, exchange, self, start_task, rule)
        """What keeps the memories of the queries."""
        memories = self.feeds.memories
        self._network = rete.Network(memories.facts, memories.size, by_feed=True, on_end=self._too_large)
        self._entrance = Entrance(self._network, memories.size_alike)
        self._full_windows = FullWindows(self._network)
        self._long = LongQueries(memories.facts, self._too_large)
        self._standing: dict[rete.Production, StandingQuery] = {}
        self._asking: dict[AlphaMemory, dict[StandingQuery, None]] | None = None
        """Who asks for each memory, from when somebody was first told. Bounded by the standing queries, each with its memories."""
        self._event_rows: dict[rete.Production, list[tuple[Tuple, int]]] = {}
        """The rows that events made for their moment, and that are still to be told (:meth:`tell_rows`)."""
        self.missed = 0
        """Events that did not come, as a link to this peer was full, or broke, for longer than they are kept, since the start."""
        self.rows_told = RowsTold()
        self._expiry: asyncio.TimerHandle | None = None

    async def subscribe(self, standing: StandingQuery, max_tokens: int) -> list[tuple[Tuple, int]]:
        """Add a query; returns its first answer when that is complete. It hears of changes from then on, which may be before this
        returns, and when it turns out to hold more than ``max_tokens``, and is to be removed.

        Raises PeerUnreachable or Refused when a template could not be posted, BadQuery when the query cannot be built,
        TooManyTokens when it holds too much at once.
        """
        query, memories = standing.query, standing.memories
        standing.rows_told = self.rows_told
        try:
            large = is_large(query)
            # One form for both, so that constants are put back once.
            like = query if large else self._entrance.as_template(query)
            for alpha in await in_thread(alphas, query) if large else alphas(like):
                memories.extend(self.feeds.use_memories(alpha))
            await self._until_ready(memories)
            standing.production, rows = await self._enter(standing, None if large else like, max_tokens)
        except BaseException:
            for memory in memories:
                self.feeds.release(memory)
            raise
        standing.since_s = self._now()
        self._standing[standing.production] = standing
        if self._asking is not None:
            _add(self._asking, standing)
        self._full_windows.again()
        for memory in memories:
            if (stale := self.feeds.staleness.reason_for(memory)) is not None:
                standing.live.tell_problem(stale)
        return rows

    async def _until_ready(self, memories: Sequence[AlphaMemory]) -> None:
        """Set up one alpha memory after the other, and at once what keeps one of them under several keys."""
        for _, same in groupby(memories, key=lambda memory: memory.alpha):
            first, *others = same
            if others:
                # All are waited for: one that goes on alone would be set up for nobody.
                told = await asyncio.gather(*map(self.feeds.until_ready, (first, *others)), return_exceptions=True)
                for problem in told:
                    if problem is not None:
                        raise problem
            else:
                await self.feeds.until_ready(first)

    async def _enter(self, standing: StandingQuery, like: Query | None, max_tokens: int) -> Entered:
        """Add a query to the network that it belongs to; in the end that of long ones, if it is one. ``like`` is what it is as one
        of its template, None of a large one.

        One with a window is to find there what happened before it was asked, so it is where the window is. In a simulated network
        no step takes time, and a thread would.
        """
        query, memories = standing.query, standing.memories
        is_simulated = getattr(asyncio.get_running_loop(), "is_simulated", False)
        waits = is_simulated or any(memory.alpha.window for memory in memories)
        if waits or like is not None:
            with suppress(rete.TakesLong):
                like = like or self._entrance.as_template(query)
                at_once = rete.UNLIMITED if waits else AT_ONCE
                facts = partial(_facts_of_arguments, like, memories)
                return self._entrance.enter_template(like, standing.tell_changes, max_tokens, at_once, facts)
        entered = await self._long.enter(query, standing.alphas, standing.tell_changes, max_tokens)
        standing.long = self._long
        return entered

    def count_sharing(self, query: Query) -> int:
        """How many queries share a network that the query would be in, too."""
        return self._entrance.count_sharing(query)

    def unsubscribe(self, standing: StandingQuery) -> None:
        """Remove a query; feeds that nobody else uses end, and with them the templates at their rendezvous."""
        if self._standing.pop(standing.production, None) is None:
            return
        if standing.long is None:
            self._entrance.leave(standing.production)
        else:
            standing.long.leave(standing.production, standing.alphas)
        if self._asking is not None:
            _remove(self._asking, standing)
        for memory in standing.memories:
            self.feeds.release(memory)

    def _too_large(self, production: rete.Production, why: rete.TooManyTokens) -> None:
        standing = self._standing.get(production)
        if standing is not None:
            standing.end_too_large(why)

    def networks(self) -> tuple[rete.Network, rete.Network]:
        """The matchers: of what is entered at once, and of what takes longer, which is waited for where it is at a query."""
        self._long.claim()
        return self._network, self._long.network

    async def until_free(self) -> None:
        """Wait until the matchers can be looked into at once, which they can until the loop goes on."""
        await self._long.until_free()

    def facts_of(self, condition: rete.Condition | rete.AlphaSpec) -> Iterable[Tuple]:
        """What a condition may match now: the facts that came here for it, or the events of its window."""
        return self.feeds.memories.facts_like(condition) if condition.window is None else windowed(self._network, condition)

    async def listen(
        self,
        template: Template,
        on_event: OnEvent,
        *,
        anchor: int,
        test: Test | None = None,
        exclusive: bool = False,
        note: int = 0,
    ) -> AlphaMemory:
        """Hear of events that match a template and pass its test, posted at the anchor given, until :meth:`end_listening`.

        ``on_event`` is called with the event and the ``note``.

        Raises PeerUnreachable, or Refused: among others when ``exclusive`` and the place is taken.
        """
        memory = self.feeds.make_listener(template, on_event, anchor=anchor, test=test, exclusive=exclusive, note=note)
        try:
            await self.feeds.until_ready(memory)
        except BaseException:
            self.feeds.release(memory)
            raise
        return memory

    def end_listening(self, memory: AlphaMemory) -> None:
        """Hear no more of what :meth:`listen` began."""
        if memory.users:
            self.feeds.release(memory)

    # --- what feeds tell --------------------------------------------------------------------------------------------------

    def change_memory(self, alpha: rete.AlphaSpec, differences: Differences) -> None:
        """Facts of an alpha memory have come and gone."""
        self._network.change_memory(alpha, differences)
        if self._long.alphas and alpha in self._long.alphas:
            self._long.change(alpha, differences)

    def is_fed(self, alpha: rete.AlphaSpec) -> bool:
        """Whether any query looks at an alpha memory, also one that is about to leave."""
        return alpha in self._long.alphas or self._network.is_fed(alpha)

    def join_event(self, event: Event, memories: Sequence[AlphaMemory], said_s: float) -> None:
        """An event of these memories joins with the facts of this moment; no query that was asked after ``said_s`` hears of it."""
        if self._long.alphas and any(memory.alpha in self._long.alphas for memory in memories):
            self._join_long(event, said_s)
        if not self._network.has_windows:
            self._join(self._network, event, said_s)
            return
        # What a window tells has its place between the rows of one event and those of the next.
        self.tell_rows()
        rows_of = self._network.notify(event.items, self._now())
        self._event_rows.update({production: rows for production, rows in rows_of if not self._asked_since(production, said_s)})
        self.tell_rows()
        self._full_windows.tell(self._standing.values())
        self._expire_later()

    def _join(self, network: rete.Network, event: Event, said_s: float) -> None:
        event_rows = self._event_rows
        for production, rows in network.flash(event.items):
            if self._asked_since(production, said_s):
                continue
            known = event_rows.get(production)
            if known is None:
                event_rows[production] = rows
            else:
                known += rows

    def _join_long(self, event: Event, said_s: float) -> None:
        """The same for queries that took long to enter."""
        if not self._long.is_busy:
            self._join(self._long.network, event, said_s)
            return
        said_s = min(said_s, self._now())

        def join() -> None:
            self._join(self._long.network, event, said_s)
            self.tell_rows()

        self._long.later(join, 1, size_of(event.items))

    def _asked_since(self, production: rete.Production, said_s: float) -> bool:
        standing = self._standing.get(production)
        return standing is not None and standing.since_s > said_s

    def tell_rows(self) -> None:
        """Tell each query of the rows that events made for their moment."""
        if not self._event_rows:
            return
        event_rows, self._event_rows = self._event_rows, {}
        for production, rows in event_rows.items():
            # Whoever heard of rows before may have ended the others.
            standing = self._standing.get(production)
            if standing is not None:
                standing.tell_events(rows)

    def note_missed(self, memory: AlphaMemory, events: int) -> None:
        """A rendezvous could not keep all events until this peer took them: whoever asked for them is told."""
        self.missed += events
        for standing in self._who_asks(memory):
            standing.live.tell_missed(
                Overrun(
                    f"{events} events were missed because this peer did not take them in time, or its link to who kept them "
                    "had broken; rows that are state are complete: give the peer more of the machine, or ask for fewer events",
                    lost=events,
                )
            )

    def note_stale(self, memory: AlphaMemory, why: Stale) -> None:
        """A feed could not be set up anew for some time: whoever asked for it is told. Listeners are not: it is in the log."""
        for standing in self._who_asks(memory):
            standing.live.tell_problem(why)

    def was_away(self, away_s: float) -> None:
        """This peer was stopped for so long: every subscription is told where others may have given up keeping events for it."""
        if away_s >= BACK_S:
            overrun = Overrun(
                f"events may have been missed: this peer was stopped for {away_s:.0f} s, and others keep them for one that is "
                f"back within {BACK_S:.0f} s; rows that are state will be right again in a moment",
                lost=0,
            )
            for standing in list(self._standing.values()):
                standing.live.tell_missed(overrun)

    def _who_asks(self, memory: AlphaMemory) -> list[StandingQuery]:
        """The queries that have a memory."""
        if self._asking is None:
            # Many feeds are told of at once.
            self._asking = {}
            for standing in self._standing.values():
                _add(self._asking, standing)
        return list(self._asking.get(memory, ()))

    def stop(self) -> None:
        """The peer stops: windows wait for their time no longer, nor events for their turn."""
        self.feeds.stop()
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


def _facts_of_arguments(like: Query, memories: Iterable[AlphaMemory]) -> int:
    """How many facts there are of those conditions of a query that have its arguments."""
    templates = rete.open_templates(like.body)
    return sum(memory.size() for memory in memories if any(template.covers(memory.template) for template in templates))


def _add(asking: dict[AlphaMemory, dict[StandingQuery, None]], standing: StandingQuery) -> None:
    for memory in standing.memories:
        asking.setdefault(memory, {})[standing] = None


def _remove(asking: dict[AlphaMemory, dict[StandingQuery, None]], standing: StandingQuery) -> None:
    for memory in standing.memories:
        those = asking.get(memory, {})
        those.pop(standing, None)
        if not those:
            asking.pop(memory, None)

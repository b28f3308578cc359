"""Queries that take long to enter: they have a network of their own, and a thread enters them while others have their turn.

    asked ──those before it were entered──> under way ──the thread is done──> behind what came meanwhile ──> entered
      └────────────── whoever asked has gone: abandoned, and nothing of it is left ───────────────┘

While a query is under way the network is the thread's alone. What comes for it then waits, in order, and is carried out by the loop
before the query counts as entered: facts as transactions of their own, as they came, and then what events and the ends of other
queries do. So whoever asked has the rows of the beginning, and hears of all that has changed since. Once nothing waits any more,
the network is as any other one.

Such queries share what they have in common with each other, and nothing with those that are entered at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from typing import TypeAlias

import rete

from ..errors import DoorClosed
from ..feeds.feed import Differences
from ..interleaving import interleaved
from ..languages.query import Query, too_many_tokens
from ..tuples.long_constants import size_of
from ..tuples.terms import Tuple
from ..wire.waiting import WAITING_BYTES, Room
from .entrance import Entrance

log = logging.getLogger(__name__)

AT_ONCE = 50_000
"""The steps of a query (:mod:`rete.effort`) that is entered while others wait: some 25 ms. One that takes more is a long one."""
SLICE_S = 0.005
"""How long what has waited is carried out at a stretch, about."""
WAITING = 100_000
"""Facts and events that wait for a query that is under way, WAITING_BYTES of them at most. Beyond, others wait until it is entered,
as they did if there was no thread."""

Entered: TypeAlias = "tuple[rete.Production, list[tuple[Tuple, int]]]"
"""A query, and the rows that held when it began."""


class _Entering:
    """A query that is to be entered."""

    __slots__ = ("alphas", "entered", "listener", "max_tokens", "problem", "query", "waiter", "work")

    def __init__(
        self, query: Query, alphas: Sequence[rete.AlphaSpec], listener: Callable[[list[tuple[Tuple, int]]], None], max_tokens: int
    ) -> None:
        self.query = query
        self.alphas = alphas
        self.listener = listener
        self.max_tokens = max_tokens
        self.waiter: asyncio.Future[Entered] = asyncio.get_running_loop().create_future()
        """Of whoever asked; cancelled where that one has gone."""
        self.work: Future[Entered] | None = None
        """What the thread does, once it is under way."""
        self.entered: Entered | None = None
        """What has come of that."""
        self.problem: Exception | None = None
        """Why it was not entered, or has ended before whoever asked has heard that it was."""


class LongQueries:
    """Those of one peer.

    ``facts_of(alpha)`` gives the facts that are there for a condition; ``on_end`` hears of a query that holds too much after it was
    entered. ``threads`` runs one thing after the other; without it that is a thread, from the first of these queries on until
    :meth:`stop`.
    """

    def __init__(
        self,
        facts_of: Callable[[rete.AlphaSpec], Iterable[Tuple]],
        on_end: Callable[[rete.Production, rete.TooManyTokens], None],
        threads: Executor | None = None,
    ) -> None:
        self._facts_of = facts_of
        self._on_end = on_end
        self._threads = threads
        self.network = rete.Network(
            lambda alpha: self._facts[alpha], lambda alpha: len(self._facts[alpha]), by_feed=True, on_end=self._ended
        )
        """Their matcher: nobody else's while :attr:`is_busy`."""
        self._entrance = Entrance(self.network)
        self._facts: dict[rete.AlphaSpec, list[Tuple]] = {}
        """What was there for the query under way when that began."""
        self.alphas: Counter[rete.AlphaSpec] = Counter()
        """The conditions of those that are under way or were entered, each with how many have it. Bounded by these."""
        self._asked: deque[_Entering] = deque()
        """Those that wait for their turn. Bounded by what clients ask at a time; each goes with whoever asked."""
        self._under_way: _Entering | None = None
        self._last: _Entering | None = None
        """The one that was under way last, until whoever asked has heard."""
        self._waiting: deque[tuple[Callable[[], None], int, int]] = deque()
        """What is to be done in the network, with its facts and their bytes. Limits: WAITING, WAITING_BYTES, and for what has
        neither the queries that there are."""
        self._things = 0
        self._room = Room(WAITING_BYTES, each_bytes=0)
        self.is_busy = False
        """Whether a query is under way, or something waits still. What is to be done then is done :meth:`later`."""
        self._due: asyncio.Handle | None = None
        """The next slice; :meth:`stop` ends it."""

    async def enter(
        self,
        query: Query,
        alphas: Sequence[rete.AlphaSpec],
        listener: Callable[[list[tuple[Tuple, int]]], None],
        max_tokens: int,
    ) -> Entered:
        """Add a query of these conditions, in its turn; returns it and the rows of the beginning. ``listener`` hears of what has
        changed since, which may be before this returns.

        Raises TooManyTokens, DoorClosed where the peer stops.
        """
        entering = _Entering(query.bound(), alphas, listener, max_tokens)
        self._asked.append(entering)
        if not self.is_busy:
            self._begin()
        try:
            production, rows = await entering.waiter
        except asyncio.CancelledError:
            self._abandon(entering)
            raise
        self._last = None
        if entering.problem is not None:
            self.leave(production, alphas)
            raise entering.problem
        return production, rows

    def leave(self, production: rete.Production, alphas: Iterable[rete.AlphaSpec]) -> None:
        """Remove a query of these conditions."""
        self.later(partial(self._entrance.leave, production))
        self._count(alphas, -1)

    def change(self, alpha: rete.AlphaSpec, differences: Differences) -> None:
        """Facts of a condition of theirs have come or gone, as one transaction."""
        if not self.is_busy:
            self.network.change_memory(alpha, differences)
            return
        size_bytes = sum(size_of(fact) for fact, _ in differences)
        self.later(partial(self.network.change_memory, alpha, differences), len(differences), size_bytes)

    def later(self, do: Callable[[], None], things: int = 0, size_bytes: int = 0) -> None:
        """Do something in the network once it is free, after all that was to be done before: at once where it is. ``things`` are
        the facts and events that wait with it, ``size_bytes`` long."""
        if self.is_busy and (self._things + things > WAITING or not self._room.has(size_bytes)):
            self.settle()
        if not self.is_busy:
            do()
            return
        self._waiting.append((do, things, size_bytes))
        self._things += things
        self._room.take(size_bytes)

    async def until_free(self) -> None:
        """Wait until nobody is at the network, which so stays until whoever waits lets the loop go on."""
        if self._under_way is None:
            return
        free: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def is_free() -> None:
            if not free.done():
                free.set_result(None)
                self._go_on_soon()

        self.later(is_free)
        await free

    def claim(self) -> None:
        """Have the network for oneself until the loop goes on: what is under way is waited for, at a stretch."""
        if self._under_way is not None:
            self.settle()

    def settle(self) -> None:
        """Be done, at a stretch, with what is under way and what waits for it."""
        while self.is_busy:
            if self._under_way is not None:
                assert self._under_way.work is not None, "it has begun"
                wait([self._under_way.work])
                self._done(self._under_way)
            while self._waiting:
                self._carry_out()
            self.is_busy = False
        if self._asked:
            self._go_on_soon()

    def stop(self) -> None:
        """The peer stops: whoever waits for a query waits no longer."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        waiting = [*self._asked, *((self._under_way,) if self._under_way is not None else ())]
        self._asked.clear()
        self._waiting.clear()
        self.network.abandon()
        for entering in waiting:
            if not entering.waiter.done():
                entering.waiter.set_exception(DoorClosed("this peer stops, and enters no query any more"))
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    # --- one query --------------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Let the thread enter the next one."""
        while self._asked:
            entering = self._asked.popleft()
            if entering.waiter.done():
                continue
            try:
                entering.work = self._submit(entering)
            except Exception as error:
                # There may be no more threads: that costs this query, and none behind it.
                entering.waiter.set_exception(error)
                continue
            self.is_busy = True
            self._under_way = entering
            self._count(entering.alphas, 1)
            entering.work.add_done_callback(partial(self._work_done_in, asyncio.get_running_loop(), entering))
            return

    def _submit(self, entering: _Entering) -> Future[Entered]:
        # The facts as they are now: what changes from here on waits until these have been matched.
        self._facts = {alpha: list(self._facts_of(alpha)) for alpha in entering.alphas}
        if self._threads is None:
            self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gsg long queries")
        return self._threads.submit(
            partial(interleaved, self._entrance.enter, entering.query, entering.listener, entering.max_tokens)
        )

    def _work_done_in(self, loop: asyncio.AbstractEventLoop, entering: _Entering, _: Future[Entered]) -> None:
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            loop.call_soon_threadsafe(self._work_done, entering)

    def _work_done(self, entering: _Entering) -> None:
        if entering is self._under_way:  # it is not where others could not wait for it
            self._done(entering)
            self._go_on()

    def _done(self, entering: _Entering) -> None:
        """The thread is done with a query: whoever asked hears of that after all that came meanwhile."""
        assert entering.work is not None, "it has begun"
        self._under_way = None
        self._facts = {}
        try:
            entering.entered = entering.work.result()
        except Exception as error:  # also that it was cancelled before it began
            entering.problem = error
        self._last = entering
        self._waiting.append((partial(self._tell, entering), 0, 0))

    def _tell(self, entering: _Entering) -> None:
        waiter = entering.waiter
        if entering.problem is None and entering.entered is not None and not waiter.done():
            waiter.set_result(entering.entered)
            # What comes next is for a query that whoever asked knows by then.
            self._go_on_soon()
            return
        self._last = None
        if entering.entered is not None:
            self._entrance.leave(entering.entered[0])
        self._count(entering.alphas, -1)
        if not waiter.done():
            assert entering.problem is not None, "it was not entered, or has ended"
            waiter.set_exception(entering.problem)

    def _abandon(self, entering: _Entering) -> None:
        """Whoever asked has gone."""
        if entering.waiter.cancelled():
            if entering is self._under_way:
                assert entering.work is not None, "it has begun"
                if not entering.work.cancel():
                    self.network.abandon()
            elif entering in self._asked:
                self._asked.remove(entering)
        elif entering.waiter.exception() is None:
            # It was entered in the moment in which whoever asked was going.
            self._last = None
            self.leave(entering.waiter.result()[0], entering.alphas)

    def _ended(self, production: rete.Production, why: rete.TooManyTokens) -> None:
        last = self._last
        if last is not None and last.entered is not None and last.entered[0] is production:
            last.problem = too_many_tokens(why)
        else:
            self._on_end(production, why)

    def _count(self, alphas: Iterable[rete.AlphaSpec], change: int) -> None:
        for alpha in alphas:
            self.alphas[alpha] += change
            if not self.alphas[alpha]:
                del self.alphas[alpha]

    # --- what has waited --------------------------------------------------------------------------------------------------------

    def _go_on_soon(self) -> None:
        if self._due is None:
            self._due = asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        """One slice of what has waited, then the next query."""
        self._due = None
        if self._under_way is not None:
            return
        now = asyncio.get_running_loop().time
        ends_s = now() + SLICE_S
        while self._waiting and self._due is None and now() < ends_s:
            self._carry_out()
        if self._waiting:
            self._go_on_soon()
        if self._due is None:
            self.is_busy = False
            self._begin()

    def _carry_out(self) -> None:
        do, things, size_bytes = self._waiting.popleft()
        self._things -= things
        self._room.leave(size_bytes)
        try:
            do()
        except Exception:
            # A defect of ours in one listener must not keep the others waiting.
            log.exception("what came while a query was entered was not carried out")

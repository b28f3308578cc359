"""Whoever works at a peer of a trial: does what is due, tries again while peers come and go, and writes down what it was told."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from history import Answer, Published, Session, text_of
from schedule import (
    Deed,
    Done,
    Insert,
    Notify,
    Reconnect,
    Retract,
    Subscribe,
    Unsubscribe,
)

from gsg import GsgError, LiveSubscription, Peer, Row

if TYPE_CHECKING:
    from trial import World

PATIENCE_S = 90.0
"""How long a client tries to do one thing."""
RECONNECT_S = 0.3

T = TypeVar("T")


class Gone(Exception):
    """The client's peer died while it did something."""


class Client:
    """Somebody at a peer, who does one thing after the other, and goes to another peer where that one dies."""

    def __init__(self, world: World, name: str, home: int, rng: Random) -> None:
        self.name = name
        self.home: int | None = home
        self._last_home = home
        self._world = world
        self._rng = rng
        self._wanted: list[str] = []
        """Queries, oldest first."""
        self._sessions: dict[int, tuple[Session, LiveSubscription]] = {}
        """By place in _wanted; those that stand."""
        self._work: asyncio.Task[Any] | None = None  # Any: whatever it is at
        self._numbers: list[int] = []
        self._asked = 0

    async def live(self, deeds: list[Done]) -> None:
        """Do it all."""
        for done in deeds:
            await asyncio.sleep(max(0.0, done.at_s - self._now()))
            await self._ensure()
            await self._do(done.deed)
        await self._ensure()

    def lose_peer(self, number: int) -> None:
        """A peer died."""
        if self.home == number:
            self.home = None
            for session, _ in self._sessions.values():
                session.ended_s = self._now()
            self._sessions.clear()
            if self._work is not None:
                self._work.cancel()

    async def finish(self) -> None:
        """Everything is over: put down what each subscription has."""
        await self._ensure()
        for session, live in self._sessions.values():
            session.rows = answer_of(live)

    def _now(self) -> float:
        return self._world.net.loop.time()

    async def _call(self, work: Callable[[Peer], Coroutine[Any, Any, T]]) -> T:  # Any: as coroutines have it
        """Ask the peer something. Raises Gone when it dies meanwhile, or is dead."""
        peer = None if self.home is None else self._world.peers.get(self.home)
        if peer is None:
            raise Gone
        program = self._world.net.program(peer.contact.host)
        task = self._work = asyncio.get_running_loop().create_task(work(peer), context=program)
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise Gone from None
            raise
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
            self._work = None

    async def _do(self, deed: Deed) -> None:
        match deed:
            case Insert():
                await self._publish(Published(self.name, 1, deed.facts, self._now()))
            case Retract():
                await self._publish(Published(self.name, -1, deed.facts, self._now()))
            case Notify():
                await self._publish(Published(self.name, 0, deed.events, self._now()))
            case Subscribe():
                self._asked += 1
                self._wanted.append(deed.query)
                self._numbers.append(self._asked)
            case Unsubscribe():
                if deed.query in self._wanted:
                    place = self._wanted.index(deed.query)
                    del self._wanted[place]
                    await self._close(self._numbers.pop(place))
            case Reconnect():
                for number in list(self._sessions):
                    await self._close(number)
                self.home = None
        await self._ensure()

    async def _publish(self, published: Published) -> None:
        """Until it is acknowledged; an event is sent once, since it would be another one."""
        self._world.history.published.append(published)
        gives_up_s = self._now() + PATIENCE_S
        while published.ended_s is None and self._now() < gives_up_s:
            published.attempts += 1
            via = f"{self.home}.{0 if self.home is None else self._world.starts[self.home]}"
            published.by_several |= published.via not in ("", via)
            published.via = via
            try:
                self._world.publishes(published, self.home)
                await self._call(partial(_publish, published))
            except (GsgError, Gone, TimeoutError):
                if not published.sign:
                    return
                await asyncio.sleep(RECONNECT_S)
                await self._ensure()
            else:
                published.ended_s = self._now()
                self._world.acknowledged(published)

    async def _close(self, number: int) -> None:
        if number in self._sessions:
            session, live = self._sessions.pop(number)
            session.ended_s = self._now()
            await live.close()

    async def _ensure(self) -> None:
        """At a peer, with all subscriptions standing."""
        while True:
            if self.home is None and (near := self._world.within_reach(self._last_home)):
                self.home = self._last_home = self._rng.choice(near)
            for number, query in zip(self._numbers, self._wanted, strict=True):
                if number not in self._sessions and self.home is not None:
                    await self._subscribe(number, query, self.home)
            if self.home is not None and all(number in self._sessions for number in self._numbers):
                return
            await asyncio.sleep(RECONNECT_S)

    async def _subscribe(self, number: int, query: str, home: int) -> None:
        session = Session(self.name, query, home, self._now())

        def heard(sign: int, row: Row) -> None:
            if session.ended_s is None:
                session.changes.append((self._now(), int(sign), text_of(row)))

        try:
            live = await self._call(lambda peer: peer.subscribe(self._world.plan.texts[query], callback=heard))
        except (GsgError, Gone, TimeoutError):
            return
        session.whole_s = self._now()
        self._world.history.sessions.append(session)
        if self.home != home:
            # The peer died in the same moment.
            session.ended_s = session.whole_s
            return
        self._sessions[number] = session, live


async def _publish(published: Published, peer: Peer) -> None:
    match published.sign:
        case 0:
            await peer.notify(published.tuples)
        case 1:
            await peer.insert(published.tuples)
        case _:
            await peer.retract(published.tuples)


def answer_of(live: LiveSubscription) -> Answer:
    """What a subscription has, as text."""
    return Counter({text_of(row): times for row, times in live.rows().items()})

"""Peers of this project, each in a process of its own on loopback, spoken to by the ordinary client.

A user is at the door of one peer, always the same one; what changes is published at the door that its subject chooses, so that
changes of one fact keep their order. In a batch all that are first retracted go before all that are first inserted, and so on: a
message for each would be what is measured.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Self
from zlib import crc32

import gsg
from gsg.cli.processes import PeerProcess, peers
from gsg.placement.holders import UNSURE_S

from ..files import Change
from ..users import Line
from .in_one_space import row_of, term_of
from .system import Measures, PeerMeasures, Refused, Row, Tell

PEERS = 4
QUIET_S = 0.15
"""Nobody knows when an overlay is quiet: it is taken to be so when nothing has been told for this long."""


_AT_ONCE = 1_000
"""Changes that go out together at most: one message of the client has so many, and is carried out as one."""
_UNDER_WAY = 8
"""Messages to each door that are not acknowledged yet; with more, whoever publishes waits."""


async def _done(call: Awaitable[object]) -> None:
    await call


def phases(changes: Sequence[Change]) -> Iterator[tuple[int, list[tuple[str, str, str]]]]:
    """The same changes with those of one sign together, in an order that leaves those of each fact in theirs; events come last."""
    signs: dict[tuple[str, str, str], tuple[int, int]] = {}
    """By fact its last sign and phase."""
    parts: dict[tuple[int, int], list[tuple[str, str, str]]] = {}
    events = []
    for sign, triple in changes:
        if not sign:
            events.append(triple)
            continue
        last, phase = signs.get(triple, (sign, 0))
        phase += last != sign
        signs[triple] = sign, phase
        parts.setdefault((phase, sign), []).append(triple)
    for _, sign in sorted(parts):
        yield sign, parts[_, sign]
    if events:
        yield 0, events


class RealPeers:
    """The system. ``sure``: wait until peers are sure of their keys, which takes a minute and a half."""

    name = "peers"

    def __init__(self, tell: Tell, count: int = PEERS, *, sure: bool = False) -> None:
        self._tell, self._count, self._sure = tell, count, sure
        self._stack = AsyncExitStack()
        self._processes: list[PeerProcess] = []
        self._doors: list[gsg.AsyncClient] = []
        self._made: dict[int, tuple[gsg.LiveSubscription, Sequence[str]]] = {}
        self._last_told_s = 0.0
        self._tasks = asyncio.TaskGroup()
        self._under_way: deque[asyncio.Task[None]] = deque()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            self._processes = await stack.enter_async_context(peers(self._count))
            self._doors = [await stack.enter_async_context(gsg.connect(process.url)) for process in self._processes]
            for door in self._doors:
                while len((await door.report()).peers) < self._count:  # noqa: ASYNC110  # another process knows, and is asked
                    await asyncio.sleep(0.2)
            if self._sure:
                await asyncio.sleep(UNSURE_S)
            await stack.enter_async_context(self._tasks)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def _door(self, name: str) -> gsg.AsyncClient:
        return self._doors[crc32(name.encode()) % self._count]

    async def subscribe(self, subscription: Line) -> None:
        number, names = subscription.subscription, subscription.query.select

        def told(sign: gsg.Sign, row: gsg.Row) -> None:
            self._last_told_s = time.monotonic()
            self._tell(number, int(sign), row_of(row, names))

        try:
            made = await self._door(subscription.user).subscribe(subscription.gsg, callback=told)
        except (gsg.BadQuery, gsg.Unsupported, gsg.TooManyTokens) as error:
            raise Refused(str(error)) from None
        self._made[number] = made, names

    async def unsubscribe(self, subscription: int) -> None:
        await self._made.pop(subscription)[0].close()

    async def change(self, changes: Sequence[Change]) -> None:
        for begin in range(0, len(changes), _AT_ONCE):
            for sign, triples in phases(changes[begin : begin + _AT_ONCE]):
                by_door: dict[gsg.AsyncClient, list[tuple[object, ...]]] = {}
                for triple in triples:
                    by_door.setdefault(self._door(triple[0]), []).append(tuple(map(term_of, triple)))
                for door, tuples in by_door.items():
                    asked = door.notify(tuples) if sign == 0 else door.insert(tuples) if sign > 0 else door.retract(tuples)
                    # What one door is asked it does in order, and a fact is always published at one door.
                    self._under_way.append(self._tasks.create_task(_done(asked)))
            while len(self._under_way) > _UNDER_WAY * self._count:
                await self._under_way.popleft()

    async def settle(self) -> None:
        while self._under_way:
            await self._under_way.popleft()
        self._last_told_s = max(self._last_told_s, time.monotonic())
        while (rest_s := self._last_told_s + QUIET_S - time.monotonic()) > 0:  # noqa: ASYNC110  # that nothing comes is no event
            await asyncio.sleep(rest_s)

    async def answers(self, subscription: int) -> list[Row] | None:
        made, names = self._made[subscription]
        return [row_of(row, names) for row, times in made.rows().items() for _ in range(times)]

    async def measures(self) -> Measures:
        """A peer's load is the copies of tuples that it holds and has forwarded to subscribers."""
        report = await self._doors[0].report()
        peers = [PeerMeasures(peer.sent_messages, peer.sent_bytes, peer.entries + peer.matched) for peer in report.peers]
        return Measures(peers, sum(process.peak_memory_bytes() for process in self._processes) or None)

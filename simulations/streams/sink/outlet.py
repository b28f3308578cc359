"""Sends the requests of one task to peers, one peer at a time, and waits where they refuse or are lost.

    asked ──acknowledged──> done
      ├──refused, as by a quota──> again after the pause that the peer says, and some of chance
      ├──the peer is lost, or misbehaves──> again at the peer at hand (peer_failover.py), after pauses that grow
      └──max_wait_s have passed──> NotTaken: the task fails, and Spark tries it again

What is sent may be sent twice: facts are a set, and events have keys.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import count
from random import Random
from types import TracebackType
from typing import Self, TypeVar

from gsg import AsyncClient
from gsg.errors import DoorClosed, GsgError, LocalError, PeerMisbehaved, PeerUnreachable, Refused, RemoteError
from gsg.http.client.door_choice import pause_s

from ...errors import NotTaken
from ..peer_access import PeerAccess
from .peer_failover import PeerFailover

LONGEST_PAUSE_S = 5.0
"""Between two attempts at peers that do not answer."""

Returned = TypeVar("Returned")


class Outlet:
    """An async context manager. ``rng``, ``clock`` and ``pause``, which waits for so many seconds, are handed in by tests."""

    def __init__(
        self,
        access: PeerAccess,
        failover: PeerFailover,
        *,
        max_wait_s: float,
        rng: Random,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._access = access
        self._failover = failover
        self._max_wait_s = max_wait_s
        self._rng = rng
        self._clock = clock
        self._pause = pause
        self._client: AsyncClient | None = None
        self._opening = asyncio.Lock()
        """Held while a peer is connected to: requests that wait for one get the same."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def send_request(self, ask: Callable[[AsyncClient], Awaitable[Returned]], what: str) -> Returned:
        """Have a peer do what ``ask`` asks of it. Raises NotTaken where none does in time, or one says that none ever will."""
        began_s: float | None = None
        for attempt in count():
            client: AsyncClient | None = None
            try:
                client = await self._connect()
                return await ask(client)
            except Refused as error:
                problem: GsgError = error
                again_s = pause_s(attempt, self._rng) if error.again_s is None else error.again_s * self._rng.uniform(1.0, 1.5)
            except (RemoteError, DoorClosed) as error:
                # DoorClosed: another request has closed this client, whose peer is lost.
                problem = error
                again_s = min(LONGEST_PAUSE_S, pause_s(attempt, self._rng))
                if isinstance(error, PeerUnreachable | PeerMisbehaved):
                    await self._drop(client)
            except LocalError as error:
                raise NotTaken(f"{what}: a peer does not take that: {error}") from None
            now = self._clock()
            began_s = now if began_s is None else began_s
            if now + again_s - began_s > self._max_wait_s:
                raise NotTaken(
                    f"{what}: no peer has taken them for {now - began_s:.1f} s ({problem}); the task fails, and is tried again by "
                    "Spark; look at the peers, or let it wait for longer by the option maxWaitSeconds"
                )
            await self._pause(again_s)
        raise AssertionError("counts for ever")

    async def _connect(self) -> AsyncClient:
        """The client of the peer at hand, connected."""
        async with self._opening:
            if self._client is None:
                client = self._access.client(self._failover.url)
                try:
                    await client.__aenter__()
                except BaseException as error:
                    if isinstance(error, PeerUnreachable):
                        self._failover.note_lost(self._clock())
                    await client.close()
                    raise
                self._failover.note_connected()
                self._client = client
            return self._client

    async def _drop(self, client: AsyncClient | None) -> None:
        """Close this client, whose peer is lost, unless another request has done so before."""
        if client is not None and self._client is client:
            self._client = None
            self._failover.note_lost(self._clock())
            await client.close()

"""The clients that a door serves for long: its WebSockets, and those who are sent a stream or send one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from ...errors import AccessDenied, DoorClosed, GsgError, RemoteError
from ..access.principals import Principal

Found = TypeVar("Found")


STOPS = "this peer is being stopped; go on at another one, or here when it is back"


class Place:
    """That of one client."""

    def __init__(self, principal: Principal) -> None:
        self.principal = principal
        self._why: GsgError | None = None
        self._must_leave = asyncio.Event()

    def end(self, why: GsgError) -> None:
        """It has to leave."""
        self._why = self._why or why
        self._must_leave.set()

    @property
    def is_denied(self) -> bool:
        """Whether it has to leave as it may not stay."""
        return isinstance(self._why, AccessDenied)

    def check(self) -> None:
        """Raises why it has to leave, if it has to."""
        if self._why is not None:
            raise self._why

    async def leaves(self) -> GsgError:
        """Waits until it has to leave; returns why."""
        await self._must_leave.wait()
        assert self._why is not None, "said before"
        return self._why

    async def unless_ended(self, waiting: Coroutine[Any, Any, Found]) -> Found:  # Any: what a coroutine yields to the loop
        """What is waited for. Where the client has to leave before, ends the waiting and raises why."""
        asked, leaving = asyncio.ensure_future(waiting), asyncio.ensure_future(self.leaves())
        try:
            await asyncio.wait((asked, leaving), return_when=asyncio.FIRST_COMPLETED)
            # Whoever has something to say all the time has to leave as well.
            self.check()
            return asked.result()
        finally:
            await ended(asked, leaving)


class Clients:
    """How many there are, and may be, and who; those that are not WebSockets leave when the door begins to close."""

    def __init__(self, most: int, check: Callable[[Principal], None]) -> None:
        """``check`` raises AccessDenied for whoever may not stay."""
        self._check = check
        self._places: set[Place] = set()
        """Limit: ``most``, where those who let one in have checked."""
        self._streams: set[Place] = set()
        """Those of them that are no WebSockets, which uvicorn closes."""
        self._is_closing = False
        self._most = most

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._places)

    @property
    def refusal(self) -> str:
        """Why one more is not served; empty where it is."""
        return f"{self._most} clients are served already; try again later" if len(self._places) >= self._most else ""

    def check(self) -> None:
        """Raises RemoteError where one more is not served."""
        if self.refusal:
            raise RemoteError(self.refusal)

    @contextmanager
    def one_more(self, principal: Principal, *, is_stream: bool = True) -> Iterator[Place]:
        """The place of one more, as long as it is served."""
        place = Place(principal)
        if is_stream and self._is_closing:
            place.end(DoorClosed(STOPS))
        self._end_where_invalid(place)
        self._places.add(place)
        if is_stream:
            self._streams.add(place)
        try:
            yield place
        finally:
            self._places.discard(place)
            self._streams.discard(place)

    def close_streams(self) -> None:
        """The door begins to close."""
        self._is_closing = True
        for place in self._streams:
            place.end(DoorClosed(STOPS))

    def end_where_invalid(self) -> None:
        """Let those leave who may not stay any more."""
        for place in self._places:
            self._end_where_invalid(place)

    def _end_where_invalid(self, place: Place) -> None:
        try:
            self._check(place.principal)
        except AccessDenied as error:
            place.end(error)


async def ended(*tasks: asyncio.Future[Any]) -> None:  # Any: whatever they return
    """Cancel these and wait until they are over."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

"""Events of one subscription, as a client of a peer's door reads them: what a channel's and a topic's have in common."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from ...errors import GsgError, LocalError, PeerMisbehaved, PeerUnreachable
from ..protocol import Done, Subscribed, Unsubscribe
from .peer_connection import SUBSCRIBE_TO_EVENTS_AGAIN, PeerConnection

Read = TypeVar("Read")
Told = TypeVar("Told", covariant=True)


class Unread(Protocol[Told]):
    """What has come and was not read yet; whoever makes it bounds it."""

    async def __anext__(self) -> Told:
        """The next one. Raises StopAsyncIteration at the end."""

    def close(self) -> None:
        """Nothing more comes; what is there can be read."""


class ClientEvents(Generic[Read]):
    """The events of one subscription: ``async for event in events``. Raises Overrun where some were lost, and why the connection
    has ended where it has; leaving the block ends the subscription."""

    again = SUBSCRIBE_TO_EVENTS_AGAIN

    def __init__(self, connection: PeerConnection, number: int, unread: Unread[Read]) -> None:
        self._connection = connection
        self._number = number
        self._unread = unread
        self._ended: GsgError | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Read:
        try:
            return await self._unread.__anext__()
        except StopAsyncIteration:
            if self._ended is not None:
                raise self._ended from None
            raise

    async def close(self) -> None:
        """End the subscription; what came before can still be read."""
        self._unread.close()
        if self._connection.subscriptions.pop(self._number, None) is None or self._connection.lost is not None:
            return
        with suppress(LocalError, PeerUnreachable, PeerMisbehaved):
            await self._connection.ask(Unsubscribe(self._connection.next_number(), self._number), Done)

    def begin(self, subscribed: Subscribed) -> None:
        """The peer has made it."""

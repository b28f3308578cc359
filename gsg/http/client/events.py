"""Events of one subscription, as a client of a peer's door reads them: what a channel's and a topic's have in common."""

from __future__ import annotations

from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from ...errors import GsgError, Reconnected
from ..protocol import Subscribed, SubscribeEvents, SubscribeTopic
from .peer_connection import PeerConnection
from .subscription import unsubscribe
from .under_way import EVENTS_FOLLOW, SUBSCRIBE_TO_EVENTS_AGAIN, what_follows

Read = TypeVar("Read")
Told = TypeVar("Told", covariant=True)


class Unread(Protocol[Told]):
    """What has come and was not read yet; whoever makes it bounds it."""

    async def __anext__(self) -> Told:
        """The next one. Raises StopAsyncIteration at the end."""

    def interrupt(self, problem: GsgError) -> None:
        """The next read raises this, once."""

    def close(self) -> None:
        """Nothing more comes; what is there can be read."""


class ClientEvents(Generic[Read]):
    """The events of one subscription: ``async for event in events``. Raises, once each, Overrun where some were lost, and
    Reconnected where the client has lost its peer and is back, as others may have been missed; and why the connection has ended
    where it has. Leaving the block ends the subscription."""

    again = SUBSCRIBE_TO_EVENTS_AGAIN

    def __init__(self, connection: PeerConnection, request: SubscribeEvents | SubscribeTopic, unread: Unread[Read]) -> None:
        self.request = request
        self._connection = connection
        self._made = False
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
        if self._connection.subscriptions.pop(self.request.request, None) is not None:
            await unsubscribe(self._connection, self.request.request)

    def begin(self, subscribed: Subscribed, reconnected: Reconnected | None) -> None:
        """The peer has made it, perhaps again."""
        if self._made and reconnected is not None:
            self._unread.interrupt(what_follows(reconnected, EVENTS_FOLLOW))
        self._made = True

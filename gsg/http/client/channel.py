"""The channel of a peer, for a client of its door.

async with gsg.connect() as client:
    await client.channel.publish({"type": "error", "user": "Fred"})
    async with await client.channel.subscribe("(= type 'error)") as events:
        async for event in events:
            print(event.fields)
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...channels import environment as environments
from ...channels.consumers import UNREAD, Stream
from ...channels.events import Event, fields_of
from ...channels.notation import decode_json, read, to_json
from ...channels.values import Value
from ...errors import BadTerm, DoorClosed, GsgError, Overrun, PeerMisbehaved
from ..failures import error_of
from ..protocol import (
    BYTES_PER_REQUEST,
    TUPLES_PER_REQUEST,
    AskChannel,
    ChannelReport,
    Done,
    Dropped,
    Ended,
    Events,
    OfSubscription,
    PublishEvents,
    Subscribed,
    SubscribeEvents,
)
from .events import ClientEvents
from .peer_connection import PeerConnection


class ClientChannel:
    """Publishes to and subscribes at the channel of the peer that a client is connected to."""

    def __init__(self, connection: PeerConnection) -> None:
        self._connection = connection

    async def publish(
        self,
        *events: Mapping[str, Any] | str,  # Any: checked where it is copied
        readers: Iterable[str] | None = None,
        environment: Mapping[str, Any] | None = None,
    ) -> int:
        """Publish events, in order: mappings, or texts of name-value pairs; returns how many, once they were passed on.

        The rest as :meth:`gsg.channels.channel.Channel.publish`; ``readers`` may be ids of peers. Raises BadTerm, BadText, and
        publishes none, for what is no event; PeerUnreachable where some may not have reached all.
        """
        texts = [to_json(read(event) if isinstance(event, str) else fields_of(event)) for event in events]
        carried = to_json(environments.current() if environment is None else fields_of(environment))
        named = None if readers is None else list(readers)
        published = 0
        for part in _parts(texts):
            request = PublishEvents(self._connection.next_number(), part, carried, named)
            published += (await self._connection.ask(request, Done)).count
        return published

    async def subscribe(
        self,
        text: str,
        language: str = "predicate",
        *,
        report: str | None = None,
        signature: Iterable[str] = (),
        deliver: str = "each",
        asker: str = "",
        private: bool = False,
        limit: int = UNREAD,
        overflow: str = "error",
    ) -> ChannelEvents:
        """Ask for events; returns when whatever is published from then on comes. ``limit`` and ``overflow`` as those of
        :class:`gsg.channels.consumers.Stream`; the rest as :meth:`gsg.channels.channel.Channel.subscribe`."""
        connection, number = self._connection, self._connection.next_number()
        request = SubscribeEvents(
            number, text, language, report, list(signature), deliver, asker, private, limit=limit, overflow=overflow
        )
        made = ChannelEvents(connection, request, limit, overflow)
        connection.subscriptions[number] = made
        try:
            await connection.ask(request, Subscribed)
        except BaseException as error:
            connection.subscriptions.pop(number, None)
            if isinstance(error, asyncio.CancelledError):
                connection.start_task(made.close())
            raise
        return made

    async def report(self) -> ChannelReport:
        """How the channel is, and its subscriptions."""
        return await self._connection.ask(AskChannel(self._connection.next_number()), ChannelReport)


class ChannelEvents(ClientEvents[Event]):
    """The events of one subscription of a channel; Overrun is raised where they were read too slowly."""

    def __init__(self, connection: PeerConnection, request: SubscribeEvents, limit: int, overflow: str) -> None:
        self._stream = Stream(limit=limit, overflow=overflow)
        super().__init__(connection, request, self._stream)
        self.dropped = 0
        """Events that were dropped at the peer; those dropped here the stream counts."""

    def receive(self, message: OfSubscription) -> None:
        """The peer tells of it. Raises PeerMisbehaved for what cannot be of this subscription."""
        match message:
            case Events(_, events):
                for source, number, text in events:
                    self._stream.publish(Event(_fields(text), source, number))
            case Dropped(_, why):
                lost = error_of(why)
                self.dropped += lost.lost if isinstance(lost, Overrun) else 0
            case Ended(_, why):
                self.end(error_of(why))
            case _:
                raise PeerMisbehaved(f"{type(message).__name__} of a subscription of a channel; expected Events")

    def end(self, error: GsgError) -> None:
        """Nothing more will come."""
        if self._ended is None and not isinstance(error, DoorClosed):
            self._ended = error
        self._stream.close()


def _fields(text: str) -> dict[str, Value]:
    try:
        return decode_json(text)
    except BadTerm as error:
        raise PeerMisbehaved(f"an event of a channel that is none: {error}") from None


def _parts(texts: list[str]) -> Iterator[list[str]]:
    """The events cut into requests, each short enough in number and in bytes."""
    part: list[str] = []
    filled = 0
    for text in texts:
        if part and (len(part) >= TUPLES_PER_REQUEST or filled + 4 * len(text) > BYTES_PER_REQUEST):
            yield part
            part, filled = [], 0
        part.append(text)
        filled += 4 * len(text)
    if part:
        yield part

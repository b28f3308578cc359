"""A topic, for a client of a peer's door.

async with gsg.connect() as client:
    async with await client.topic("house/kitchen/temp").subscribe() as events:
        await client.topic("house/kitchen/temp").publish(21)
        print(await anext(events))
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat

from ...errors import GsgError, Overrun, PeerMisbehaved
from ...topics.backlog import Backlog, TopicEvent
from ...topics.names import is_filter
from ...topics.values import event_values
from ...tuples.sizes import size_bytes
from ...tuples.terms import fact
from ..failures import error_of
from ..protocol import (
    AskTopics,
    Done,
    Dropped,
    Ended,
    OfSubscription,
    PublishTopic,
    Subscribed,
    SubscribeTopic,
    TopicEvents,
    Topics,
)
from .events import ClientEvents
from .peer_connection import PeerConnection
from .request_parts import cut_into_requests


class ClientTopic:
    """The topic ``name``, or all that match it where it is a filter, at the peer that a client is connected to."""

    def __init__(self, name: str, connection: PeerConnection) -> None:
        self.name = name
        self._connection = connection

    async def publish(self, *values: object) -> None:
        """Publish an event with these values; see :meth:`gsg.topics.topic.Topic.publish`."""
        await self.publish_all([values])

    async def publish_all(self, events: Iterable[Iterable[object]]) -> None:
        """Publish events, each with its values, in order; see :meth:`gsg.topics.topic.Topic.publish_all`."""
        for part in cut_into_requests([fact(values) for values in event_values(events)]):
            await self._connection.ask(PublishTopic(self._connection.next_number(), self.name, [*part]), Done)

    async def subscribe(self) -> ClientTopicEvents:
        """Hear of events; returns when what is published from now on comes."""
        connection, number = self._connection, self._connection.next_number()
        made = ClientTopicEvents(connection, SubscribeTopic(number, self.name))
        connection.subscriptions[number] = made
        try:
            await connection.ask(made.request, Subscribed)
        except BaseException:
            connection.subscriptions.pop(number, None)
            raise
        return made

    async def size(self) -> int:
        """How many peers are members; see :meth:`gsg.topics.topic.Topic.size`."""
        answer = await self._connection.ask(AskTopics(self._connection.next_number(), self.name), Topics)
        return int(answer.sizes[0][1]) if answer.sizes else 0


class ClientTopicEvents(ClientEvents[TopicEvent]):
    """The events of one subscription of a topic."""

    def __init__(self, connection: PeerConnection, request: SubscribeTopic) -> None:
        self._topic = request.topic
        self._backlog = Backlog()
        super().__init__(connection, request, self._backlog)

    def receive(self, message: OfSubscription) -> None:
        """The peer tells of it. Raises PeerMisbehaved for what cannot be of this subscription."""
        match message:
            case TopicEvents(_, events, topics):
                if len(topics) != (len(events) if is_filter(self._topic) else 0):
                    raise PeerMisbehaved(
                        f"{len(topics)} topics of {len(events)} events; expected one of each where a filter is asked for"
                    )
                for topic, (publisher, number, values) in zip(topics or repeat(self._topic), events, strict=False):
                    self._backlog.put(TopicEvent(topic, values, publisher, number), size_bytes(values))
            case Dropped(_, why):
                match error_of(why):
                    case Overrun(lost=lost, unread=unread, missing=missing):
                        self._backlog.lose(lost, unread=unread, missing=missing)
                    case _:
                        self._backlog.lose(0)
            case Ended(_, why):
                self.end(error_of(why))
            case _:
                raise PeerMisbehaved(f"{type(message).__name__} of a subscription of a topic; expected TopicEvents")

    def end(self, error: GsgError) -> None:
        """Nothing more will come."""
        self._ended = self._ended or error
        self._backlog.close()


async def known_topics(connection: PeerConnection) -> dict[str, float]:
    """The topics that the peer knows of, and how many members each has, about; 0 where that is unknown."""
    return dict((await connection.ask(AskTopics(connection.next_number()), Topics)).sizes)

"""One client's subscription of a topic: what comes waits in a bounded backlog, and is sent at the client's pace."""

from __future__ import annotations

from typing import Self

from ...errors import GsgError, Overrun
from ...topics.backlog import TopicEvent
from ...topics.names import is_filter
from ...topics.topic import Topic, TopicSubscription
from ...tuples.terms import Tuple
from ..failures import failed
from ..protocol import BYTES_PER_MESSAGE, Dropped, Ended, TopicEvents
from .sending import Sender

EVENTS_PER_MESSAGE = 1_000
"""Events, and about BYTES_PER_MESSAGE of them, that go to a client in one message; the rest in the next."""


class TopicClientSubscription:
    """Made by :meth:`make`."""

    def __init__(self, number: int, events: TopicSubscription, *, names_topics: bool) -> None:
        self._number = number
        self._names_topics = names_topics
        self._events = events

    @classmethod
    async def make(cls, number: int, topic: Topic) -> Self:
        """Subscribe for the request with this number; returns when whatever is published from now on comes."""
        return cls(number, await topic.subscribe(), names_topics=is_filter(topic.name))

    async def close(self) -> None:
        """End it, as its client wants."""
        self._events.close()

    async def send_to(self, sender: Sender) -> None:
        """Send what comes, until it ends."""
        while True:
            try:
                part = [await anext(self._events), *self._events.take(EVENTS_PER_MESSAGE, BYTES_PER_MESSAGE)]
            except Overrun as error:
                await sender.send(Dropped(self._number, failed(self._number, error)))
            except StopAsyncIteration:
                return
            except GsgError as error:
                await sender.send(Ended(self._number, failed(self._number, error)))
                return
            else:
                topics = [event.topic for event in part] if self._names_topics else []
                await sender.send(TopicEvents(self._number, [_told(event) for event in part], topics))


def _told(event: TopicEvent) -> tuple[bytes, int, Tuple]:
    return event.publisher, event.number, event.values

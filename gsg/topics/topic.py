"""A topic as an application sees it: publish, subscribe, how many there are.

topic = peer.topic("house/kitchen/temp")
async with await topic.subscribe() as events:
    await topic.publish(21)
    print(await anext(events))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import TracebackType
from typing import Protocol, Self

from dht import Contact

from ..tuples.sizes import total_bytes
from ..tuples.terms import Tuple
from .backlog import Backlog, TopicEvent
from .names import TOPIC
from .values import event_values


class Carrier(Protocol):
    """What a peer does for its topics (:class:`PeerTopics`)."""

    async def subscribe(self, topic: str, backlog: Backlog) -> None:
        """Let a subscriber hear what is published from now on."""

    def unsubscribe(self, topic: str, backlog: Backlog) -> None:
        """End a subscription."""

    async def publish(self, topic: str, events: Sequence[Tuple]) -> list[int]:
        """Spread events, in order; returns this peer's numbers for them."""

    async def members(self, topic: str) -> tuple[int, list[Contact]]:
        """How many members there are, and some of them."""

    def size(self, topic: str) -> float:
        """How many there are, by gossip."""


class TopicSubscription:
    """The events of one subscription, in the order of each publisher: ``async for event in events``. Raises Overrun where some were
    lost, once; leaving the block ends the subscription."""

    def __init__(self, topic: str, backlog: Backlog, carrier: Carrier) -> None:
        self._topic = topic
        self._backlog = backlog
        self._carrier = carrier

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TopicEvent:
        return await self._backlog.__anext__()

    def take(self, most: int, most_bytes: int) -> list[TopicEvent]:
        """What has come and is not lost, at once: at most so many events, and about so many bytes of them."""
        return self._backlog.take(most, most_bytes)

    def close(self) -> None:
        """End the subscription; what came before can still be read."""
        self._carrier.unsubscribe(self._topic, self._backlog)
        self._backlog.close()


class Topic:
    """The topic ``name`` at one peer, or all that match it where it is a filter, which is for subscribing alone. ``check`` makes a
    tuple of what is to be published, or raises BadTerm; ``tell`` tells standing queries of such tuples, with their numbers."""

    def __init__(
        self,
        name: str,
        carrier: Carrier,
        check: Callable[[tuple[object, ...]], Tuple],
        tell: Callable[[Sequence[Tuple], Sequence[int]], Awaitable[None]],
    ) -> None:
        self.name = name
        self._carrier = carrier
        self._check = check
        self._tell = tell

    async def publish(self, *values: object) -> None:
        """Publish an event with these values to all members, and to everybody's standing queries as ``(topic, NAME, VALUE, ...)``.

        Returns when a member has it, or there is none. Raises BadTerm where there are no values, for what is no constant, or longer
        than MAX_TUPLE_BYTES as ``(topic, NAME, VALUE, ...)``; and PeerUnreachable where no member could be reached, or some who ask
        for such events.
        """
        await self.publish_all([values])

    async def publish_all(self, events: Iterable[Iterable[object]]) -> None:
        """Publish events, each with its values, in order; many go together. The rest as for :meth:`publish`: where it raises, some
        of them may have been published."""
        checked = [self._check((TOPIC, self.name, *values)) for values in event_values(events)]
        total_bytes(checked)  # before anything is sent: a member ends the link by which a longer one comes
        numbers = await self._carrier.publish(self.name, [event[2:] for event in checked])
        await self._tell(checked, numbers)

    async def subscribe(self) -> TopicSubscription:
        """Become a member, or ask for what matches a filter; returns when what is published from now on comes. Raises
        PeerUnreachable where the holders of the topic's key, or of a level of the filter, do not answer."""
        backlog = Backlog()
        await self._carrier.subscribe(self.name, backlog)
        return TopicSubscription(self.name, backlog, self._carrier)

    async def members(self) -> list[Contact]:
        """Some members at random, eight at most, as the holders of the topic's key know them. Raises PeerUnreachable."""
        return (await self._carrier.members(self.name))[1]

    async def size(self) -> int:
        """How many peers are members: exact while they come and go in order, late by a minute where one dies. Raises
        PeerUnreachable."""
        return (await self._carrier.members(self.name))[0]

    @property
    def estimated_size(self) -> float:
        """How many peers are members, as they tell each other; 0 where this peer is none. Some 5 % off (one standard deviation)."""
        return self._carrier.size(self.name)

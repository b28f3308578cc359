"""What standing queries have to do with topics: events are told to them, and those of them that are filters hear events.

What an event is to them, and what a filter asks for, is decided in :mod:`gsg.topics.filters`. Whoever subscribes to a filter is a
member of no topic: events come by the rendezvous, each once, in the order of each publisher.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final, NoReturn

from dht import Contact

from ..background import StartTask
from ..errors import GsgError, LocalError, Overrun, Stale
from ..languages import read_query
from ..languages.rows import Change, Sign
from ..publisher.publisher import Publisher
from ..publisher.quenching import Interests
from ..subscriptions.backlog import Overflow
from ..subscriptions.live import LiveSubscription
from ..subscriptions.registry import SubscriptionRegistry
from ..tuples.sizes import size_bytes
from ..tuples.terms import Tuple
from ..wire.status_messages import Count
from .backlog import LIMIT, Backlog
from .filters import ARITY, event_of, features_of, levels_event, query_of

log = logging.getLogger(__name__)

AT_ONCE: Final = 1_000
"""Events that are handed on before others have their turn."""


class TopicFilters:
    """The filters of topics that are subscribed to at one peer. ``start_task`` begins work that ends with the peer."""

    def __init__(
        self, own_id: bytes, interests: Interests, publisher: Publisher, subscriptions: SubscriptionRegistry, start_task: StartTask
    ) -> None:
        self._own_id = own_id
        self._interests = interests
        self._publisher = publisher
        self._subscriptions = subscriptions
        self._start_task = start_task
        self._live: dict[Backlog, LiveSubscription] = {}
        """The standing query of each subscriber's filter. Limit: that of the peer's subscriptions, which these are."""
        self._unreadable = 0

    async def tell(self, events: Sequence[Tuple], numbers: Sequence[int]) -> None:
        """Tell standing queries of events of a topic, ``(topic, NAME, VALUE, ...)``, that this peer has published with these
        numbers. Raises PeerUnreachable where some who ask for such events could not be reached."""
        interests = self._interests
        told = []
        for event, number in zip(events, numbers, strict=True):
            if places := interests.wanted_at(event):
                told.append((event, places))
            if interests.is_arity_asked(ARITY):
                name: str = event[1]  # type: ignore[assignment]  # that of a topic
                levels = levels_event(name, event[2:], self._own_id, number)
                if places := interests.wanted_at(levels, within=features_of(levels)):
                    told.append((levels, places))
        if told:
            # Together, so that both go to a rendezvous in one message, and in the order of their numbers.
            await self._publisher.events([(items, None) for items, _ in told], places=[places for _, places in told])

    # --- what a topic asks, which is a filter here (gsg.topics.topic.Carrier) ----------------------------------------------

    async def subscribe(self, topic: str, backlog: Backlog) -> None:
        """Let a subscriber hear what is published from now on to topics that match a filter. Raises PeerUnreachable."""
        text = query_of(topic)
        query = await read_query(text)
        self._live[backlog] = live = await self._subscriptions.subscribe(
            query, text=text, limit=LIMIT, overflow=Overflow.DROP_OLDEST
        )
        self._start_task(self._hand_on(live, backlog))

    async def _hand_on(self, live: LiveSubscription, backlog: Backlog) -> None:
        """Bring what the query hears to the subscriber, until either ends."""
        why: GsgError | None = None
        try:
            while backlog in self._live:
                try:
                    changes = await live.batch(AT_ONCE)
                except (Overrun, Stale) as problem:
                    backlog.lose(problem.lost if isinstance(problem, Overrun) else 0)
                    continue
                if not changes:
                    return
                self._put(changes, backlog)
                await asyncio.sleep(0)
        except GsgError as error:
            why = error
        finally:
            self._live.pop(backlog, None)
            backlog.close(why)

    def _put(self, changes: list[Change], backlog: Backlog) -> None:
        if backlog not in self._live:
            return  # its reader has gone
        for sign, row in changes:
            event = event_of(row.terms) if sign is Sign.EVENT else None
            if event is None:
                self._unreadable += 1
            else:
                backlog.put(event, size_bytes(event.values))

    def unsubscribe(self, topic: str, backlog: Backlog) -> None:
        """End a subscription."""
        live = self._live.pop(backlog, None)
        if live is not None:
            self._start_task(live.close())

    async def publish(self, topic: str, events: Sequence[Tuple]) -> NoReturn:
        """Raises LocalError."""
        raise LocalError(f"{topic!r} is a filter, for subscribing; publish to the name of one topic, without + and #")

    async def members(self, topic: str) -> tuple[int, list[Contact]]:
        """Raises LocalError."""
        raise _no_members(topic)

    def size(self, topic: str) -> float:
        """Raises LocalError."""
        raise _no_members(topic)

    def counts(self) -> list[Count]:
        """For ``gsg status``."""
        return [Count("topic_filter_events_unreadable", self._unreadable)]


def _no_members(topic: str) -> LocalError:
    return LocalError(f"{topic!r} is a filter, which has no members; ask for those of one topic by its name, without + and #")

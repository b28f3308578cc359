"""How subscriptions with options hear of notifications: with a stamp, once a client, and of those that came before."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

from gsg.background import in_turns
from gsg.errors import LocalError
from gsg.wire.messages import Event

from ..goals.covers import CoverTest, Subscription, template
from ..terms.tuples import line_of_tuple
from .arrival_stamps import MAX_REMEMBERED, Arrivals, Stamp
from .extensions import Options


class ClientArrivals:
    """What has arrived at a door, as one client is told of it; ``deliver(event, rock)`` tells the client."""

    def __init__(self, arrivals: Arrivals, deliver: Callable[[Event, int], None]) -> None:
        self.arrivals = arrivals
        self.deliver = deliver
        self._told: dict[int, None] = {}
        """Numbers of what was delivered once; limit: as many as a door remembers, then the oldest goes."""

    def is_news(self, stamp: Stamp) -> bool:
        """Whether this is the first time that the client is told."""
        if stamp.number in self._told:
            return False
        self._told[stamp.number] = None
        if len(self._told) > MAX_REMEMBERED:
            del self._told[next(iter(self._told))]
        return True


class OptionListener:
    """One subscription with options: what is called when an event has come that it covers."""

    def __init__(self, client: ClientArrivals, options: Options) -> None:
        if options.recent_s is not None and not client.arrivals.remember_s:
            raise LocalError("this door remembers nothing; start it with --pedro-remember SECONDS")
        self._client = client
        self._options = options
        self._looking_back = options.recent_s is not None
        """Until what came before the subscription is told, nothing else is: what comes is remembered, and told in its turn."""

    def __call__(self, event: Event, rock: int) -> None:
        stamp = self._client.arrivals.stamp(event)
        if not self._looking_back:
            self._tell(event, stamp, rock)

    async def look_back(self, subscription: Subscription, rock: int, is_open: Callable[[], bool]) -> None:
        """Tell what came before, then what comes; to be called when the subscription stands."""
        if self._options.recent_s is None:
            return
        condition, test = template(subscription), CoverTest(subscription)
        remembered = self._client.arrivals.remembered(self._options.recent_s)
        async for arrived in in_turns(takewhile(lambda _: is_open(), remembered)):
            if condition is None or condition.matches(arrived.event.items):
                term = arrived.term(subscription.dialect)
                if term is not None and test.covers_term(term):
                    self._tell(arrived.event, arrived.stamp, rock)
        # No turn was given away since the last of them was looked at.
        self._looking_back = False

    def _tell(self, event: Event, stamp: Stamp, rock: int) -> None:
        if self._options.once and not self._client.is_news(stamp):
            return
        if self._options.stamp:
            line = line_of_tuple(event.items) if event.text is None else event.text
            if line is None:
                return
            event = Event(event.number, event.items, stamp.around(line))
        self._client.deliver(event, rock)

"""The events of a passage, gathered into one message for each subscriber.

A stream of events that meet the same templates reaches the same subscribers: such a run is added to each message at once, since the
rendezvous would otherwise pay for each event and each subscriber, those included that read nothing.
"""

from __future__ import annotations

from ..wire.messages import Event, Happened
from .matching import Passage, Reached
from .postings import Subscriber

HAPPENED_FEEDS = 100_000
"""A message of events is cut at about so many numbers of feeds."""


def gathered(passage: Passage, for_s: float) -> list[tuple[Subscriber, Happened]]:
    """What a slice of a passage brings, in order for each subscriber."""
    messages: list[tuple[Subscriber, Happened]] = []
    filling: dict[Subscriber, Happened] = {}

    def add(run: list[Event], whom: Reached) -> None:
        for subscriber, feeds in whom.items():
            happened = filling.get(subscriber)
            if happened is None or len(happened.events) * len(feeds) >= HAPPENED_FEEDS:
                happened = filling[subscriber] = Happened(passage.publisher, [], [], passage.after)
                messages.append((subscriber, happened))
            happened.events.extend(run)
            happened.feeds.extend([feeds] * len(run))

    run: list[Event] = []
    whom: Reached = {}
    most = 0
    for event, reached in passage.slice(for_s):
        if reached is not whom or len(run) >= most:
            add(run, whom)
            run, whom = [], reached
            most = HAPPENED_FEEDS // max(map(len, whom.values()), default=1)
        run.append(event)
    add(run, whom)
    return messages

"""Who hears what the peer tells of one subscription; a mistake there ends that subscription, and nothing else of the client."""

from __future__ import annotations

import logging
from typing import Protocol, TypeAlias

from ...errors import GsgError, LocalError, Reconnected
from ..protocol import OfSubscription, Subscribe, Subscribed, SubscribeEvents, SubscribeTopic

log = logging.getLogger(__name__)

SubscribeRequest: TypeAlias = Subscribe | SubscribeEvents | SubscribeTopic


class SubscriptionReader(Protocol):
    """Who hears what the peer tells of one subscription."""

    again: str
    """What to do where its connection has ended."""

    @property
    def request(self) -> SubscribeRequest:
        """By which it is made, and made again."""

    def begin(self, subscribed: Subscribed, reconnected: Reconnected | None) -> None:
        """The peer has made it; ``reconnected`` where it was made by another one before, perhaps. Raises PeerMisbehaved."""

    def receive(self, message: OfSubscription) -> None:
        """The peer tells of it. Raises PeerMisbehaved for what cannot be of this subscription."""

    def end(self, error: GsgError) -> None:
        """Nothing more will come."""


def failure_of(error: Exception) -> LocalError:
    """What a reader has raised, which is no fault of the peer's, as whoever reads or waits is told."""
    failure = LocalError(
        f"what reads this subscription failed at what the peer told it: {type(error).__name__}: {error}; the subscription has "
        "ended, and nothing else of this client: mend the reader, and subscribe again"
    )
    failure.__cause__ = error
    return failure


def end_reader(reader: SubscriptionReader, error: GsgError) -> None:
    """Nothing more will come; a reader that fails at that is logged, and others are told all the same."""
    try:
        reader.end(error)
    except Exception:  # a program's own reader may raise anything, and others wait to be told behind it
        log.exception("what reads a subscription failed as it ended (%s)", error)

"""A subscription of a client, as its peer tells of it: rows until the answer is complete, their changes, what is amiss, the end."""

from __future__ import annotations

import asyncio
from collections import Counter

from ..errors import DoorClosed, GsgError, Overrun, PeerMisbehaved, Stale
from ..languages.rows import Change, Row, Sign
from ..subscriptions.live import LiveSubscription
from .protocol import Rows


class ClientSubscription:
    """One of them: rows are kept until there is a subscription to tell, and from then on go to it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: tuple[str, ...] = ()
        self.warnings: tuple[str, ...] = ()
        self.number = 0
        self.rows: Counter[Row] = Counter()
        self.first: list[Change] = []
        """Rows until the answer is complete."""
        self.complete = asyncio.Event()
        """Set when the answer is, or when it will never be."""
        self.up_to_date = False
        self.error: GsgError | None = None
        """What has ended it before there was a subscription to tell."""
        self.overrun: Overrun | None = None
        """What was dropped before there was one to tell, all of it as one."""
        self.staleness: Stale | None = None
        self.subscription: LiveSubscription | None = None

    def arrived(self, message: Rows) -> None:
        """Rows have come. Raises PeerMisbehaved for what are none of this subscription."""
        if len(message.signs) != len(message.values):
            raise PeerMisbehaved(f"{len(message.signs)} signs for {len(message.values)} rows; expected one for each")
        changes: list[Change] = []
        for sign, values in zip(message.signs, message.values, strict=True):
            if sign not in (-1, 0, 1) or len(values) != len(self.names):
                raise PeerMisbehaved(
                    f"a row of {len(values)} values with sign {sign}; expected {len(self.names)} values and 1, -1 or 0"
                )
            row = Row.of(self.names, values)
            changes.append((Sign(sign), row))
            if sign:
                self.rows[row] += sign
                if not self.rows[row]:
                    del self.rows[row]
        if self.subscription is None:
            self.first.extend(changes)
        else:
            self.subscription.deliver(changes)

    def dropped(self, overrun: Overrun) -> None:
        """The peer could not keep all events until they were read."""
        if self.subscription is not None:
            self.subscription.dropped(overrun)
        else:
            self.overrun = overrun.since(self.overrun)

    def stale(self, why: Stale) -> None:
        """The peer could not have rows brought up to date."""
        if self.subscription is not None:
            self.subscription.stale(why)
        else:
            self.staleness = why

    def ended(self, error: GsgError) -> None:
        """Nothing more will come."""
        self.error = error
        self.complete.set()
        if self.subscription is not None:
            self.subscription.ended(None if isinstance(error, DoorClosed) else error)

    def begin(self, subscription: LiveSubscription) -> None:
        """Tell the subscription all that has come so far; later things go to it as they come."""
        self.subscription = subscription
        subscription.deliver(self.first)
        self.first = []
        if self.overrun is not None:
            subscription.dropped(self.overrun)
        if self.staleness is not None:
            subscription.stale(self.staleness)
        if self.error is not None:
            self.ended(self.error)

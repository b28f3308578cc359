"""A way to a peer without a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import dht
from gsg.wire.exchange import PeerLink
from gsg.wire.messages import AskPassed, Event, Happened, Message, Passed


class Line(PeerLink):
    """A way to a peer, and what was sent by it."""

    def __init__(self, name: str) -> None:
        super().__init__(dht.Contact(name.encode().ljust(20), name, 1))
        self.sent: list[Message] = []
        self.reads = True

    def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def congested(self) -> bool:
        return False

    async def drained(self, limit_s: float | None = None) -> None:
        pass

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def abort(self, reason: str) -> None:
        pass

    def ask_passed(self) -> Passed:
        """The answer to what was asked last."""
        asked = self.sent[-1]
        assert isinstance(asked, AskPassed)
        return Passed(asked.publisher, asked.number)


class NoEvents:
    """Who hears of the events that lines bring, where nobody looks at them."""

    def tell_all(self, link: PeerLink, message: Happened) -> None:
        pass

    def hold(self, link: PeerLink, message: Happened, event: Event, feeds: Sequence[int]) -> Callable[[], None]:
        return lambda: None

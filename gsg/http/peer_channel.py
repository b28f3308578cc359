"""The channel of a peer, which the clients of its door share: made when the first of them asks for it.

What one client publishes another one hears whatever door and peer it is at, since the channel is at the overlay. Each client's
subscriptions are its own, and end with it.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack

from ..channels.channel import Channel
from ..channels.consumers import UNREAD, Stream, Unread
from ..channels.events import Event
from ..channels.matchers.auto import Auto
from ..channels.notation import from_json, read_any, to_json
from ..channels.overlay.overlay import Overlay, check_width
from ..channels.ticket import Ticket
from ..errors import LocalError, Overrun, PeerUnreachable
from ..peer import Peer
from .protocol import (
    BYTES_PER_MESSAGE,
    ChannelReport,
    ChannelSubscription,
    Dropped,
    Ended,
    Events,
    PublishEvents,
    SubscribeEvents,
    failed,
)
from .sending import Sender

log = logging.getLogger(__name__)

UNREAD_CHARACTERS = 64 * 1024 * 1024
"""Of all events that wait for clients of one door; beyond, a subscription whose client does not read is at its limit."""
POSTED_S = 10.0
"""How long a subscription may take to be posted with other peers; then it is refused."""
MAX_NAME = 200
"""Characters of who asks; a longer name is refused."""


class PeerChannel:
    """The channel of one peer, and its place in the overlay."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._open = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._made: tuple[Channel, Overlay] | None = None
        self._unread = Unread(UNREAD_CHARACTERS)
        self._clients: dict[int, str] = {}
        """Of each ticket, by its number. Bounded by the tickets."""

    async def opened(self) -> tuple[Channel, Overlay]:
        """The channel, in the overlay."""
        async with self._opening:
            if self._made is None:
                channel = Channel(f"peer-{self._peer.contact.id.hex()[:12]}")
                self._made = channel, await self._open.enter_async_context(Overlay(channel, self._peer))
            return self._made

    async def close(self) -> None:
        """Leave the overlay."""
        await self._open.aclose()

    async def publish(self, request: PublishEvents) -> int:
        """Publish events, in order; returns how many, once all rendezvous have passed them on.

        Raises BadTerm, BadText, and publishes none, for what is no event; PeerUnreachable.
        """
        channel, overlay = await self.opened()
        environment = from_json(request.environment)
        events = [read_any(text) for text in request.events]
        for event in events:
            check_width(event)
        for event in events:
            channel.publish(event, readers=request.readers, environment=environment)
        await overlay.all_sent()
        return len(events)

    async def subscribe(self, request: SubscribeEvents, client: str) -> ChannelClientSubscription:
        """Make a subscription; returns when it is posted with all peers. Raises BadText, LocalError, PeerUnreachable."""
        channel, overlay = await self.opened()
        if len(request.asker) > MAX_NAME:
            raise LocalError(f"a name of {len(request.asker):,} characters for who asks; expected at most {MAX_NAME}")
        stream = Stream(limit=min(request.limit, UNREAD), overflow=request.overflow, together=self._unread)
        ticket = channel.subscribe(
            stream,
            request.text,
            request.language,
            report=request.report,
            signature=request.signature,
            deliver=request.deliver,
            asker=request.asker or self._peer.contact.id.hex(),
            private=request.private,
        )
        try:
            async with asyncio.timeout(POSTED_S):
                await overlay.posted()
        except TimeoutError:
            ticket.cancel()
            raise PeerUnreachable(
                f"the subscription could not be posted with its rendezvous within {POSTED_S:.0f} s; subscribe again, here or at "
                "another peer"
            ) from None
        except BaseException:
            ticket.cancel()
            raise
        self._clients[ticket.number] = client
        return ChannelClientSubscription(request.request, ticket, stream)

    async def report(self, number: int) -> ChannelReport:
        """How the channel is."""
        channel, overlay = await self.opened()
        subscriptions = [
            ChannelSubscription(
                ticket.number,
                "" if ticket.private else ticket.asked.text,
                ticket.asked.language,
                self._clients.get(ticket.number, ""),
                ticket.matched,
                ticket.delivered,
                ticket.failed,
            )
            for ticket in channel.tickets()
        ]
        counts = [(name, getattr(channel, name)) for name in ("published", "delivered", "withheld", "dropped")]
        counts += [(name, getattr(overlay, name)) for name in ("sent", "received", "lost", "unreadable")]
        self._clients = {ticket.number: self._clients.get(ticket.number, "") for ticket in channel.tickets()}
        matcher = channel.matcher
        used = f"{matcher.name}: {matcher.why}" if isinstance(matcher, Auto) else type(matcher).__name__.lower()
        return ChannelReport(number, channel.name, used, counts, subscriptions)


class ChannelClientSubscription:
    """One client's subscription of a channel: what it hears waits in a bounded stream, and is sent at the client's pace."""

    def __init__(self, number: int, ticket: Ticket, stream: Stream) -> None:
        self.ticket = ticket
        self._number = number
        self._stream = stream

    async def close(self) -> None:
        """End it."""
        self.ticket.cancel()
        self._stream.close()
        while len(self._stream):
            self._stream.take()

    async def send_to(self, sender: Sender) -> None:
        """Send what it hears, until it ends."""
        stream, dropped = self._stream, 0
        try:
            async for event in stream:
                if stream.drops_oldest and stream.dropped > dropped:
                    lost = stream.dropped - dropped
                    dropped = stream.dropped
                    await sender.send(
                        Dropped(self._number, failed(self._number, Overrun(f"{lost:,} events were unread", lost=lost)))
                    )
                told = [_told(event)]
                size = len(told[0][2])
                while len(stream) and size < BYTES_PER_MESSAGE:
                    told.append(_told(stream.take()))
                    size += len(told[-1][2])
                await sender.send(Events(self._number, told))
        except Overrun as error:
            await self.close()
            await sender.send(Ended(self._number, failed(self._number, error)))


def _told(event: Event) -> tuple[str, int, str]:
    return event.source, event.number, to_json(event.fields)

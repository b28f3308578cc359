"""The channel of a peer, which the clients of its door share: made when the first of them asks for it.

What one client publishes another one hears whatever door and peer it is at, since the channel is at the overlay. Each client's
subscriptions are its own, and end with it.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack

from ...background import in_turns
from ...channels.channel import Channel
from ...channels.consumers import UNREAD, Stream, Unread
from ...channels.environment import of_user
from ...channels.events import Event, names_of
from ...channels.matchers.auto import Auto
from ...channels.notation import from_json, read_any, to_json
from ...channels.overlay.overlay import Overlay
from ...channels.overlay.sending import check_event
from ...channels.ticket import State, Ticket
from ...channels.values import Value
from ...errors import DoorClosed, GsgError, LocalError, Overrun, PeerUnreachable, TooLarge
from ...interleaving import in_thread
from ...peer import Peer
from ..failures import failed
from ..protocol import (
    BYTES_PER_MESSAGE,
    MAX_MESSAGE_BYTES,
    ChannelReport,
    ChannelSubscription,
    Dropped,
    Ended,
    Events,
    PublishEvents,
    SubscribeEvents,
)
from .sending import Sender

log = logging.getLogger(__name__)

UNREAD_CHARACTERS = 64 * 1024 * 1024
"""Of all events that wait for clients of one door; beyond, a subscription whose client does not read is at its limit."""
POSTED_S = 10.0
"""How long a subscription may take to be posted with other peers; then it is refused."""
LONG_CHARACTERS = 16 * 1024
"""Of the text of an event; a longer one is read in a thread."""
MAX_EVENT_BYTES = MAX_MESSAGE_BYTES - 4 * 1024
"""Of an event as JSON, that goes to a client in a message with what that says of it; a longer one ends its subscription."""


class PeerChannel:
    """The channel of one peer, and its place in the overlay."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._open = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._made: tuple[Channel, Overlay] | None = None
        self._unread = Unread(UNREAD_CHARACTERS)
        self._clients: dict[int, ChannelClientSubscription] = {}
        """By the number of the ticket; an entry goes with it."""

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

        Raises BadTerm, BadText, and publishes none, for what is no event; PeerUnreachable where some may not have reached all.
        """
        channel, overlay = await self.opened()
        environment = of_user(from_json(request.environment))
        readers = None if request.readers is None else names_of(request.readers)
        events: list[dict[str, Value]] = []
        async for text in in_turns(request.events):
            # A long one takes long to read, and a thread leaves others their turn.
            events.append(await in_thread(read_any, text) if len(text) > LONG_CHARACTERS else read_any(text))
            check_event(Event(events[-1], environment=environment, readers=readers))
        lost = overlay.lost
        async for event in in_turns(events):
            channel.publish(event, readers=readers, environment=environment)
        await overlay.all_sent()
        if overlay.lost > lost:
            raise PeerUnreachable("some events did not reach all whom they may concern; what is published again may be told twice")
        return len(events)

    async def subscribe(self, request: SubscribeEvents, client: str) -> ChannelClientSubscription:
        """Make a subscription; returns when it is posted with all peers. Raises BadText, LocalError, PeerUnreachable."""
        channel, overlay = await self.opened()
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
        subscription = self._clients[ticket.number] = ChannelClientSubscription(request.request, ticket, stream, client)
        ticket.on_end = lambda: self._end(ticket)
        if ticket.state is State.CANCELLED:
            ticket.on_end()  # by what it found among the events that are remembered
        try:
            async with asyncio.timeout(POSTED_S):
                await overlay.posted()
        except TimeoutError:
            await subscription.close()
            raise PeerUnreachable(
                f"the subscription could not be posted with its rendezvous within {POSTED_S:.0f} s; subscribe again, here or at "
                "another peer"
            ) from None
        except BaseException:
            await subscription.close()
            raise
        return subscription

    def _end(self, ticket: Ticket) -> None:
        # What it is cancelled at is delivered yet, where it was asked for once.
        asyncio.get_running_loop().call_soon(self._clients.pop(ticket.number).end)

    async def report(self, number: int) -> ChannelReport:
        """How the channel is."""
        channel, overlay = await self.opened()
        subscriptions = [each.report() for each in self._clients.values()]
        counts = [(name, getattr(channel, name)) for name in ("published", "delivered", "withheld", "dropped")]
        counts += [(name, getattr(overlay, name)) for name in ("sent", "received", "lost", "refused", "unreadable")]
        matcher = channel.matcher
        used = f"{matcher.name}: {matcher.why}" if isinstance(matcher, Auto) else type(matcher).__name__.lower()
        return ChannelReport(number, channel.name, used, counts, subscriptions)


class ChannelClientSubscription:
    """One client's subscription of a channel: what it hears waits in a bounded stream, and is sent at the client's pace."""

    def __init__(self, number: int, ticket: Ticket, stream: Stream, client: str) -> None:
        self.ticket = ticket
        self._number = number
        self._stream = stream
        self._client = client
        self._is_wanted = True

    async def close(self) -> None:
        """End it, as its client wants."""
        self._is_wanted = False
        self.ticket.cancel()
        while len(self._stream):
            self._stream.take()

    def end(self) -> None:
        """It was cancelled: what was heard is still sent."""
        self._stream.close()

    def report(self) -> ChannelSubscription:
        """How it is; of a private one the text is kept."""
        ticket = self.ticket
        text = "" if ticket.private else ticket.asked.text
        counts = ticket.matched, ticket.delivered, ticket.failed
        return ChannelSubscription(ticket.number, text, ticket.asked.language, self._client, *counts)

    async def send_to(self, sender: Sender) -> None:
        """Send what it hears, until it ends, and why it has ended where its client has not."""
        stream, dropped = self._stream, 0
        why: GsgError = DoorClosed("the subscription has ended")
        try:
            async for event in stream:
                if stream.drops_oldest and stream.dropped > dropped:
                    lost, dropped = stream.dropped - dropped, stream.dropped
                    told = Overrun(f"{lost:,} events were unread", lost=lost)
                    await sender.send(Dropped(self._number, failed(self._number, told)))
                await self._send_events(sender, event)
            if self.ticket.stopped:
                why = LocalError(self.ticket.stopped)
        except (Overrun, TooLarge) as error:
            why = error
        if self._is_wanted:
            await sender.send(Ended(self._number, failed(self._number, why)))
            await self.close()

    async def _send_events(self, sender: Sender, event: Event) -> None:
        told = [_told(event)]
        size = len(told[0][2])
        while len(self._stream) and size < BYTES_PER_MESSAGE:
            told.append(_told(self._stream.take()))
            size += len(told[-1][2])
        for part in (told,) if size < BYTES_PER_MESSAGE else ([one] for one in told):
            if (length := sum(len(text.encode()) for _, _, text in part)) > MAX_EVENT_BYTES:
                raise TooLarge(
                    f"the subscription has ended because of an event of {length:,} bytes as JSON; expected at most "
                    f"{MAX_EVENT_BYTES:,}, what a message may have: report less of it"
                )
            await sender.send(Events(self._number, part))


def _told(event: Event) -> tuple[str, int, str]:
    return event.source, event.number, to_json(event.fields)

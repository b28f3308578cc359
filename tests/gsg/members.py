"""A member of the network that is no peer of ours: it has an id and links, and says what it likes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from peers import PORT, stranger_of

import dht
from dht.simnet import SimNet
from gsg import Peer
from gsg.wire.exchange import Answer, Exchange
from gsg.wire.messages import Message


class Member:
    """``heard`` is what others told it that is no answer."""

    def __init__(self, net: SimNet) -> None:
        self.heard: list[Message] = []
        self.links = stranger_of(
            net,
            on_frames=lambda link, payloads: self.exchange.receive_frames(link, payloads),
            on_lost=lambda link, why: self.exchange.drop_link(link, why),
        )
        self.contact = dht.Contact(self.links.id, self.links.host, PORT)
        self.exchange = Exchange(
            self.contact,
            on_message=lambda _, message: self.heard.append(message),
            on_batch=lambda: None,
            on_broken=lambda *_: None,
        )
        self.exchange.attach(self.links)

    async def say(self, peer: Peer, message: Message) -> None:
        """Send a message that nobody answers."""
        (await self.exchange.link(peer.contact)).send(message)

    async def ask(self, peer: Peer, make: Callable[[int], Message]) -> Answer:
        """Send a request; its answer, whichever it is. Raises LinkBroke where the peer ends the link instead."""
        return await (await self.exchange.link(peer.contact)).ask(make)


@asynccontextmanager
async def member_of(net: SimNet) -> AsyncIterator[Member]:
    """A member with its links open."""
    member = Member(net)
    async with member.links:
        yield member

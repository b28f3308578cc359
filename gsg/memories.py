"""What the intake of a peer keeps: alpha memories that somebody here asks for, and the feeds that keep them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TypeAlias

import dht
import rete

from .exchange import Channel
from .features import Template
from .feeds import AlphaFeed, RecentEvents
from .messages import Event, Test
from .model import Tuple

OnEvent: TypeAlias = Callable[[Event], None]


class Memory:
    """A template that somebody here asks for, with the feeds that keep it."""

    __slots__ = (
        "alpha",
        "anchor",
        "exclusive",
        "number",
        "on_event",
        "ready",
        "recent",
        "sources",
        "test",
        "tested",
        "users",
        "widening",
    )

    def __init__(
        self,
        alpha: rete.AlphaSpec,
        number: int,
        *,
        anchor: int | None = None,
        test: Test | None = None,
        exclusive: bool = False,
        on_event: OnEvent | None = None,
    ) -> None:
        self.alpha = alpha
        self.number = number
        """Counts up: which of two is newer."""
        self.anchor = anchor
        """Where it is posted; None until chosen."""
        self.test = test
        self.tested = True
        """Whether all tests of the memory travel, so that nothing comes that fails one."""
        self.exclusive = exclusive
        self.on_event = on_event
        """Who hears of events, for a memory that is for them alone; None for one of the network."""
        self.users = 0
        self.sources: dict[int, Source] = {}
        self.widening: set[bytes] = set()
        """Peers at which a template without constants is just being posted."""
        self.ready: asyncio.Future[None] | None = None
        """Done once the memory is kept; whoever awaits it first sets it up."""
        self.recent: RecentEvents | None = None
        """Set once the memory has had two feeds at a time: an event may have come by both."""

    @property
    def template(self) -> Template:
        """What is posted at the rendezvous."""
        return self.alpha.template

    @property
    def events_only(self) -> bool:
        """Whether its feeds bring events, and no facts."""
        return self.on_event is not None or self.alpha.window is not None

    def facts(self) -> Iterator[Tuple]:
        """What the memory holds."""
        if len(self.sources) == 1:
            return iter(next(iter(self.sources.values())).feed.facts)
        return iter({fact: None for source in self.sources.values() for fact in source.feed.facts})

    def size(self) -> int:
        """How many facts there are, at most."""
        return sum(len(source.feed.facts) for source in self.sources.values())


class Source:
    """One feed of a memory."""

    __slots__ = ("channel", "feed", "following", "holder", "memory", "silence", "whole")

    def __init__(self, memory: Memory, holder: dht.Contact, channel: Channel, feed: AlphaFeed) -> None:
        self.memory = memory
        self.holder = holder
        self.channel = channel
        self.feed = feed
        self.whole: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the first snapshot is whole; PeerUnreachable when the link breaks before."""
        self.following = False
        """Whether a feed that is to take its place is being set up."""
        self.silence: asyncio.Timeout | None = None
        """Ends the wait for a snapshot when no part of it has come for ANSWER_TIMEOUT_S."""

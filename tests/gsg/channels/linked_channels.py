"""Channels linked by a test, which carries their messages one after another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random

from gsg.channels.channel import Channel
from gsg.channels.languages.expressions import Condition
from gsg.channels.links.messages import Message, decode, encode
from gsg.channels.links.routing import Routing


class World:
    """Channels by name, and the messages under way between them: in order on each link, links in any order."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = Random(seed)
        self.now_s = 0.0
        self.channels: dict[str, Channel] = {}
        self.routings: dict[str, Routing] = {}
        self.announcers: dict[str, Callable[[Condition, str, int], None]] = {}
        self.names: dict[str, str] = {}
        self.under_way: dict[tuple[str, str], deque[bytes]] = {}
        self.heard: dict[str, list[tuple[str, int, object]]] = {}
        self.ended: dict[str, list[str]] = {}
        """By channel: links that it has given up while they were up."""
        self.carried = 0

    def start(self, name: str, interest: str) -> Channel:
        """A channel in a new life, with one subscriber."""
        channel = self.channels[name] = Channel(name)
        self.names[channel.source] = name
        self.ended[name] = []
        self.join(name)
        self.heard[name] = []
        channel.subscribe(lambda event: self.heard[name].append((event.source, event.number, event.fields["n"])), interest)
        return channel

    def join(self, name: str) -> None:
        """The channel gets links, none of which is up yet."""

        def end(to: str) -> None:
            self.ended[name].append(self.names[to])

        channel = self.channels[name]
        routing = Routing(channel, lambda to, message: self.send(name, self.names[to], message), end, lambda: self.now_s)
        self.routings[name] = routing
        self.announcers[name] = lambda condition, asker, sign: routing.announce()
        channel.on_interest.append(self.announcers[name])

    def leave(self, name: str) -> None:
        """The channel leaves its links, and goes on alone."""
        routing = self.routings[name]
        for one, other in list(self.under_way):
            if one == name:
                self.cut(one, other)
        self.channels[name].on_interest.remove(self.announcers.pop(name))
        routing.close()

    def send(self, one: str, other: str, message: Message) -> None:
        if (one, other) in self.under_way:
            self.under_way[one, other].append(encode(message)[4:])

    def link(self, one: str, other: str) -> None:
        hellos = {a: self.routings[a].hello(self.channels[b].source) for a, b in ((one, other), (other, one))}
        self.under_way[one, other], self.under_way[other, one] = deque(), deque()
        self.routings[one].link_up(hellos[other])
        self.routings[other].link_up(hellos[one])

    def cut(self, one: str, other: str) -> None:
        """The link breaks, with what is under way."""
        for a, b in ((one, other), (other, one)):
            del self.under_way[a, b]
            if a in self.routings:
                self.routings[a].link_broke(self.channels[b].source)

    def kill(self, name: str) -> None:
        del self.routings[name]
        for one, other in list(self.under_way):
            if one == name:
                self.cut(other, one)

    def run(self, steps: int = 1_000_000) -> None:
        """Carry messages until none is under way, or so many."""
        for _ in range(steps):
            ready = [link for link, messages in self.under_way.items() if messages]
            if not ready:
                return
            self.carry(*self.rng.choice(ready))

    def carry(self, one: str, other: str) -> None:
        """Carry one message."""
        self.carried += 1
        source = self.channels[one].source
        self.routings[other].received(source, decode(self.under_way[one, other].popleft()))
        if (one, other) in self.under_way and not self.under_way[one, other]:
            self.routings[other].nothing_to_read(source)

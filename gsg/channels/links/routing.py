"""Which events go along which links, decided without any socket.

Every channel knows what each other one wants and with whom that is linked: these interests are flooded, each with a version, and
told again only when they have changed, so that a circle of channels goes quiet. What cannot be reached any more is forgotten.

An event goes along a link where somebody behind it wants it, and nobody is behind a link who is reached only through this channel
itself. In a circle it comes from both sides and is taken once, so it arrives although a channel on one side dies. Links keep their
order and channels pass on in the order in which they take, so the events of one source are taken in order everywhere.

What was told on a link is kept until it was taken there: a link that breaks and comes back goes on where it was, for OWED_S.

    ABSENT ── hello ──> UP ── broke ──> OWED ── hello of the same life ──> UP
                                          └── OWED_S later, or another life ──> ABSENT
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import msgspec

from ...errors import BadText, PeerMisbehaved
from ..channel import Channel
from ..events import Event
from ..languages.expressions import TRUE, Condition
from ..languages.predicate import parse
from ..languages.source import LazyTest
from .messages import MAX_NAME, VERSION, Hello, Interests, Message, Taken, Told, body_of, event_of

OWED_S: Final = 20.0
"""How long a link that broke is waited for with what was not taken; after that it is counted as lost."""
MAX_OWED: Final = 100_000
OWED_BYTES: Final = 32 * 1024 * 1024
"""Events that are kept for one link, and their length as encoded; at either limit the link is given up, and what was kept is
counted as lost."""
MAX_ORIGINS: Final = 10_000
KNOWN_CHARACTERS: Final = 64 * 1024 * 1024
"""Channels that are known, and the characters of all their interests; a neighbour that tells of more is refused."""
MAX_LINKS: Final = 256
"""Links of one channel; one more is refused."""
MAX_CHARACTERS: Final = 256 * 1024
"""Of the interests of one channel, names counted; longer ones end the link that tells of them."""
TAKEN_EVERY: Final = 64
"""Events after which it is said that they were taken, at the latest when the link has nothing more to read."""


class State(Enum):
    """Of a link."""

    UP = "up"
    OWED = "owed"


@dataclass(slots=True)
class _Link:
    """The link to one neighbour, by its life."""

    name: str
    origin: str
    state: State = State.UP
    broke_s: float = 0.0
    last: int = 0
    """The number told last."""
    owed: deque[Told] = field(default_factory=deque)
    """Told and not taken. Limits: MAX_OWED and OWED_BYTES."""
    owed_bytes: int = 0
    taken: int = 0
    """The neighbour's number that was taken last here."""
    said: int = 0
    """The same, as the neighbour knows."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The interests of a channel, ready to be tried."""

    interests: Interests
    test: LazyTest
    wants_all: bool


Send = Callable[[str, Message], None]
"""Hands a message to the link to a neighbour, by that one's origin."""


class Routing:
    """The links of one channel. ``send`` is called for links that are up; ``now_s`` never goes back."""

    def __init__(self, channel: Channel, send: Send, now_s: Callable[[], float]) -> None:
        self._channel = channel
        self._send = send
        self._now_s = now_s
        self._links: dict[str, _Link] = {}
        self._known: dict[str, _Known] = {}
        self._known_characters = 0
        """Limit: KNOWN_CHARACTERS."""
        self._behind: dict[str, frozenset[str]] = {}
        """By neighbour: who is reached by it and not only through this channel."""
        self._own = Interests(channel.source, 0, "false", [], [])
        self._taking: tuple[str, Event] | None = None
        """The neighbour whose event is being taken, and the event: what consumers publish meanwhile is not the neighbour's."""
        self.lost = 0
        """Events that a neighbour was owed when it was given up."""
        self.announced = 0
        """Interests that were told, one's own and others'."""
        channel.on_interests.append(self.announce)
        channel.on_event.append(self._pass_on)

    # --- links ------------------------------------------------------------------------------------------------------------------

    def hello(self, origin: str) -> Hello:
        """What is said first to a neighbour, whose origin is known where it has said it already."""
        link = self._links.get(origin)
        return Hello(VERSION, self._channel.name, self._channel.source, 0 if link is None else link.taken)

    def link_up(self, hello: Hello) -> None:
        """A neighbour has said hello. Raises PeerMisbehaved for one that cannot be linked with."""
        if hello.version != VERSION:
            raise PeerMisbehaved(
                f"channel {hello.name} speaks version {hello.version} of links; expected {VERSION}: update the older one"
            )
        if max(len(hello.name), len(hello.origin)) > MAX_NAME:
            raise PeerMisbehaved(f"a channel whose name or origin has more than {MAX_NAME} characters; expected a shorter one")
        if hello.origin == self._channel.source:
            raise PeerMisbehaved("a channel is linked with itself; expected the address of another one")
        link = self._links.get(hello.origin)
        if link is None:
            if len(self._links) >= MAX_LINKS:
                raise PeerMisbehaved(f"channel {self._channel.name} has {MAX_LINKS} links, the most that it may have")
            link = self._links[hello.origin] = _Link(hello.name, hello.origin)
        link.state = State.UP
        self._forget_taken(link, hello.taken)
        self.announce()
        for known in self._known.values():
            self._send(link.origin, known.interests)
        self._send(link.origin, self._own)
        for message in link.owed:
            self._send(link.origin, message)

    def link_broke(self, origin: str) -> None:
        """A link is gone; it is waited for."""
        link = self._links.get(origin)
        if link is not None and link.state is State.UP:
            link.state, link.broke_s = State.OWED, self._now_s()
            self.announce()

    def advance(self) -> None:
        """Give up links that were waited for long enough. To be called every second or so."""
        for link in list(self._links.values()):
            if link.state is State.OWED and self._now_s() - link.broke_s > OWED_S:
                self._give_up(link)

    def _give_up(self, link: _Link) -> None:
        self.lost += len(link.owed)
        del self._links[link.origin]
        self._look_around()

    @property
    def neighbours(self) -> list[str]:
        """The names of those with whom there is a link that is up."""
        return sorted(link.name for link in self._links.values() if link.state is State.UP)

    @property
    def known(self) -> int:
        """Of how many other channels that are reached now the interests are known."""
        return len(self._known.keys() & set().union(*self._behind.values()))

    @property
    def owed(self) -> int:
        """Events that neighbours whose links are up have not taken yet."""
        return sum(len(link.owed) for link in self._links.values() if link.state is State.UP)

    # --- messages ---------------------------------------------------------------------------------------------------------------

    def received(self, origin: str, message: Message) -> None:
        """A neighbour has told something. Raises PeerMisbehaved for what cannot be meant."""
        link = self._links.get(origin)
        if link is None:
            return  # it was given up in this very moment
        match message:
            case Interests():
                self._take_interests(link, message)
            case Told():
                self._take_event(link, message)
            case Taken(number):
                self._forget_taken(link, number)
            case Hello():
                raise PeerMisbehaved(f"channel {link.name} says hello again in the middle of a link")

    def nothing_to_read(self, origin: str) -> None:
        """All that came by a link was read: say what was taken."""
        link = self._links.get(origin)
        if link is not None and link.said < link.taken and link.state is State.UP:
            link.said = link.taken
            self._send(origin, Taken(link.taken))

    def _take_event(self, link: _Link, message: Told) -> None:
        if message.number <= link.taken:
            return
        link.taken = message.number
        try:
            event = event_of(message)
        except PeerMisbehaved as error:
            raise PeerMisbehaved(f"channel {link.name} tells of {error}") from None
        self._taking = link.origin, event
        try:
            self._channel.publish(event)
        finally:
            self._taking = None
        if link.taken - link.said >= TAKEN_EVERY:
            self.nothing_to_read(link.origin)

    def _forget_taken(self, link: _Link, number: int) -> None:
        while link.owed and link.owed[0].number <= number:
            link.owed_bytes -= len(memoryview(link.owed.popleft().body))

    def _pass_on(self, event: Event) -> None:
        """The channel has taken an event for the first time: tell it wherever somebody wants it."""
        came_by = self._taking[0] if self._taking is not None and self._taking[1] is event else ""
        interested, body = None, None
        for link in list(self._links.values()):
            if link.origin == came_by:
                continue
            if interested is None:
                interested = {origin for origin, known in self._known.items() if self._wants(known, event)}
            # The one whose link broke lately is owed what it wanted.
            behind = self._behind.get(link.origin) or {link.origin}
            if not interested.isdisjoint(behind):
                body = body_of(event) if body is None else body
                self._tell(link, body)

    def _wants(self, known: _Known, event: Event) -> bool:
        if event.readers is not None and event.readers.isdisjoint(known.interests.askers):
            return False
        return known.wants_all or known.test(event.fields, event.environment)

    def _tell(self, link: _Link, body: msgspec.Raw) -> None:
        size_bytes = len(memoryview(body))
        if len(link.owed) >= MAX_OWED or link.owed_bytes + size_bytes > OWED_BYTES:
            self._give_up(link)
            return
        link.last += 1
        message = Told(link.last, body)
        link.owed.append(message)
        link.owed_bytes += size_bytes
        if link.state is State.UP:
            self._send(link.origin, message)

    # --- interests --------------------------------------------------------------------------------------------------------------

    def announce(self) -> None:
        """Tell all neighbours what is wanted here and with whom there is a link, if that is not what was told last."""
        neighbours = sorted(link.origin for link in self._links.values() if link.state is State.UP)
        closure, askers = self._channel.closure(), self._channel.askers()
        own = self._own
        if (own.closure, own.askers, own.neighbours) != (closure, askers, neighbours):
            self._own = Interests(own.origin, own.version + 1, closure, askers, neighbours)
            self._look_around()
            self._flood(self._own, except_origin="")

    def _take_interests(self, link: _Link, message: Interests) -> None:
        known = self._known.get(message.origin)
        if message.origin == self._channel.source or (known is not None and known.interests.version >= message.version):
            return
        length = _length_of(message)
        more = length - (0 if known is None else _length_of(known.interests))
        if len(self._known) + (known is None) > MAX_ORIGINS or self._known_characters + more > KNOWN_CHARACTERS:
            limits = f"expected at most {MAX_ORIGINS:,}, of {KNOWN_CHARACTERS:,} characters together"
            raise PeerMisbehaved(f"channel {link.name} tells of too many channels; {limits}")
        if length > MAX_CHARACTERS:
            raise PeerMisbehaved(
                f"channel {link.name} tells of interests of {length:,} characters; expected at most {MAX_CHARACTERS:,}"
            )
        self._known_characters += more
        condition = self._condition_of(message.closure)
        self._known[message.origin] = _Known(message, LazyTest(condition, self._channel.relations), condition == TRUE)
        self._look_around()
        self._flood(message, except_origin=link.origin)

    def _condition_of(self, closure: str) -> Condition:
        try:
            return parse(closure)
        except BadText:
            return TRUE  # another version may say what this one cannot read: too much, and never too little

    def _flood(self, interests: Interests, *, except_origin: str) -> None:
        for link in self._links.values():
            if link.origin != except_origin and link.state is State.UP:
                self.announced += 1
                self._send(link.origin, interests)

    def _look_around(self) -> None:
        """Find out who is behind which link, and forget who is behind none."""
        links = {origin: set(known.interests.neighbours) for origin, known in self._known.items()}
        links[self._channel.source] = set(self._own.neighbours)
        self._behind = {origin: self._reached(origin, links) for origin in self._own.neighbours}
        reached = set[str]().union(*self._behind.values())
        owed = {link.origin for link in self._links.values() if link.state is State.OWED}
        for origin in self._known.keys() - reached - owed:
            self._known_characters -= _length_of(self._known.pop(origin).interests)

    def _reached(self, first: str, links: dict[str, set[str]]) -> frozenset[str]:
        """Who is reached from a neighbour without this channel: by links that both ends tell of, or the end that was heard of."""
        seen = {self._channel.source, first}
        todo: list[str] = [first]
        while todo:
            one = todo.pop()
            for other in _linked(one, links):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return frozenset(seen - {self._channel.source})


def _length_of(interests: Interests) -> int:
    return len(interests.closure) + sum(map(len, interests.askers)) + sum(map(len, interests.neighbours))


def _linked(origin: str, links: dict[str, set[str]]) -> Iterable[str]:
    """With whom a channel is linked: both have to say so, as one that is dead says nothing any more; one that was not heard of yet
    is believed."""
    return [other for other in links.get(origin, ()) if other not in links or origin in links[other]]

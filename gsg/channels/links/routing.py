"""Which events go along which links, decided without any socket.

Every channel knows what each other one wants and with whom that is linked: these interests are flooded, each with a version, and
told again only when they have changed, so that a circle of channels goes quiet. Who cannot be reached any more is forgotten after
FORGOTTEN_S, and not at once: news that is under way may join it again, and an old version of its interests that is still under way
would be taken for new by one after another, in circles without end.

An event goes along a link where somebody behind it wants it, and nobody is behind a link who is reached only through this channel
itself. In a circle it comes from both sides and is taken once, so it arrives although a channel on one side dies. Links keep their
order and channels pass on in the order in which they take, so the events of one source are taken in order everywhere while links
stay as they are or break. When a new link makes a shorter way, what goes along it may overtake what is on the longer way still.

What was told on a link is kept until it was taken there: a link that breaks and comes back goes on where it was, for OWED_S.

    ABSENT ── hello ──> UP ── broke ──> OWED ── hello of the same life ──> UP
                         │               └── OWED_S later, or more owed than is kept ──> ABSENT
                         └── more owed than is kept: the socket is ended ──> ABSENT
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import msgspec

from ...errors import BadText, PeerMisbehaved
from ..channel import Channel
from ..encoding import decode_event, encode_event
from ..events import Event
from ..languages.expressions import TRUE, Condition
from ..languages.predicate import parse
from ..languages.source import LazyTest
from .messages import MAX_NAME, VERSION, Hello, Interests, Message, Taken, Told

OWED_S: Final = 20.0
"""How long a link that broke is waited for with what was not taken; after that it is counted as lost."""
MAX_OWED: Final = 100_000
OWED_BYTES: Final = 32 * 1024 * 1024
"""Events that are kept for one link, and their length as encoded; at either limit the link is given up, and what was kept is
counted as lost."""
FORGOTTEN_S: Final = 20.0
"""After how long a channel that is not reached is forgotten."""
MAX_ORIGINS: Final = 10_000
KNOWN_CHARACTERS: Final = 16 * 1024 * 1024
"""Channels that are known, and the characters of all their interests; beyond, those that are not reached are forgotten at once,
and where that is not enough a neighbour that tells of more is refused."""
MAX_LINKS: Final = 256
"""Links of one channel; one more is refused."""
MAX_CHARACTERS: Final = 320 * 1024
"""Of the interests of one channel, with its names and one more for each; longer ones end the link that tells of them."""
MAX_ASKERS: Final = 64 * 1024
"""Characters of the names of those who ask at one channel, one more counted for each; beyond, EVERYBODY is told in their place."""
EVERYBODY: Final = "*"
"""The asker that stands for all: an event that names its readers goes there whenever the closure wants it. It may be too much, and
never too little, so a subscriber may be called so."""
MAX_NUMBER: Final = 2**62
"""Of an event on a link, as a neighbour may say that it has taken it; a larger one is refused, so that numbers can go on."""
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
    hears_all: bool
    """Whether EVERYBODY asks there."""


Send = Callable[[str, Message], None]
"""Hands a message to the link to a neighbour, by that one's origin."""
End = Callable[[str], None]
"""Ends the socket of the link to a neighbour, by that one's origin."""


class Routing:
    """The links of one channel. ``send`` is called for links that are up, ``end`` for one that is given up while it is; ``now_s``
    never goes back. Its owner calls :meth:`announce` after the channel's interests have changed, and :meth:`close` at the end.
    """

    def __init__(self, channel: Channel, send: Send, end: End, now_s: Callable[[], float]) -> None:
        self._channel = channel
        self._send = send
        self._end = end
        self._now_s = now_s
        self._links: dict[str, _Link] = {}
        self._known: dict[str, _Known] = {}
        self._known_characters = 0
        """Limit: KNOWN_CHARACTERS."""
        self._unreached_s: dict[str, float] = {}
        """Since when channels that are known are not reached."""
        self._behind: dict[str, frozenset[str]] = {}
        """By neighbour: who is reached by it and not only through this channel; where the link broke lately, who was."""
        self._own = Interests(channel.source, channel.announced_version, "false", [], [])
        self._taking: tuple[str, Event] | None = None
        """The neighbour whose event is being taken, and the event: what consumers publish meanwhile is not the neighbour's."""
        self._is_unannounced = False
        self.lost = 0
        """Events that a neighbour was owed when it was given up."""
        self.announced = 0
        """Interests that were told, one's own and others'."""
        channel.on_event.append(self._pass_on)

    def close(self) -> None:
        """Pass on nothing more of what the channel takes."""
        self._channel.on_event.remove(self._pass_on)

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
        if hello.taken > MAX_NUMBER:
            raise PeerMisbehaved(f"channel {hello.name} has taken event {hello.taken:,} of a link; expected at most {MAX_NUMBER:,}")
        link = self._links.get(hello.origin)
        if link is None:
            if len(self._links) >= MAX_LINKS:
                raise PeerMisbehaved(f"channel {self._channel.name} has {MAX_LINKS} links, the most that it may have")
            link = self._links[hello.origin] = _Link(hello.name, hello.origin)
            # The neighbour takes no number twice. It knows this channel from a link that was given up here, and what was told on
            # that one and not read yet has numbers up to so many higher.
            link.last = hello.taken + MAX_OWED if hello.taken else 0
        link.state = State.UP
        link.last = max(link.last, hello.taken)
        link.said = 0  # what was said by an earlier socket may not have been read
        self._forget_taken(link, hello.taken)
        self._announce(except_origin=link.origin)
        self._tell_interests(link, self._own)
        for known in self._known.values():
            self._tell_interests(link, known.interests)
        for message in link.owed:
            self._send(link.origin, message)

    def link_broke(self, origin: str) -> None:
        """A link is gone; it is waited for."""
        link = self._links.get(origin)
        if link is not None and link.state is State.UP:
            link.state, link.broke_s = State.OWED, self._now_s()
            self.announce()

    def advance(self) -> None:
        """Give up links that were waited for long enough, and forget channels. Both are kept for as long as this is not called."""
        for link in list(self._links.values()):
            if link.state is State.OWED and self._now_s() - link.broke_s > OWED_S:
                self._give_up(link)
        self._forget(before_s=self._now_s() - FORGOTTEN_S)

    def _give_up(self, link: _Link) -> None:
        self.lost += len(link.owed)
        del self._links[link.origin]
        if link.state is State.UP:
            # Else the neighbour would go on with a link that is not known here.
            self._end(link.origin)
            self.announce()
        else:
            self._look_around()

    @property
    def neighbours(self) -> list[str]:
        """The names of those with whom there is a link that is up."""
        return sorted(link.name for link in self._links.values() if link.state is State.UP)

    @property
    def reached(self) -> frozenset[str]:
        """The origins of other channels that are reached now and whose interests are known."""
        up = (self._behind[link.origin] for link in self._links.values() if link.state is State.UP)
        return frozenset[str]().union(*up) & self._known.keys()

    @property
    def known(self) -> int:
        """How many these are."""
        return len(self.reached)

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
            event = decode_event(message.body)
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
        if self._is_unannounced:
            self.announce()  # whoever answers this event is to know first that the answer is wanted
        came_by = self._taking[0] if self._taking is not None and self._taking[1] is event else ""
        interested, body = None, None
        for link in list(self._links.values()):
            if link.origin == came_by:
                continue
            if interested is None:
                interested = {origin for origin, known in self._known.items() if self._wants(known, event)}
            # A link that broke lately is owed what those behind it wanted.
            if not interested.isdisjoint(self._behind[link.origin]):
                body = msgspec.Raw(encode_event(event)) if body is None else body
                self._tell(link, body)

    def _wants(self, known: _Known, event: Event) -> bool:
        if event.readers is not None and not known.hears_all and event.readers.isdisjoint(known.interests.askers):
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

    def interests_changed(self) -> None:
        """They are to be told: :meth:`announce` is called soon, and before any event is told."""
        self._is_unannounced = True

    def announce(self) -> None:
        """Tell all neighbours what is wanted here and with whom there is a link, if that is not what was told last."""
        self._announce(except_origin="")

    def _announce(self, *, except_origin: str) -> None:
        self._is_unannounced = False
        neighbours = sorted(link.origin for link in self._links.values() if link.state is State.UP)
        closure, askers = self._channel.closure(), self._channel.askers()
        if _length_of_names(askers) > MAX_ASKERS:
            askers = [EVERYBODY]
        own = self._own
        if (own.closure, own.askers, own.neighbours) != (closure, askers, neighbours):
            self._channel.announced_version += 1
            self._own = Interests(own.origin, self._channel.announced_version, closure, askers, neighbours)
            self._look_around()
            self._flood(self._own, except_origin=except_origin)

    def _take_interests(self, link: _Link, message: Interests) -> None:
        known = self._known.get(message.origin)
        if message.origin == self._channel.source or (known is not None and known.interests.version >= message.version):
            return
        if len(message.origin) > MAX_NAME:
            raise PeerMisbehaved(
                f"channel {link.name} tells of an origin of more than {MAX_NAME} characters; expected a shorter one"
            )
        length = _length_of(message)
        more = length - (0 if known is None else _length_of(known.interests))
        if self._is_too_much(known is None, more):
            self._forget(before_s=math.inf, but=message.origin)
        if self._is_too_much(known is None, more):
            limits = f"expected at most {MAX_ORIGINS:,}, of {KNOWN_CHARACTERS:,} characters together"
            raise PeerMisbehaved(f"channel {link.name} tells of too many channels; {limits}")
        if length > MAX_CHARACTERS:
            raise PeerMisbehaved(
                f"channel {link.name} tells of interests of {length:,} characters; expected at most {MAX_CHARACTERS:,}"
            )
        self._known_characters += more
        condition = self._condition_of(message.closure)
        test = LazyTest(condition, self._channel.relations)
        self._known[message.origin] = _Known(message, test, condition == TRUE, EVERYBODY in message.askers)
        self._look_around()
        self._flood(message, except_origin=link.origin)

    def _is_too_much(self, origins: int, characters: int) -> bool:
        return len(self._known) + origins > MAX_ORIGINS or self._known_characters + characters > KNOWN_CHARACTERS

    def _forget(self, *, before_s: float, but: str = "") -> None:
        """Forget who is not reached since before some time."""
        for origin, since_s in list(self._unreached_s.items()):
            if since_s < before_s and origin != but:
                del self._unreached_s[origin]
                self._known_characters -= _length_of(self._known.pop(origin).interests)

    def _condition_of(self, closure: str) -> Condition:
        try:
            return parse(closure)
        except BadText:
            return TRUE  # another version may say what this one cannot read: too much, and never too little

    def _flood(self, interests: Interests, *, except_origin: str) -> None:
        for link in self._links.values():
            if link.origin != except_origin and link.state is State.UP:
                self._tell_interests(link, interests)

    def _tell_interests(self, link: _Link, interests: Interests) -> None:
        self.announced += 1
        self._send(link.origin, interests)

    def _look_around(self) -> None:
        """Find out who is behind which link, and who is behind none."""
        links = self._links_of_all()
        before = self._behind
        self._behind = {
            # What is behind a link that broke is not told any more: until it is given up, it is who was there last.
            link.origin: self._reached(link.origin, links)
            if link.state is State.UP
            else before.get(link.origin, frozenset({link.origin}))
            for link in self._links.values()
        }
        reached = frozenset[str]().union(*self._behind.values())
        now_s = self._now_s()
        self._unreached_s = {origin: self._unreached_s.get(origin, now_s) for origin in self._known.keys() - reached}

    def _links_of_all(self) -> dict[str, set[str]]:
        """With whom each channel is linked: both have to say so, as one that is dead says nothing any more; one that was not heard
        of yet is believed to be linked with those who say so."""
        said = {origin: frozenset(known.interests.neighbours) for origin, known in self._known.items()}
        said[self._channel.source] = frozenset(self._own.neighbours)
        links: dict[str, set[str]] = {}
        for origin, others in said.items():
            for other in others:
                if other not in said or origin in said[other]:
                    links.setdefault(origin, set()).add(other)
                    links.setdefault(other, set()).add(origin)
        return links

    def _reached(self, first: str, links: dict[str, set[str]]) -> frozenset[str]:
        """Who is reached from a neighbour without this channel."""
        seen = {self._channel.source, first}
        todo = [first]
        while todo:
            new = links.get(todo.pop(), set()) - seen
            seen |= new
            todo.extend(new)
        return frozenset(seen - {self._channel.source})


def _length_of(interests: Interests) -> int:
    return len(interests.closure) + _length_of_names(interests.askers) + _length_of_names(interests.neighbours)


def _length_of_names(names: list[str]) -> int:
    """One is counted for each besides, as many short names take memory as well."""
    return len(names) + sum(map(len, names))

"""What peers say to each other about topics: frozen structs, which messages.py lists with the others.

``topic`` is a topic's name, or BASE for the overlay of all peers. Inject is answered by Done or Failed, EnrolMember by Members; the
others go without an answer.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

import dht

from .experiment_messages import Orders

BASE: Final = ""
"""In the place of a topic's name, which has at least one character: the overlay of all peers."""


class _Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    pass


class Known(_Message, frozen=True):
    """An entry of a view: a peer, and how many rounds ago it said itself that it was there."""

    contact: dht.Contact
    age: int


class Sketch(_Message, frozen=True):
    """How many there are, as far as is known in an epoch (gsg/topics/size.py)."""

    epoch: int
    registers: bytes


class Shuffle(_Message, frozen=True):
    """Of one overlay: a part of the sender's view."""

    topic: str
    entries: list[Known]
    sketches: list[Sketch] = []


class Advert(_Message, frozen=True):
    """A peer that is a member of a topic; ``age_ms``: how long ago it has said so itself."""

    topic: str
    contact: dht.Contact
    age_ms: int = 0


class Round(_Message, tag=41, frozen=True):
    """Parts of views of the overlays that both may have in common, and of those the other is to send some back."""

    shuffles: list[Shuffle]
    adverts: list[Advert] = []


class RoundBack(_Message, tag=42, frozen=True):
    """The answer to a Round."""

    shuffles: list[Shuffle]
    adverts: list[Advert] = []


class AskNeighbour(_Message, tag=43, frozen=True):
    """Be my neighbour in this overlay. ``urgent``: I have none, or one; ``change``: I have enough, and would change one;
    ``lazy``: events come to me by others."""

    topic: str
    urgent: bool = False
    lazy: bool = False
    change: bool = False


class Mark(_Message, frozen=True):
    """Of one source's events, all with numbers from ``low`` on, up to ``high``, are here."""

    source: bytes
    low: int
    high: int


class TakeNeighbour(_Message, tag=44, frozen=True):
    """We are neighbours. ``marks`` of what came of late; None where the sender has only begun to join, and does not know yet."""

    topic: str
    marks: list[Mark] | None
    lazy: bool = False


class RefuseNeighbour(_Message, tag=45, frozen=True):
    """I have enough neighbours, or am no member; here are others."""

    topic: str
    others: list[Known]
    is_member: bool = True


class DropNeighbour(_Message, tag=46, frozen=True):
    """We are no neighbours any more. ``leaves``: the sender leaves the overlay."""

    topic: str
    leaves: bool = False


class Payload(_Message, tag=47, frozen=True):
    """An event of a topic; ``body`` is what its publisher encoded. ``age_ms``: so long it lay at members, by each one's own clock;
    the ways between them are not counted."""

    topic: str
    source: bytes
    number: int
    body: bytes
    age_ms: int = 0


class Marks(_Message, tag=48, frozen=True):
    """What the sender has. ``answer``: tell me of yours that are higher."""

    topic: str
    marks: list[Mark]


class Graft(_Message, tag=49, frozen=True):
    """Send me events of a source with these numbers, and what comes from now on."""

    topic: str
    source: bytes
    first: int
    last: int


class Prune(_Message, tag=50, frozen=True):
    """I have your events from others: send me marks instead."""

    topic: str


class Walk(_Message, tag=51, frozen=True):
    """A random walk on behalf of ``origin``: who is a member of the topic? It visits ``left`` peers more."""

    number: int
    topic: str
    origin: dht.Contact
    left: int


class WalkEnd(_Message, tag=52, frozen=True):
    """Where a walk ended: with members of the topic, or with none where its peers are used up."""

    number: int
    topic: str
    members: list[dht.Contact]


class Probe(_Message, tag=54, frozen=True):
    """Are you there? Answered by a ProbeBack."""


class ProbeBack(_Message, tag=55, frozen=True):
    """I am."""


class Inject(_Message, tag=53, frozen=True):
    """Spread events of a publisher, who is no member, in your topic. Answered by Done, or by Failed where the receiver is none."""

    request: int
    payloads: list[Payload]


class EnrolMember(_Message, tag=56, frozen=True):
    """You hold a topic's key: who are its members? ``enrols``: I am one for the next while; ``leaves``: I am none any more.
    Answered by Members."""

    request: int
    topic: str
    enrols: bool = False
    leaves: bool = False


class Members(_Message, tag=57, frozen=True):
    """The members of a topic: how many have enrolled here, and some of them."""

    request: int
    count: int
    members: list[dht.Contact]


NAMING: Final = (Round, RoundBack, RefuseNeighbour, Walk, WalkEnd, Members, Orders)
"""Messages that name contacts."""


def contacts_in(message: object) -> list[dht.Contact]:
    """The contacts that a message names: who reads it dials them, so they are to be looked at first."""
    match message:
        case Round() | RoundBack():
            known = [entry.contact for shuffle in message.shuffles for entry in shuffle.entries]
            return known + [advert.contact for advert in message.adverts]
        case RefuseNeighbour():
            return [known.contact for known in message.others]
        case Walk():
            return [message.origin]
        case WalkEnd() | Members():
            return message.members
        case Orders():
            return message.neighbours
        case _:
            return []


TopicMessage: TypeAlias = (
    Round
    | RoundBack
    | AskNeighbour
    | TakeNeighbour
    | RefuseNeighbour
    | DropNeighbour
    | Payload
    | Marks
    | Graft
    | Prune
    | Walk
    | WalkEnd
    | Probe
    | ProbeBack
)

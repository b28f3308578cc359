"""How many bytes peers send to subscribers, measured by encoding real messages: nothing here is guessed but the terms.

Only the driver measures: tasks have nothing of the overlay installed, and are given the bytes. A message is as gsg/wire/messages.py
has it, with the header of its frame (dht/links/frames.py) and without what TLS and TCP add. What every message of its kind has,
what each tuple adds, and what each number of a feed adds are told apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from ..errors import check_range

if TYPE_CHECKING:
    from gsg.tuples.terms import Tuple
    from gsg.wire.messages import Message

TERM_BYTES = 32
"""Bytes of a term's text where nobody says: those of an IRI of a short namespace."""
MAX_TERM_BYTES = 65_536
_PUBLISHER = bytes(range(20))
_NUMBER = 100_000
"""Of a feed, a message or an event of a peer that has run for a while: integers are longer the larger they are."""
_MANY, _MORE = 100, 200
"""Tuples of two messages: what lies between them is what tuples cost, whatever messages cost besides."""


class Kind(StrEnum):
    """What tuples are."""

    FACTS = "facts"
    EVENTS = "events"


@dataclass(frozen=True, slots=True)
class Frames:
    """Bytes of messages to a subscriber's peer."""

    deltas: float
    """A message of changes of facts, without its facts."""
    fact: float
    happened: float
    """A message of events, without its events."""
    event: float
    """With the number of one feed."""
    number: float
    """One more number of a feed that the event matches."""
    snapshot: float
    """A part of a snapshot, without its facts."""
    stored: float
    resume: float
    """A subscriber asks for a snapshot."""
    missed: float
    """A rendezvous says how many events it did not keep."""


def bytes_of(message: Message) -> int:
    """The bytes of a message as one frame."""
    from dht.links.frames import HEADER_BYTES
    from gsg.wire.messages import encode

    return HEADER_BYTES + len(encode(message))


def frames_of(term_bytes: int = TERM_BYTES) -> Frames:
    """The bytes of messages whose tuples are of three IRIs of so many bytes. Raises BadParameter for terms that nobody has."""
    from gsg.tuples.terms import IRI

    check_range(term_bytes, 1, MAX_TERM_BYTES, "bytes of a term")
    return measured((IRI("x" * term_bytes),) * 3)


def measured(fact: Tuple) -> Frames:
    """The bytes of messages that carry tuples like this one."""
    from gsg.wire.messages import Deltas, Event, Happened, Missed, Origin, Resume, Snapshot

    origin = Origin(_PUBLISHER, _NUMBER)

    def deltas(count: int) -> int:
        return bytes_of(Deltas(_NUMBER, _NUMBER, [fact] * count, [1] * count, origin))

    def happened(count: int, feeds: int = 1) -> int:
        return bytes_of(Happened(_PUBLISHER, [Event(_NUMBER, fact)] * count, [[_NUMBER] * feeds] * count))

    def snapshot(count: int) -> int:
        return bytes_of(Snapshot(_NUMBER, [fact] * count, first=True, last=True, sequence=0))

    def costs(message: Callable[[int], int]) -> tuple[float, float]:
        """Of a message by itself, and of each tuple in it."""
        each = (message(_MORE) - message(_MANY)) / (_MORE - _MANY)
        # From one tuple, which most messages have: longer lists have longer heads.
        return message(1) - each, each

    number = (happened(1, _MORE) - happened(1, _MANY)) / (_MORE - _MANY)
    asked = bytes_of(Resume(_NUMBER)), bytes_of(Missed(_NUMBER, _NUMBER))
    return Frames(*costs(deltas), *costs(happened), number, *costs(snapshot), *asked)

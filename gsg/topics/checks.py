"""What no honest peer says of events: found when it comes, before anything is kept of it.

It ends the link. What may be meant for another version, as a longer name of a topic, is passed over elsewhere (:mod:`topics`).
"""

from __future__ import annotations

from typing import Final

from ..errors import PeerMisbehaved
from ..tuples.sizes import MAX_TUPLE_BYTES
from ..wire.topic_messages import Graft, Mark, Marks, Payload, TakeNeighbour
from .diffusion.diffusion import MARKS_A_FRAME, MAX_AGE_MS

PEER_ID_BYTES: Final = 20
"""A source's name is the id of its peer and, behind it, which of its lives this is."""
MAX_NUMBER: Final = 2**62
"""The highest number of an event. What is computed from one and told to others is encoded in 64 bits, so it has to be less."""


def check(message: object) -> None:
    """Raises PeerMisbehaved for sources, numbers and lengths that cannot be."""
    match message:
        case Payload():
            _check_source(message.source)
            _check_numbers(message.number, message.number)
            if not 0 <= message.age_ms <= MAX_AGE_MS:
                raise PeerMisbehaved(f"an event that is {message.age_ms} ms old; expected 0 to {MAX_AGE_MS}")
            if len(message.body) > MAX_TUPLE_BYTES:
                raise PeerMisbehaved(f"an event of {len(message.body):,} bytes; expected at most {MAX_TUPLE_BYTES:,}")
        case Graft():
            _check_source(message.source)
            _check_numbers(message.first, message.last)
        case Marks():
            _check_marks(message.marks)
        case TakeNeighbour():
            _check_marks(message.marks or [])


def _check_marks(marks: list[Mark]) -> None:
    if len(marks) > MARKS_A_FRAME:
        raise PeerMisbehaved(f"marks of {len(marks):,} sources in one message; expected at most {MARKS_A_FRAME:,}")
    for mark in marks:
        _check_source(mark.source)
        _check_numbers(mark.low, mark.high, may_be_empty=True)


def _check_source(source: bytes) -> None:
    if not PEER_ID_BYTES < len(source) <= 2 * PEER_ID_BYTES:
        raise PeerMisbehaved(f"a source's name of {len(source)} bytes; expected a peer's id and its life")


def _check_numbers(first: int, last: int, *, may_be_empty: bool = False) -> None:
    """A range of numbers; in an empty one, of a mark where nothing is kept, ``first`` is the number that comes next."""
    if not (1 <= first <= last + may_be_empty and last <= MAX_NUMBER):
        raise PeerMisbehaved(f"events numbered {first} to {last}; expected a range within 1 to {MAX_NUMBER}")

"""What another peer publishes or hands over, looked at before anything is done with it: it is held to what this peer would say.

A tuple that no door takes (:func:`gsg.tuples.terms.fact`, :func:`gsg.tuples.sizes.size_bytes`) must not come by a link either.
Whoever stores it, passes it on or hands it over would fail on it later, and somebody else would be taken for the one who failed.
This is done for each message of tuples, so most of it looks at a whole message at once. What this peer says to itself is not
looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import TypeAlias

from ..errors import BadTerm, PeerMisbehaved, Refused
from ..tuples.long_constants import LONG_BYTES, Remains, ShortTerm, remains_of, size_of
from ..tuples.sizes import MAX_TUPLE_BYTES, PART_BYTES, size_bytes
from ..tuples.terms import MAX_ARITY, MAX_NESTING, Compound, List, Variable
from .holder_messages import Buried, Replicate
from .messages import After, Flash, Publish

MAX_PUBLISHED_BYTES = 2 * PART_BYTES
"""The longest message of tuples. Honest ones are shorter; what is made of one for a subscriber, with its feeds, fits a frame."""
NAMED = 64
"""Rendezvous that a message names; beyond, those that have acknowledged everything are forgotten, the longest ago first."""
MAX_NAMED = NAMED + 1
"""Rendezvous that a message says come before it: one more where it was passed on, that is the one it was passed on by."""
RUN_CALLS = 200
"""Calls of one publisher whose facts go in one message."""

Published: TypeAlias = Publish | Flash | Replicate | Buried


def check(sender: bytes, message: Published, frame_bytes: int) -> None:
    """Look at a message of the peer ``sender``, whose frame was so long.

    Raises Refused for what no honest peer says by mistake only, PeerMisbehaved for what is said in the name of another.
    """
    # First of all: what is refused counts as passed, which nobody is to say in the name of another.
    if isinstance(message, Flash):
        _check_author(sender, message.publisher, message.after, forwarded=message.forwarded)
    elif isinstance(message, Publish) and message.origin is not None:
        _check_author(sender, message.origin.publisher, message.origin.after, forwarded=message.forwarded)
    if frame_bytes > MAX_PUBLISHED_BYTES:
        raise Refused(f"a message of {frame_bytes} bytes of tuples; expected at most {MAX_PUBLISHED_BYTES}: cut it")
    tuples: Sequence[Remains] = [event.items for event in message.events] if isinstance(message, Flash) else message.facts
    _check_tuples(tuples, message.places, are_facts=not isinstance(message, Flash))
    if isinstance(message, (Replicate, Buried)):
        _check_changes(message)
    elif isinstance(message, Publish):
        if abs(message.sign) != 1:
            raise Refused(f"sign {message.sign}; expected 1 or -1")
        if message.stamp < 0:
            raise Refused(f"a change at stamp {message.stamp}; expected microseconds since 1970")
        if message.parts:
            _check_parts(message)
    if isinstance(message, Buried):
        _check_remains(message.facts)
    elif frame_bytes > MAX_TUPLE_BYTES:
        for items in tuples:
            try:
                size_bytes(items)  # type: ignore[arg-type]  # no hashes: that were Buried
            except BadTerm as error:
                raise Refused(str(error)) from None


def _check_author(sender: bytes, publisher: bytes, after: After, *, forwarded: bool) -> None:
    # What is passed on keeps its publisher, and was looked at by whoever passed it on, as far as that peer can be trusted.
    if publisher != sender and not forwarded:
        raise PeerMisbehaved(f"it publishes in the name of peer {publisher.hex()[:12]}")
    if len(after) > MAX_NAMED:
        raise Refused(f"a message that comes after those of {len(after)} rendezvous; expected at most {MAX_NAMED}")


def _check_parts(message: Publish) -> None:
    parts, origin = message.parts, message.origin
    # First of all: each of them costs as much as a message, and to pass facts on all are looked at for each holder.
    if len(parts) > RUN_CALLS:
        raise Refused(f"a message in {len(parts)} parts; expected at most {RUN_CALLS}")
    if len(message.facts) != sum(part.facts for part in parts) or min(part.facts for part in parts) < 1:
        raise Refused(f"{len(message.facts)} facts in parts of {[part.facts for part in parts[:10]]}; expected each in one of them")
    if any(one.number >= later.number for one, later in pairwise(parts)) or origin is None or origin.number < parts[-1].number:
        raise Refused("parts whose numbers do not ascend to that of their message")
    if max(len(part.after) for part in parts) > MAX_NAMED:
        raise Refused(f"a part that comes after those of more than {MAX_NAMED} rendezvous; expected at most so many")


def _check_changes(message: Replicate | Buried) -> None:
    columns = (message.signs, message.stamps, message.audiences or message.facts)
    if any(len(column) != len(message.facts) for column in columns):
        raise Refused("changes in columns of different lengths; expected a sign and a stamp for each fact")
    if not _SIGNS.issuperset(message.signs):
        raise Refused("a change with a sign that is neither 1 nor -1")
    if min(message.stamps, default=0) < 0:
        raise Refused(f"a change at stamp {min(message.stamps)}; expected microseconds since 1970")


def _check_remains(remains: Sequence[Remains]) -> None:
    for each in remains:
        if remains_of(each) is not each:
            raise Refused(f"a tombstone of {size_of(each)} bytes; expected hashes of constants over {LONG_BYTES} bytes")


def _check_tuples(tuples: Sequence[Remains], places: Sequence[bytes], *, are_facts: bool) -> None:
    """Raise Refused unless each tuple is one, and comes under positions that it has."""
    if len(tuples) != len(places):
        raise Refused(f"{len(tuples)} tuples with {len(places)} places; expected as many")
    # Most tuples of a message have one arity and come under the same positions.
    for arity, there in set(zip(map(len, tuples), places, strict=True)):
        if not there or len(there) > arity or max(there) >= arity:
            raise Refused(f"a tuple of {arity} terms under positions {list(there)}; expected positions that it has")
        if arity > MAX_ARITY:
            raise Refused(f"a tuple of {arity} terms; expected 1 to {MAX_ARITY}")
    if _LOOKED_INTO.isdisjoint(map(type, chain.from_iterable(tuples))):
        return  # nearly always
    for items in tuples:
        _check_nested([item for item in items if type(item) in _LOOKED_INTO], are_facts=are_facts)


def _check_nested(level: list[ShortTerm], *, are_facts: bool) -> None:
    # Level by level, not by recursion: nesting is the sender's choice.
    depth = 0
    while level:
        depth += 1
        if depth > MAX_NESTING:
            raise Refused(f"terms more than {MAX_NESTING} deep in each other; expected less")
        inside: list[ShortTerm] = []
        for item in level:
            if type(item) is Variable:
                if are_facts:
                    raise Refused("a fact with a variable; a fact holds constants only")
            elif type(item) is Compound or type(item) is List:
                if not item.items:
                    raise Refused(f"a {type(item).__name__} without items is no term; expected at least one")
                inside.extend(item.items)
                if type(item) is List and item.tail is not None:
                    inside.append(item.tail)
        level = inside


_LOOKED_INTO = frozenset((Variable, Compound, List))
_SIGNS = frozenset((1, -1))

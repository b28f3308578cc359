"""Who may read a fact or an event: the peers that its publisher names, by the ids that their links prove.

A fact for named readers is a fact of its own, beside the same tuple for everybody and for others: a :class:`Restricted` tuple. Its
arity, features and keys are those of the plain tuple, so it lies, travels between holders and matches like any other; it equals
none but itself. What a subscriber is told is the plain tuple, and who is told is decided at the rendezvous
(:mod:`gsg.storage.visibility`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, TypeAlias, TypeVar

import msgspec

import dht

from ..errors import LocalError
from .terms import Term, Tuple

MAX_READERS = 64
"""Readers of one audience; it lies beside each fact, at each of its holders. Beyond, it is refused."""
SHARED = 1_024
"""Audiences that are kept once, however many facts have them; beyond, the one that was used the longest ago."""

PeerId: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=dht.ID_BYTES, max_length=dht.ID_BYTES)]
Audience: TypeAlias = Annotated[frozenset[PeerId], msgspec.Meta(min_length=1, max_length=MAX_READERS)]
"""The ids of the peers that may read something."""


class Restricted(tuple[Term, ...]):
    """A tuple for named readers; ``tuple(restricted)`` is the plain one. Encoded by itself it loses its audience."""

    audience: Audience

    def __new__(cls, items: Iterable[Term], audience: Audience) -> Restricted:
        made = super().__new__(cls, items)
        made.audience = audience
        return made

    def __eq__(self, other: object) -> bool:
        return type(other) is Restricted and self.audience == other.audience and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.audience, tuple.__hash__(self)))


def audience_of(readers: Iterable[object] | None) -> Audience | None:
    """An audience from peer ids, each 20 bytes or 40 hexadecimal digits; None for everybody.

    Raises LocalError for what is no id, for nobody, and for more than MAX_READERS.
    """
    if readers is None:
        return None
    if isinstance(readers, str | bytes) or not isinstance(readers, Iterable):
        raise LocalError(f"audience={readers!r:.100} is no list of peer ids; a single reader is given as [id]")
    audience = frozenset(map(_peer_id, readers))
    if not audience:
        raise LocalError(f"an audience of nobody; expected 1 to {MAX_READERS} peer ids, or no audience for everybody")
    if len(audience) > MAX_READERS:
        raise LocalError(
            f"an audience of {len(audience)} peers; expected at most {MAX_READERS}: give more readers a network of their own"
        )
    return _shared(audience)


def _peer_id(reader: object) -> bytes:
    found = reader
    if isinstance(reader, str):
        try:
            found = bytes.fromhex(reader) if len(reader) == 2 * dht.ID_BYTES else reader
        except ValueError:
            found = reader
    if not isinstance(found, bytes) or len(found) != dht.ID_BYTES:
        raise LocalError(
            f"{reader!r:.100} in an audience is no peer id; expected {2 * dht.ID_BYTES} hexadecimal digits"
            ", as gsg status --json shows them"
        )
    return found


@lru_cache(maxsize=SHARED)
def _shared(audience: Audience) -> Audience:
    return audience


def restricted(facts: Iterable[Tuple], audience: Audience) -> list[Tuple]:
    """The facts, for these readers alone."""
    audience = _shared(audience)
    return [Restricted(fact, audience) for fact in facts]


def restricted_each(facts: Sequence[Tuple], audiences: Sequence[Audience | None]) -> Sequence[Tuple]:
    """The facts, each for its own readers: the inverse of :func:`audiences_of`."""
    if not audiences:
        return facts
    return [
        fact if audience is None else Restricted(fact, _shared(audience)) for fact, audience in zip(facts, audiences, strict=True)
    ]


def audiences_of(facts: Sequence[tuple[object, ...]]) -> list[Audience | None]:
    """Who may read each of the facts; nothing at all where all are for everybody."""
    if _PLAIN.issuperset(map(type, facts)):
        return []
    return [fact.audience if isinstance(fact, Restricted) else None for fact in facts]


_PLAIN = frozenset((tuple,))


def reader_of(subscriber: object) -> bytes:
    """The peer that a link goes to, as it has proved; what is no link is nobody's."""
    contact = getattr(subscriber, "contact", None)
    return contact.id if isinstance(contact, dht.Contact) else b""


Reached = TypeVar("Reached", bound=Hashable)


def readers_among(reached: Mapping[Reached, list[int]], audience: Audience) -> dict[Reached, list[int]]:
    """Of those that an event reaches, whoever may read it."""
    return {subscriber: feeds for subscriber, feeds in reached.items() if reader_of(subscriber) in audience}

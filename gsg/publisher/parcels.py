"""What one call publishes, cut into messages: one for each holder with all of its tuples, or several where they are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import dht

from ..tuples.sizes import size_bytes
from ..tuples.terms import Tuple
from ..wire.messages import Part

CHUNK_TUPLES = 1_000
CHUNK_BYTES = 1024 * 1024
"""A message is cut at so many tuples or bytes, whichever comes first: a rendezvous answers others between two messages."""

Places: TypeAlias = Mapping[int, bytes]
"""By the number of a tuple in its batch, the positions under which it has yet to arrive."""


@dataclass(slots=True)
class Parcel:
    """One message: its receiver, the tuples' numbers in the batch, and for each the positions that the receiver holds."""

    holder: dht.Contact
    numbers: list[int] = field(default_factory=list)
    places: list[bytes] = field(default_factory=list)
    size_bytes: int = 0
    last: int = 0
    """Its number, or that of the last event in it."""
    parts: list[Part] = field(default_factory=list)
    """What it has of each call, where it has facts of several."""

    def add_to(self, missed: dict[int, bytes]) -> None:
        """The parcel did not arrive."""
        for number, places in zip(self.numbers, self.places, strict=True):
            missed[number] = missed.get(number, b"") + places


def sizes_of(tuples: Sequence[Tuple], all_bytes: int, texts: Sequence[int] | None = None) -> Sequence[int] | None:
    """The bytes of each tuple, with the letters of the text it came as; None where all, which have ``all_bytes`` with those, fit
    into one message."""
    if len(tuples) <= CHUNK_TUPLES and all_bytes <= CHUNK_BYTES:
        return None
    sizes = [size_bytes(items) for items in tuples]
    return sizes if texts is None else [size + 4 * text for size, text in zip(sizes, texts, strict=True)]


def cut(places: Places, holders: Sequence[Sequence[dht.Contact]], sizes: Sequence[int] | None) -> list[Parcel]:
    """The messages to send, in order for each holder; ``holders`` has those of each tuple by its positions.

    Without ``sizes``, which are by number, all tuples together fit into one message.
    """
    if sizes is None and all(len(there) == 1 for there in places.values()):
        return _of_one_holder(places, [contacts[0] for contacts in holders])
    done: list[Parcel] = []
    filling: dict[bytes, Parcel] = {}
    for (number, there), contacts in zip(places.items(), holders, strict=True):
        for position, holder in zip(there, contacts, strict=True):
            parcel = filling.get(holder.id)
            if parcel is None:
                parcel = filling[holder.id] = Parcel(holder)
            elif parcel.numbers[-1] == number:
                parcel.places[-1] += _BYTE[position]
                continue
            parcel.numbers.append(number)
            parcel.places.append(_BYTE[position])
        if sizes is None:
            continue
        for holder_id in dict.fromkeys([holder.id for holder in contacts]):
            parcel = filling[holder_id]
            parcel.size_bytes += sizes[number]
            if len(parcel.numbers) >= CHUNK_TUPLES or parcel.size_bytes >= CHUNK_BYTES:
                done.append(filling.pop(holder_id))
    return done + list(filling.values())


def _of_one_holder(places: Places, holders: Sequence[dht.Contact]) -> list[Parcel]:
    """The messages where each tuple goes to one holder, and all of them fit into one message."""
    filling: dict[bytes, Parcel] = {}
    for (number, there), holder in zip(places.items(), holders, strict=True):
        parcel = filling.get(holder.id)
        if parcel is None:
            parcel = filling[holder.id] = Parcel(holder)
        parcel.numbers.append(number)
        parcel.places.append(there)
    return list(filling.values())


_BYTE = [bytes((position,)) for position in range(256)]

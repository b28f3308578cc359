"""Long constants by their hashes: what stands for them where a text itself is not needed. Pure.

A key says where a feature lies, and a tombstone that a fact went; both outlive the fact, lie at several peers and travel alone, by
the thousand in one message. So no term of theirs is longer than LONG_BYTES: in the place of one that is stands its :class:`Hashed`,
everywhere and always, and two keys, or tombstones, are the same where the terms are. Short facts stand for themselves, which costs
nothing. Who chooses the texts may be a stranger, so the hash is one for which nobody finds another text (BLAKE2b, RFC 7693).
"""

from __future__ import annotations

from hashlib import blake2b
from operator import is_
from typing import Annotated, TypeAlias

import msgspec

from .audiences import Restricted
from .terms import Symbol, Term, n3

LONG_BYTES = 256
"""The longest term, as encoded, that stands for itself in a key or a tombstone. All peers of a network must have the same."""
SHORT_CHARACTERS = LONG_BYTES // 4 - 2
"""A text, or a symbol, of so many characters is no longer than LONG_BYTES, whatever they are: four bytes each, and four more."""
HASH_BYTES = 20
"""As ids have: to find two texts with one hash takes 2**80 tries."""


class Hashed(msgspec.Struct, frozen=True, array_like=True, tag=9, gc=False, cache_hash=True):
    """Stands for a constant that is longer than LONG_BYTES."""

    size_bytes: Annotated[int, msgspec.Meta(gt=LONG_BYTES)]
    """The length of the constant as encoded."""
    digest: Annotated[bytes, msgspec.Meta(min_length=HASH_BYTES, max_length=HASH_BYTES)]

    def __str__(self) -> str:
        return f"a constant of {self.size_bytes} bytes with the hash {self.digest.hex()[:12]}"


ShortTerm: TypeAlias = Term | Hashed
"""A constant, or what stands for a long one."""
Remains: TypeAlias = tuple[ShortTerm, ...]
"""What is remembered of a fact that went: the fact, with hashes in the place of its long constants."""

_encode = msgspec.msgpack.Encoder().encode


def short(constant: ShortTerm) -> ShortTerm:
    """A constant, or its hash where it is long. What is short already stays as it is."""
    kind = type(constant)
    if kind is int or (kind is str and len(constant) <= SHORT_CHARACTERS):  # type: ignore[arg-type]  # it is a text
        return constant
    if kind is Symbol and len(constant.name) <= SHORT_CHARACTERS:  # type: ignore[union-attr]  # it is a symbol
        return constant
    encoded = _encode(constant)
    if len(encoded) <= LONG_BYTES or type(constant) is Hashed:
        return constant
    return Hashed(len(encoded), blake2b(encoded, digest_size=HASH_BYTES).digest())


def constant_text(constant: ShortTerm) -> str:
    """A constant as people read it: in GSG script, or, of a long one, that it is one."""
    return str(constant) if isinstance(constant, Hashed) else n3(constant)


def remains_of(fact: Remains) -> Remains:
    """What is remembered of a fact when it goes; of one without long constants, and of what remains already, the same object.
    Readers stay."""
    if len(_encode(fact)) <= LONG_BYTES:
        return fact
    remains = tuple(map(short, fact))
    if all(map(is_, remains, fact)):
        return fact
    return Restricted(remains, fact.audience) if isinstance(fact, Restricted) else remains  # type: ignore[arg-type]  # see Remains


def is_hashed(fact: Remains) -> bool:
    """Whether these are the remains of a fact with long constants, which are not known from them."""
    return Hashed in map(type, fact)


def size_of(fact: Remains) -> int:
    """The length of a fact, or its remains, as encoded, in bytes."""
    return len(_encode(fact))

"""Features: what a tuple has and a condition requires, and the keys that name their rendezvous.

A feature is an arity, a position and the constant there. A template (a condition without its variables' names) is posted under
ONE feature that it requires, its anchor; a tuple looks up all of its own and so meets every template that could match it (DESIGN
section 1; the scheme of RDFPeers, Cai and Frank 2004, with position and arity hashed along with the constant).

A template without any constant has no anchor: it is posted at every peer, and the tuple meets it at its home, the rendezvous of
its position 0, and nowhere else.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha1
from typing import Annotated, TypeAlias

import msgspec

import rete

from .long_constants import LONG_BYTES, Remains, ShortTerm, short
from .terms import MAX_ARITY, Term, Tuple, Variable

Template: TypeAlias = rete.Template[Term]
"""The definition of an alpha memory over terms."""


class Interval(msgspec.Struct, frozen=True, array_like=True, tag=10, gc=False):
    """Stands in a key for all numbers of an interval of an ordered attribute (:mod:`gsg.tuples.ordered_attributes`)."""

    number: Annotated[int, msgspec.Meta(ge=0)]


Key: TypeAlias = tuple[int, int, ShortTerm | Interval]
"""A feature: arity, position and the constant there. It stands for its key wherever no peer has to be found, for longer than there
is a tuple that has it: so a long constant is its hash there (:mod:`gsg.tuples.long_constants`). A key of an interval is no feature
of a tuple; it is what a condition is posted under that has bounds and no constant."""

HOME = 0
"""The position whose rendezvous speaks for a tuple where only one may."""

_encode = msgspec.msgpack.Encoder().encode
_ALL = [bytes(range(arity)) for arity in range(MAX_ARITY + 1)]
"""By arity."""


def alpha_of(template: Template) -> rete.AlphaSpec:
    """The alpha memory of a template alone: one object for all who listen for it, unless its constants are long."""
    return _shared(template) if len(_encode(template.pattern)) <= LONG_BYTES else rete.AlphaSpec(template)


@lru_cache(maxsize=4_096)
def _shared(template: Template) -> rete.AlphaSpec:
    return rete.AlphaSpec(template)


def positions(items: Tuple) -> bytes:
    """The positions of a tuple that hold a constant, hence its features; all of those of a fact."""
    if Variable not in map(type, items):
        return _ALL[len(items)]
    return bytes([position for position, item in enumerate(items) if type(item) is not Variable])


def keys_at(items: Remains, positions: bytes) -> list[Key]:
    """The features at some positions of a tuple."""
    arity = len(items)
    return [(arity, position, short(items[position])) for position in positions]


def short_key(feature: Key) -> Key:
    """A feature, where its constant may be a long one."""
    arity, position, constant = feature
    if type(constant) is Interval:
        return feature
    brief = short(constant)  # type: ignore[arg-type]  # a term, or the hash of one
    return feature if brief is constant else (arity, position, brief)


def key(arity: int, position: int, constant: ShortTerm) -> bytes:
    """The 160-bit key of a feature, by which the overlay finds its rendezvous."""
    return key_of_short((arity, position, short(constant)))


def key_of_short(feature: Key) -> bytes:
    """The same, of a feature without a long constant."""
    return sha1(_encode(feature), usedforsecurity=False).digest()


class Load(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What lies under one key, and whether the template that was asked about is among its templates."""

    facts: int
    templates: int
    posted: bool

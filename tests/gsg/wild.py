"""Messages that are whole and make no sense: every kind, with values that their types allow and nobody means."""

from __future__ import annotations

from collections.abc import Sequence
from enum import EnumType
from random import Random
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import dht
import rete
from gsg.tuples.features import Template
from gsg.tuples.long_constants import HASH_BYTES, LONG_BYTES, Hashed, Remains, ShortTerm
from gsg.tuples.terms import IRI, BlankNode, Compound, List, Literal, Symbol, Term, Tuple, Variable
from gsg.wire.messages import Message

KINDS: Sequence[type[Any]] = get_args(Message)  # Any: the structs of the union
WORDS = ("x", "y", "^", "", "a longer word than others")
NUMBERS = (-(2**63), -99, -1, 0, 0, 1, 1, 2, 2, 3, 3, 3, 7, 255, 256, 10_000, 2**31, 2**60, 2**63 - 1, 2**64 - 1)
MOSTLY: dict[str, Sequence[Any]] = {  # Any: whatever the field holds
    "sign": (1, 1, -1, 0),
    "signs": (1, -1, 1, -1, 1, -1, 0),
    "places": (b"\x00", b"\x00", b"\x00", b"\x01", b"\x00\x01", b"\xff", b""),
    "stamp": (-1, 0, 1, 7, 10_000, 2**60),
    "stamps": (-1, 0, 1, 7, 7, 7, 10_000, 10_000),
    "feed": (1, 2, 3, 4),
    "late_s": (0, 0, 1, -1),
}
"""Of some fields what is nearly right, as others would hide what it does."""


class Wild:
    """Draws from ``rng``; ``peers`` are whom it names, beside some that there are not."""

    def __init__(self, rng: Random, peers: Sequence[dht.Contact]) -> None:
        self._rng = rng
        self._peers = peers
        self._columns = 1

    def message(self) -> Message:
        """One message. The lists in it are mostly of one length, as otherwise little of it would be looked at."""
        kind = self._rng.choice(KINDS)
        self._columns = self._rng.choice((0, 1, 1, 2, 3))
        made: Message = self._struct(kind)
        return made

    def _struct(self, kind: type[Any]) -> Any:  # Any: whichever struct it is
        hints = get_type_hints(kind, include_extras=True)
        return kind(**{name: self._value(hint, MOSTLY.get(name)) for name, hint in hints.items()})

    def _value(self, hint: Any, mostly: Sequence[Any] | None = None) -> Any:  # Any: whatever a field is annotated with, and holds
        rng = self._rng
        if mostly is not None and get_origin(hint) is not list and rng.randrange(20):
            return rng.choice(mostly)
        if hint == Term:
            return self._term()
        if hint == ShortTerm:
            return self._short_term()
        if hint in (Tuple, Remains):
            term = self._term if hint == Tuple else self._short_term
            return tuple([term() for _ in range(rng.choice((0, 1, 2, 2, 3, 3, 3, 3, 3, 300)))])
        if hint == Template:
            pattern = tuple([rng.choice((None, self._term())) for _ in range(rng.choice((0, 1, 2, 3, 3, 3, 300)))])
            same = [(rng.choice((-1, 0, 1)), rng.choice((0, 1, 2, 300))) for _ in range(rng.choice((0, 0, 0, 1)))]
            return rete.Template(pattern, tuple(same))
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return frozenset(self._id() for _ in range(3)) if get_origin(arguments[0]) is frozenset else self._value(arguments[0])
        if origin in (Union, UnionType):
            return self._value(rng.choice(arguments))
        if origin is list:
            return [self._value(arguments[0], mostly) for _ in range(self._columns if rng.randrange(20) else rng.randrange(5))]
        if origin is tuple:
            return tuple(self._value(each) for each in arguments)
        if hint is int:
            return rng.choice(NUMBERS)
        if hint is str:
            return rng.choice(WORDS)
        if hint is bytes:
            return rng.choice((self._id(), self._id(), b"\x00", b"\x01", b"\x00\x01", b"\x00\x01\x02", b"\xff", b""))
        if hint is bool:
            return rng.random() < 0.5
        if isinstance(hint, EnumType):
            return rng.choice(list(hint))
        if hint is NoneType:
            return None
        if hint is dht.Contact:
            return rng.choice((*self._peers, dht.Contact(self._id(), "10.9.9.9", 7400)))
        return self._struct(hint)

    def _id(self) -> bytes:
        return self._rng.choice((*(peer.id for peer in self._peers), self._rng.randbytes(20)))

    def _short_term(self) -> ShortTerm:
        if self._rng.randrange(4):
            return self._term()
        return Hashed(self._rng.choice((LONG_BYTES + 1, 2**20)), self._rng.choice((b"a", b"b")) * HASH_BYTES)

    def _term(self, depth: int = 0) -> Term:
        rng = self._rng
        word = rng.choice(WORDS)
        match rng.randrange(12 if depth < 4 else 8):
            case 0 | 1:
                return word
            case 2 | 3:
                return rng.choice(NUMBERS)
            case 4:
                return IRI(word)
            case 5:
                return BlankNode(word)
            case 6:
                return Literal(word, rng.choice(WORDS), rng.choice(WORDS))
            case 7 | 8:
                return Symbol(word)
            case 9:
                return Variable(word)
            case 10:
                return Compound(tuple(self._term(depth + 1) for _ in range(rng.randrange(4))))
            case _:
                tail = None if rng.random() < 0.5 else self._term(depth + 1)
                return List(tuple(self._term(depth + 1) for _ in range(rng.randrange(4))), tail)

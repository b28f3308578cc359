"""Ordered attributes: positions whose numbers lie in the overlay in their order, so that a range of them is a few keys. Pure.

A position of tuples of one arity may be declared ordered, at all peers of a network alike. Its numbers are cut into intervals, and
all numbers of an interval have the key of the interval: the same peers hold them. So a condition that has no constant, and bounds
such a position, is posted under the keys of the intervals between its bounds, where it would be posted at every peer. (MAAN, Cai,
Frank, Chen and Szekely 2004, hashes an attribute's values in their order, and walks from the lower bound to the upper one; here
intervals are hashed, as neighbours in Kademlia's space are not neighbours on a ring.)

    (?sensor, ?what, ?value) FILTER(?value > 90)     position 2 of 3, ordered from 0 to 100 in 20 intervals: 4 keys

A feature stays what it is, a constant at a position; only where its key lies is another thing. What is no number has its own key;
of a long constant only the hash is known where a key is (:mod:`gsg.tuples.long_constants`), so all of these lie in one more
interval, in which every such condition is posted too: it may be a number of very many digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha1

import msgspec

from ..errors import LocalError
from .features import Interval, Key, key_of_short
from .long_constants import Hashed
from .numbers import number_of
from .terms import MAX_ARITY, Term

MAX_INTERVALS = 65_536
"""Of one attribute, the two outer ones not counted."""
MAX_ATTRIBUTES = 64
"""Of one network."""
POSTED_INTERVALS = 64
"""Between the bounds of one condition, beside that of long constants; one with more of them is posted at every peer."""
_NUMBER = r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_FORM = re.compile(rf"(?P<low>{_NUMBER})\.\.(?P<high>{_NUMBER})/(?P<intervals>[0-9]{{1,9}})")
_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class OrderedAttribute:
    """Position ``position`` of tuples with ``arity`` terms: numbers from ``low`` to ``high`` in so many equal intervals.

    Below and above is one more interval each: 0, and ``intervals + 1``; and there is that of long constants. Raises LocalError for
    what cannot be one.
    """

    arity: int
    position: int
    low: float
    high: float
    intervals: int

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        for bound in ("low", "high"):
            object.__setattr__(self, bound, getattr(self, bound) + 0.0)  # of two zeros one
        if not 0 <= self.position < self.arity <= MAX_ARITY:
            raise LocalError(f"position {self.position} of {self.arity} terms; expected one below the arity, at most {MAX_ARITY}")
        width = self.high - self.low
        if not (math.isfinite(width) and width > 0):
            raise LocalError(f"an ordered attribute from {self.low:g} to {self.high:g}; expected two numbers, the lower one first")
        if not 1 <= self.intervals <= MAX_INTERVALS or not math.isfinite(self.intervals / width):
            raise LocalError(f"{self.intervals:,} intervals from {self.low:g} to {self.high:g}; expected 1 to {MAX_INTERVALS:,}")

    @property
    def of_long(self) -> int:
        """The interval of constants that only their hashes stand for."""
        return self.intervals + 2

    @property
    def place(self) -> tuple[int, int]:
        """Arity and position."""
        return self.arity, self.position

    def __str__(self) -> str:
        """As it is written."""
        terms = ["_"] * self.arity
        terms[self.position] = f"{_written(self.low)}..{_written(self.high)}/{self.intervals}"
        return ",".join(terms)

    def interval_of(self, number: float) -> int:
        """The interval of a number that is not NaN; never lower for a higher number."""
        if number < self.low:
            return 0
        if number >= self.high:
            return self.intervals + 1
        return min(self.intervals, 1 + int((number - self.low) * (self.intervals / (self.high - self.low))))

    def intervals_between(self, low: float, high: float) -> range:
        """The intervals in which numbers from one to the other lie, if they are not long; a bound may be infinite."""
        return range(self.interval_of(low), self.interval_of(high) + 1)

    def all_between(self, low: float, high: float) -> list[int]:
        """The same, and that of long constants: one of these is under the key of each number from one to the other."""
        return [*self.intervals_between(low, high), self.of_long]


class OrderedAttributes:
    """Those of one network. Raises LocalError for two at one position, or more than MAX_ATTRIBUTES."""

    def __init__(self, attributes: Iterable[OrderedAttribute] = ()) -> None:
        declared = sorted(attributes, key=lambda attribute: attribute.place)
        self.by_place = {attribute.place: attribute for attribute in declared}
        if len(self.by_place) < len(declared):
            raise LocalError(f"ordered attributes {'; '.join(map(str, declared))}; expected one at a position")
        if len(declared) > MAX_ATTRIBUTES:
            raise LocalError(f"{len(declared)} ordered attributes; expected {MAX_ATTRIBUTES} at most")

    def __bool__(self) -> bool:
        return bool(self.by_place)

    def __str__(self) -> str:
        """As they are written; the same for the same ones."""
        return "; ".join(map(str, self.by_place.values()))

    def interval_key(self, feature: Key) -> Key | None:
        """The key of the interval in which the constant of a feature lies; None where there is none."""
        arity, position, constant = feature
        attribute = self.by_place.get((arity, position))
        if attribute is None:
            return None
        if type(constant) is Hashed:
            return (arity, position, Interval(attribute.of_long))
        number = float_of(constant)  # type: ignore[arg-type]  # what is no term is no number
        return None if number is None else (arity, position, Interval(attribute.interval_of(number)))

    def place_of(self, feature: Key) -> bytes:
        """The 160 bits by which the overlay finds who holds a feature; the constant may be an interval itself."""
        if self.by_place:
            key = feature if type(feature[2]) is Interval else self.interval_key(feature)
            if key is not None:
                # No key of a constant: those are made of three items.
                return sha1(_encode((*key[:2], "interval", key[2].number)), usedforsecurity=False).digest()  # type: ignore[union-attr]
        return key_of_short(feature)


NONE_ORDERED = OrderedAttributes()


def _written(bound: float) -> str:
    short = f"{bound:g}"
    return short if float(short) == bound else repr(bound)


def float_of(term: Term) -> float | None:
    """The number that a term denotes, as FILTERs compare it; None for no number, and for NaN."""
    number = number_of(term)
    if number is None:
        return None
    try:
        value = float(number[1])
    except OverflowError:
        value = math.inf if number[1] > 0 else -math.inf
    return None if math.isnan(value) else value


def attribute_from(text: str) -> OrderedAttribute:
    """The attribute that a text such as ``_,_,0..100/50`` says: a tuple's positions, one of them ``LOW..HIGH/INTERVALS``.

    Raises LocalError.
    """
    terms = [term.strip() for term in text.split(",")]
    ordered = [position for position, term in enumerate(terms) if term not in ("_", "?", "*")]
    found = _FORM.fullmatch(terms[ordered[0]]) if len(ordered) == 1 else None
    if found is None:
        raise LocalError(
            f"ordered attribute {text!r}; expected a tuple's positions such as _,_,0..100/50: the numbers from 0 to 100 of the "
            "third of three, in 50 intervals"
        )
    return OrderedAttribute(len(terms), ordered[0], float(found["low"]), float(found["high"]), int(found["intervals"]))

"""What a FILTER requires of the value of one name, so that of very many FILTERs those that a value may pass are looked up.

``?t > 20`` requires that ?t is a number of 20 or more. Any side that reads one name and nothing else will do: in
``YEAR(?d) = 2026`` or ``STRSTARTS(STR(?x), "http:")`` it is what is looked at in the value. A requirement lets through all that the
FILTER does, and little besides: numbers are looked up as floats, which keep their order, if not always their difference.

Not looked up are ``!=``, negations, alternatives that are no equalities of one side, the order of durations, of truth values and of
texts with a language: such a FILTER is tried on each value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, TypeAlias

from rete.predicates import Begins, Between, Contains, Ends, OneOf, Requirement

from ...tuples.moments import Moment
from ...tuples.number_forms import FLOAT, single
from ...tuples.numbers import number_of
from ...tuples.terms import Literal, Term
from .comparing import is_literal
from .dates import WIDEST_ZONE_S, moment_of
from .errors import ExpressionError
from .evaluating import Evaluate, evaluator
from .tree import Call, Constant, Expression, Fresh, Name, names_in

MAX_KEYS: Final = 64
"""Constants of which one is to be there; where there are more, the FILTER is tried."""
MAX_CHARACTERS: Final = 64
"""Of a text that are looked up; the rest of it is left to the FILTER."""

Kind: TypeAlias = Callable[[Term], Any]  # Any: values that can be compared with each other; None for a term of another kind
_Required: TypeAlias = tuple[int, Requirement]
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_STEP, _SMALL, _LARGE = 2.0**-22, 2.0**-148, 3.4e38
"""Two numbers of 32 bits beside each other differ by less than _STEP of their value, or at zero by _SMALL; numbers beyond _LARGE
may be rounded to infinity."""
_VALUE = Name("")
"""The one name of what is looked at, so that equal ones of different queries are one."""


def requirements_of(expression: Expression, names: tuple[str, ...]) -> tuple[_Required, ...]:
    """What an expression requires where it is true, each with the number of the name in whose value."""
    match expression:
        case Call("=", (one, other)):
            sides = [(one, other), (other, one)]
            found = [_one_of(side, (constant.term,)) for side, constant in sides if isinstance(constant, Constant)]
        case Call("IN", (side, *others)) if len(others) <= MAX_KEYS:
            found = [_one_of(side, _terms(others))]
        case Call("||", alternatives) if len(alternatives) <= MAX_KEYS:
            found = [_one_of(*_equalities(alternatives))]
        case Call("<" | "<=" | ">" | ">=" as symbol, (Constant(term), side)):
            found = [_between(_MIRRORED[symbol], side, term)]
        case Call("<" | "<=" | ">" | ">=" as symbol, (side, Constant(term))):
            found = [_between(symbol, side, term)]
        case Call("STRSTARTS" | "STRENDS" | "CONTAINS" as function, (side, Constant(term))):
            text = _text(term)
            found = [] if text is None else [(side, (_part(function, side, text),))]
        case _:
            found = []
    return tuple(_by_name(found, names))


def _by_name(found: list[tuple[Expression, Requirement] | None], names: tuple[str, ...]) -> Iterator[_Required]:
    for each in found:
        if each is not None:
            side, requirement = each
            name = names_in(side)
            if len(name) == 1 and requirement and not _has_chance(side):
                yield names.index(name[0]), requirement


def _has_chance(side: Expression) -> bool:
    return isinstance(side, Fresh) or (isinstance(side, Call) and any(map(_has_chance, side.arguments)))


class _Looked:
    """What is looked at in a value: an expression of it, as a value of one kind (a :class:`rete.predicates.View`). Most equal ones
    are one object (:func:`_looked`), and what an index asks for most is their hash."""

    __slots__ = ("_evaluate", "_hash", "kind", "side")

    def __init__(self, side: Expression, kind: Kind) -> None:
        """``side`` reads _VALUE."""
        self.side = side
        self.kind = kind
        self._hash = hash((side, kind))
        self._evaluate: Evaluate | None = None
        """Made when it is first looked."""

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Looked) and (self.side, self.kind) == (other.side, other.kind)

    @property
    def is_computed(self) -> bool:
        """Whether there may be any number of others: plain ones are few."""
        return self.side is not _VALUE

    def __call__(self, value: Term) -> Any:  # Any: as in Kind
        if self.side is _VALUE:
            return self.kind(value)
        if self._evaluate is None:
            self._evaluate = evaluator(self.side, (_VALUE.name,))
        try:
            return self.kind(self._evaluate((value,)))
        except ExpressionError:
            return None


@lru_cache(maxsize=256)  # of what is looked at, mostly a name; the one that was not asked for the longest goes
def _looked(side: Expression, kind: Kind) -> _Looked:
    return _Looked(_of_value(side), kind)


def _of_value(side: Expression) -> Expression:
    match side:
        case Name():
            return _VALUE
        case Call(function, arguments):
            return Call(function, tuple(map(_of_value, arguments)))
        case _:
            return side


def _part(function: str, side: Expression, text: str) -> Begins | Ends | Contains:
    looked = _looked(side, _text)
    match function:
        case "STRSTARTS":
            return Begins(looked, text[:MAX_CHARACTERS])
        case "STRENDS":
            return Ends(looked, text[-MAX_CHARACTERS:])
        case _:
            return Contains(looked, text[:MAX_CHARACTERS])


# --- equality ---------------------------------------------------------------------------------------------------------------


def _terms(constants: list[Expression]) -> tuple[Term, ...]:
    """The terms of constants; none where something else is among them."""
    terms = tuple(each.term for each in constants if isinstance(each, Constant))
    return terms if len(terms) == len(constants) else ()


def _equalities(alternatives: tuple[Expression, ...]) -> tuple[Expression, tuple[Term, ...]]:
    """The side and the constants of alternatives that are equalities of one side."""
    sides: dict[Expression, None] = {}
    terms = []
    for each in alternatives:
        match each:
            case Call("=", (Constant(term), side) | (side, Constant(term))):
                sides[side] = None
                terms.append(term)
            case _:
                return Constant(""), ()
    return next(iter(sides)), tuple(terms) if len(sides) == 1 else ()


def _one_of(side: Expression, terms: tuple[Term, ...]) -> tuple[Expression, Requirement] | None:
    by_kind: dict[Kind, dict[Any, None]] = {}  # Any: as in Kind
    for term in terms:
        number = number_of(term)
        if number is not None:
            key = _float(number[1])
            if number[0] == FLOAT or math.isnan(key):
                return None  # numbers of other kinds are rounded, and then equal it; nothing equals what is none
            by_kind.setdefault(_number, {})[key] = by_kind.setdefault(_single, {})[single(key)] = None
            continue
        kind: Kind
        moment = moment_of(term)
        if moment is not None:
            kind = _At(moment.datatype, bool(moment.zone))
        elif type(term) is str:
            kind = _string
        elif not is_literal(term):
            kind = _name
        else:
            return None  # of other datatypes it is not known which terms are equal
        by_kind.setdefault(kind, {})[kind(term)] = None
    return side, tuple(OneOf(_looked(side, kind), tuple(keys)) for kind, keys in by_kind.items())


# --- order ------------------------------------------------------------------------------------------------------------------


def _between(symbol: str, side: Expression, term: Term) -> tuple[Expression, Requirement] | None:
    moment = moment_of(term)
    if moment is not None:
        return side, tuple(_moment_bounds(symbol, side, moment, zoned=zoned) for zoned in (False, True))
    number = number_of(term)
    if number is not None:
        return side, _number_bounds(symbol, side, *number)
    text = _string(term)
    return None if text is None else (side, (_bounded(symbol, side, _string, text),))


def _number_bounds(symbol: str, side: Expression, kind: int, number: Any) -> Requirement:  # Any: as in numbers.py
    """The numbers before or behind one. Beside an ``xsd:float`` numbers of most other kinds are rounded to one first."""
    bound = _float(number)
    if math.isnan(bound):
        return ()
    nearly = _moved(bound, is_lower=symbol.startswith(">")) if kind == FLOAT else bound
    return _bounded(symbol, side, _number, nearly), _bounded(symbol, side, _single, single(bound))


def _moved(bound: float, *, is_lower: bool) -> float:
    """A bound moved so far that numbers which are rounded to it, at 32 bits, are on its side."""
    if math.isinf(bound):
        return math.copysign(_LARGE, bound) if is_lower == (bound > 0) else bound
    slack = abs(bound) * _STEP + _SMALL
    return bound - slack if is_lower else bound + slack


def _moment_bounds(symbol: str, side: Expression, moment: Moment, *, zoned: bool) -> Between:
    """The moments before or behind one. Where one of two has no timezone, their order is known only if they are further apart than
    timezones are."""
    apart = 0 if zoned == bool(moment.zone) else WIDEST_ZONE_S
    bound = moment.point + (apart if symbol.startswith(">") else -apart)
    return _bounded(symbol, side, _At(moment.datatype, zoned), bound)


def _bounded(symbol: str, side: Expression, kind: Kind, bound: Any) -> Between:  # Any: as in Kind
    looked = _looked(side, kind)
    return Between(looked, bound, None) if symbol.startswith(">") else Between(looked, None, bound)


def numbers_between(requirement: Requirement) -> tuple[float, float] | None:
    """The lowest and the highest number that a requirement lets through, which may be infinite; None where it may let through what
    is no number."""
    lows, highs = [], []
    for part in requirement:
        if part.view not in (_looked(_VALUE, _number), _looked(_VALUE, _single)):
            return None
        match part:
            case Between(_, low, high):
                lows.append(-math.inf if low is None else low)
                highs.append(math.inf if high is None else high)
            case OneOf(_, keys):
                lows.append(min(keys))  # type: ignore[type-var]  # numbers, as the view says
                highs.append(max(keys))  # type: ignore[type-var]  # as above
            case _:
                return None
    return min(lows), max(highs)


# --- kinds of values --------------------------------------------------------------------------------------------------------


def _number(term: Term) -> float | None:
    """A number that is no ``xsd:float``."""
    number = number_of(term)
    if number is None or number[0] == FLOAT:
        return None
    value = _float(number[1])
    return None if math.isnan(value) else value


def _single(term: Term) -> float | None:
    """An ``xsd:float``, of 32 bits."""
    number = number_of(term)
    return None if number is None or number[0] != FLOAT or math.isnan(number[1]) else float(number[1])


def _float(number: int | float | Decimal) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _string(term: Term) -> str | None:
    return term if type(term) is str else None


def _text(term: Term) -> str | None:
    """The characters of a text, with or without a language."""
    if type(term) is str:
        return term
    return term.lexical if type(term) is Literal and term.language else None


def _name(term: Term) -> Term | None:
    """Whatever is no literal, and equal to itself alone."""
    return None if is_literal(term) else term


@dataclass(frozen=True, slots=True)
class _At:
    """The point of a moment of one datatype, with a timezone or without."""

    datatype: str
    zoned: bool

    def __call__(self, term: Term) -> Decimal | None:
        moment = moment_of(term)
        if moment is None or moment.datatype != self.datatype or bool(moment.zone) != self.zoned:
            return None
        return moment.point

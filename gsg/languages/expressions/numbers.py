"""Numbers of SPARQL: XSD's numeric types, their promotion, arithmetic and canonical forms (SPARQL 1.1, section 17.1 and 17.3).

A number is a pair of its kind (INTEGER < DECIMAL < FLOAT < DOUBLE, the order of promotion) and a Python value: int, Decimal, or
float. Derived integer types are INTEGER here: what is computed from them is an ``xsd:integer``.
"""

from __future__ import annotations

import math
import re
import struct
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from typing import Any, TypeAlias

from ...tuples.terms import XSD, XSD_DOUBLE, XSD_INTEGER, Literal, Term, literal
from .errors import ExpressionError

INTEGER, DECIMAL, FLOAT, DOUBLE = range(4)

XSD_DECIMAL = XSD + "decimal"
XSD_FLOAT = XSD + "float"

Number: TypeAlias = tuple[int, Any]  # Any: int, Decimal or float, as the kind says; mypy cannot see that it does

_KINDS = {XSD_INTEGER: INTEGER, XSD_DECIMAL: DECIMAL, XSD_FLOAT: FLOAT, XSD_DOUBLE: DOUBLE}
_DATATYPES = {kind: datatype for datatype, kind in _KINDS.items()}
_RANGES: dict[str, tuple[int | None, int | None]] = {
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-128, 127),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 255),
}
_DERIVED = {XSD + name: limits for name, limits in _RANGES.items()}
NUMERIC = frozenset((*_KINDS, *_DERIVED))
"""The datatypes whose literals are numbers."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN")
_SPACE = " \t\n\r"
_LONGEST = 4000
"""Digits of a number: Python refuses longer texts for integers, and nobody counts that far."""

_LONGEST_KEPT = 64
"""Characters of a lexical form whose number is kept."""

EXACT = Context(prec=2 * _LONGEST, rounding=ROUND_HALF_EVEN)
"""Sums, differences and products of decimals are exact."""

_QUOTIENT_PLACES = Decimal("1e-18")
"""A quotient of decimals has 18 digits after the point, as XPath allows and the oracle of our tests has."""


def number_of(term: Term | None) -> Number | None:
    """The number that a term denotes; None for any other term, an ill-typed literal included."""
    if type(term) is int:
        return INTEGER, term
    if type(term) is not Literal or term.datatype not in NUMERIC:
        return None
    # A cache of long texts would hold on to memory that nobody counts.
    read = _of_literal if len(term.lexical) <= _LONGEST_KEPT else parse_number
    return read(term.lexical, term.datatype)


@lru_cache(maxsize=65536)
def _of_literal(lexical: str, datatype: str) -> Number | None:
    return parse_number(lexical, datatype)


def parse_number(lexical: str, datatype: str) -> Number | None:
    """The number with this lexical form in a numeric datatype, or None where it has no such form."""
    text = lexical.strip(_SPACE)
    if len(text) > _LONGEST:
        return None
    kind = _KINDS.get(datatype, INTEGER)
    if kind == INTEGER:
        if not _INTEGER.fullmatch(text):
            return None
        value = int(text)
        low, high = _DERIVED.get(datatype, (None, None))
        return None if (low is not None and value < low) or (high is not None and value > high) else (INTEGER, value)
    if kind == DECIMAL:
        return (DECIMAL, Decimal(text)) if _DECIMAL.fullmatch(text) else None
    if not _FLOAT.fullmatch(text):
        return None
    number = float(text.replace("INF", "inf"))
    return kind, single(number) if kind == FLOAT else number


def single(value: float) -> float:
    """The nearest number that ``xsd:float`` (32 bits) can hold."""
    try:
        rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def numeric(term: Term) -> Number:
    """The number that a term denotes; raises ExpressionError."""
    number = number_of(term)
    if number is None:
        raise ExpressionError
    return number


def term_of(number: Number) -> Term:
    """The literal of a number in canonical form."""
    kind, value = number
    if kind == INTEGER:
        return literal(str(value), XSD_INTEGER)
    return Literal(lexical_of(number), _DATATYPES[kind])


def lexical_of(number: Number) -> str:
    """A number as a text, without an exponent or trailing zeros, as the oracle of our tests writes them."""
    kind, value = number
    if kind == INTEGER:
        return str(value)
    if kind == DECIMAL:
        return decimal_text(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    shortest = _shortest_single(float(value)) if kind == FLOAT else repr(float(value))
    return decimal_text(Decimal(shortest)) if value else ("-0" if math.copysign(1, value) < 0 else "0")


def canonical_of(number: Number) -> str:
    """A number as ``xsd:string`` of it says it: from a million on, and below a millionth, with an exponent (XPath F&O 17.1.2)."""
    kind, value = number
    if kind < FLOAT or not value or value - value != 0 or 1e-6 <= abs(value) < 1e6:
        return lexical_of(number)
    shortest = Decimal(_shortest_single(float(value)) if kind == FLOAT else repr(float(value))).normalize()
    digits = "".join(map(str, shortest.as_tuple().digits))
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:] or '0'}E{shortest.adjusted()}"


def decimal_text(value: Decimal) -> str:
    """A decimal without an exponent, and without zeros that say nothing."""
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _shortest_single(value: float) -> str:
    for digits in range(6, 10):
        text = f"{value:.{digits}g}"
        if single(float(text)) == value:
            return text
    return repr(value)


def promoted(left: Number, right: Number) -> tuple[int, Any, Any]:  # Any: as in Number
    """Both values in the first kind that holds both."""
    kind = max(left[0], right[0])
    return kind, converted(left, kind), converted(right, kind)


def converted(number: Number, kind: int) -> Any:  # Any: as in Number
    """The value of a number in a kind that is no less than its own."""
    own, value = number
    if own == kind:
        return value
    if kind == DECIMAL:
        return Decimal(value)
    try:
        return single(float(value)) if kind == FLOAT else float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def arithmetic(operator: str, left: Number, right: Number) -> Number:
    """``+``, ``-``, ``*`` or ``/`` of two numbers; integers divide to a decimal. Raises ExpressionError, for one for 1/0."""
    kind, first, second = promoted(left, right)
    if operator == "/" and kind == INTEGER:
        kind, first, second = DECIMAL, Decimal(first), Decimal(second)
    if kind >= FLOAT:
        made = _float_arithmetic(operator, float(first), float(second))
        return kind, single(made) if kind == FLOAT else made
    if operator == "/":
        if not second:
            raise ExpressionError
        return kind, quotient(first, second)
    if kind == DECIMAL:
        steps = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply}
        return kind, steps[operator](first, second)
    if operator == "*" and first.bit_length() + second.bit_length() > 12000:
        raise ExpressionError
    return kind, first + second if operator == "+" else first - second if operator == "-" else first * second


def quotient(first: Decimal, second: Decimal) -> Decimal:
    """A quotient of decimals, rounded toward zero after 18 places unless it is exact before."""
    made = Context(prec=max(40, first.adjusted() - second.adjusted() + 24), rounding="ROUND_DOWN").divide(first, second)
    exponent = made.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -18:
        made = made.quantize(_QUOTIENT_PLACES, rounding="ROUND_DOWN", context=EXACT)
    return made


def _float_arithmetic(operator: str, first: float, second: float) -> float:
    if operator == "+":
        return first + second
    if operator == "-":
        return first - second
    if operator == "*":
        return first * second
    if second:
        return first / second
    if not first or math.isnan(first):
        return math.nan
    return math.copysign(math.inf, first) * math.copysign(1, second)


def negated(number: Number) -> Number:
    """Unary minus."""
    kind, value = number
    return kind, -value if kind != DECIMAL else EXACT.minus(value)


def rounded(function: str, number: Number) -> Number:
    """ABS, ROUND, CEIL or FLOOR of a number, of the same kind."""
    kind, value = number
    if function == "ABS":
        return kind, abs(value) if kind != DECIMAL else EXACT.abs(value)
    if kind == INTEGER:
        return number
    if kind == DECIMAL:
        return kind, _rounded_decimal(function, value)
    if not math.isfinite(value) or abs(value) >= 2**53:
        return number
    whole = math.ceil(value) if function == "CEIL" else math.floor(value) if function == "FLOOR" else math.floor(value + 0.5)
    if function == "ROUND" and value - math.floor(value) < 0.5:
        whole = math.floor(value)  # value + 0.5 may have been rounded up: 0.49999999999999994
    return kind, math.copysign(float(whole), value) if not whole else float(whole)


def _rounded_decimal(function: str, value: Decimal) -> Decimal:
    if function == "CEIL":
        return value.to_integral_value(ROUND_CEILING)
    if function == "FLOOR":
        return value.to_integral_value(ROUND_FLOOR)
    # XPath's round goes to the greater of two neighbours that are as near: -2.5 to -2.
    return EXACT.add(value, Decimal("0.5")).to_integral_value(ROUND_FLOOR)

"""The lexical forms of XSD's numeric types, and the numbers that they denote (XML Schema Definition Language 1.1, part 2).

A number is a pair of its kind (INTEGER < DECIMAL < FLOAT < DOUBLE, the order of promotion) and a Python value: int, Decimal, or
float. Derived integer types are INTEGER here: what is computed from them is an ``xsd:integer``.
"""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from typing import Any, TypeAlias

from .datatypes import SPACE, XSD, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER

INTEGER, DECIMAL, FLOAT, DOUBLE = range(4)

Number: TypeAlias = tuple[int, Any]  # Any: int, Decimal or float, as the kind says; mypy cannot see that it does

_KINDS = {XSD_INTEGER: INTEGER, XSD_DECIMAL: DECIMAL, XSD_FLOAT: FLOAT, XSD_DOUBLE: DOUBLE}
DATATYPES = {kind: datatype for datatype, kind in _KINDS.items()}
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
LONGEST_DIGITS = 4000
"""Digits of a number: Python refuses longer texts for integers, and nobody counts that far."""


def parse_number(lexical: str, datatype: str) -> Number | None:
    """The number with this lexical form in a numeric datatype, or None where it has no such form."""
    text = lexical.strip(SPACE)
    if len(text) > LONGEST_DIGITS:
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


def decimal_text(value: Decimal) -> str:
    """A finite decimal in canonical form: without an exponent, and without zeros that say nothing (XML Schema 1.1, 3.3.3.2)."""
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text

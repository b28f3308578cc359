"""Arithmetic of SPARQL on numbers, their promotion and canonical forms (SPARQL 1.1, section 17.1 and 17.3)."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from ...tuples.number_forms import DATATYPES, DECIMAL, FLOAT, INTEGER, LONGEST_DIGITS, Number, decimal_text, single
from ...tuples.numbers import number_of
from ...tuples.terms import XSD_INTEGER, Literal, Term, literal
from .errors import ExpressionError

EXACT = Context(prec=2 * LONGEST_DIGITS, rounding=ROUND_HALF_EVEN)
"""Sums, differences and products of decimals are exact."""

_QUOTIENT_PLACES = Decimal("1e-18")
"""A quotient of decimals has 18 digits after the point, as XPath allows and the oracle of our tests has."""


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
    return Literal(lexical_of(number), DATATYPES[kind])


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

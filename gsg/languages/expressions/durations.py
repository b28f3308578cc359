"""Arithmetic of dates, times and durations (XPath F&O 8.4 and 9.7; SPARQL 1.1 leaves it to extensions of its operators).

A duration is months and seconds. ``xsd:yearMonthDuration`` has none of these, ``xsd:dayTimeDuration`` none of those, and only
durations of one of these two kinds are added, scaled and divided; ``xsd:duration`` may be added to a date. Dates of which only one
has a timezone have no difference: it would depend on where it is computed.
"""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal

from ...tuples.datatypes import XSD_DATE, XSD_DATETIME, XSD_DAYTIME, XSD_DURATION, XSD_TIME, XSD_YEARMONTH
from ...tuples.moments import DAY_S, Moment, date_of, days_from_epoch, days_in_month, duration_text, moment_at
from ...tuples.number_forms import DECIMAL, FLOAT, Number
from ...tuples.numbers import number_of
from ...tuples.terms import Literal, Term
from .dates import LAST_YEAR, duration_of, moment_of, moment_term
from .errors import ExpressionError
from .numbers import EXACT, quotient, term_of

_MOST = 10**9
"""Years, or days, of a duration that has a text here, as one that is read may have."""
_KINDS = (XSD_DATETIME, XSD_DATE, XSD_TIME)


def duration_term(months: int, seconds: Decimal, datatype: str) -> Term:
    """A duration as a literal in canonical form (XPath F&O 17.1.4). Raises ExpressionError for one that is too long."""
    if months and seconds and (months < 0) != (seconds < 0):
        raise ExpressionError
    if abs(months) // 12 >= _MOST or abs(seconds) // DAY_S >= _MOST:
        raise ExpressionError
    return Literal(duration_text(months, seconds, datatype), datatype)


def calculated(symbol: str, left: Term, right: Term) -> Term:
    """``+``, ``-``, ``*`` or ``/`` of what is no pair of numbers. Raises ExpressionError where XPath defines no such operation."""
    moment, other_moment = moment_of(left), moment_of(right)
    duration, other_duration = duration_of(left), duration_of(right)
    if moment is not None and other_moment is not None and symbol == "-":
        return _difference(moment, other_moment)
    if moment is not None and other_duration is not None and symbol in "+-":
        return _moved(moment, other_duration, 1 if symbol == "+" else -1)
    if duration is not None and other_moment is not None and symbol == "+":
        return _moved(other_moment, duration, 1)
    if duration is not None and other_duration is not None:
        return _of_two(symbol, _kind(left), duration, _kind(right), other_duration)
    number, other_number = number_of(left), number_of(right)
    if duration is not None and other_number is not None and symbol in "*/":
        return _scaled(duration, _kind(left), other_number, symbol)
    if number is not None and other_duration is not None and symbol == "*":
        return _scaled(other_duration, _kind(right), number, symbol)
    raise ExpressionError


def _kind(term: Term) -> str:
    assert type(term) is Literal  # a duration
    return term.datatype


def _difference(one: Moment, other: Moment) -> Term:
    if one.datatype != other.datatype or one.datatype not in _KINDS or bool(one.zone) != bool(other.zone):
        raise ExpressionError
    return duration_term(0, EXACT.subtract(one.point, other.point), XSD_DAYTIME)


def _moved(moment: Moment, duration: tuple[int, Decimal], sign: int) -> Term:
    """A moment earlier or later: by months first, to the last day of the month at most, then by seconds (XML Schema 1.1, E.3.3)."""
    months, seconds = sign * duration[0], sign * duration[1]
    if moment.datatype not in _KINDS or (moment.datatype == XSD_TIME and months):
        raise ExpressionError
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    if abs(year) > LAST_YEAR:
        raise ExpressionError
    day = min(moment.day, days_in_month(year, month + 1))
    clock = EXACT.add(Decimal(moment.hours * 3600 + moment.minutes * 60), EXACT.add(moment.seconds, seconds))
    days = int((clock / DAY_S).to_integral_value(ROUND_FLOOR))
    hours, rest = divmod(EXACT.subtract(clock, Decimal(days * DAY_S)), 3600)
    minutes, rest = divmod(rest, 60)
    if moment.datatype == XSD_TIME:
        days = 0
    date = date_of(days_from_epoch(year, month + 1, day) + days)
    return moment_term(moment_at(moment.datatype, *date, int(hours), int(minutes), rest, moment.zone))


def _of_two(symbol: str, kind: str, one: tuple[int, Decimal], other_kind: str, other: tuple[int, Decimal]) -> Term:
    if kind != other_kind or kind == XSD_DURATION:
        raise ExpressionError
    if symbol == "/":
        dividend, divisor = (Decimal(one[0]), Decimal(other[0])) if kind == XSD_YEARMONTH else (one[1], other[1])
        if not divisor:
            raise ExpressionError
        return term_of((DECIMAL, quotient(dividend, divisor)))
    if symbol == "*":
        raise ExpressionError
    sign = 1 if symbol == "+" else -1
    return duration_term(one[0] + sign * other[0], EXACT.add(one[1], sign * other[1]), kind)


def _scaled(duration: tuple[int, Decimal], kind: str, number: Number, symbol: str) -> Term:
    amount = number[1]
    if kind == XSD_DURATION or (number[0] >= FLOAT and amount - amount != 0 and (symbol == "*" or amount != amount)):
        raise ExpressionError
    if number[0] >= FLOAT and amount - amount != 0:
        return duration_term(0, Decimal(0), kind)  # divided by what is without end
    factor = Decimal(repr(float(amount))) if number[0] >= FLOAT else Decimal(amount)
    if symbol == "/" and not factor:
        raise ExpressionError
    whole = Decimal(duration[0]) if kind == XSD_YEARMONTH else duration[1]
    made = EXACT.multiply(whole, factor) if symbol == "*" else quotient(whole, factor)
    if made.adjusted() > 20:
        raise ExpressionError
    if kind == XSD_YEARMONTH:
        # To the nearest month, upwards where two are as near (XPath F&O 8.4.3).
        return duration_term(int((made + Decimal("0.5")).to_integral_value(ROUND_FLOOR)), Decimal(0), kind)
    return duration_term(0, quotient(made, Decimal(1)), kind)

"""Dates, times and durations: their order, and the functions on them (SPARQL 1.1, section 17.4.5).

A moment without a timezone may be up to 14 hours before or after its point in UTC: compared with one that has a timezone and is
nearer than that, neither is known to be first (XML Schema, section 3.2.7.4). Their forms are in :mod:`gsg.tuples.moments`; what is
computed with them is in durations.py.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

from ...tuples.datatypes import XSD_DATE, XSD_DATETIME, XSD_DAYTIME, XSD_TIME
from ...tuples.moments import DURATIONS, LONGEST, MOMENTS, Moment, parse_duration, parse_moment
from ...tuples.terms import Literal, Term
from .errors import ExpressionError

WIDEST_ZONE_S = 14 * 3600
LAST_YEAR = 999_999_999


def moment_of(term: Term | None) -> Moment | None:
    """The moment that a literal denotes; None for any other term, an ill-typed literal included."""
    if type(term) is not Literal or term.datatype not in MOMENTS or len(term.lexical) > LONGEST:
        return None
    return _parse(term.lexical, term.datatype)


def duration_of(term: Term | None) -> tuple[int, Decimal] | None:
    """A duration's months and seconds; None for any other term."""
    if type(term) is not Literal or term.datatype not in DURATIONS or len(term.lexical) > LONGEST:
        return None
    return _parse_duration(term.lexical, term.datatype)


@lru_cache(maxsize=16384)
def _parse(lexical: str, datatype: str) -> Moment | None:
    return parse_moment(lexical, datatype)


def moment_term(moment: Moment, datatype: str = "") -> Term:
    """A moment as a literal in canonical form, of a datatype that shows some of its parts (XPath F&O 17.1.2 and 17.1.5).

    Raises ExpressionError for a year that has no form here.
    """
    if abs(moment.year) > LAST_YEAR:
        raise ExpressionError
    datatype = datatype or moment.datatype
    date = f"{'-' if moment.year < 0 else ''}{abs(moment.year):04d}-{moment.month:02d}-{moment.day:02d}"
    whole, _, fraction = format(moment.seconds, "f").partition(".")
    clock = f"{moment.hours:02d}:{moment.minutes:02d}:{int(whole):02d}" + ("." + fraction.rstrip("0")).rstrip(".")
    text = {XSD_DATETIME: f"{date}T{clock}", XSD_DATE: date, XSD_TIME: clock}[datatype]
    return Literal(text + ("Z" if moment.zone in ("+00:00", "-00:00") else moment.zone), datatype)


@lru_cache(maxsize=4096)
def _parse_duration(lexical: str, datatype: str) -> tuple[int, Decimal] | None:
    return parse_duration(lexical, datatype)


def points(first: Moment, second: Moment) -> tuple[Decimal, Decimal]:
    """Both points, to be compared; raises ExpressionError where timezones leave the order open."""
    if bool(first.zone) != bool(second.zone) and abs(first.point - second.point) <= WIDEST_ZONE_S:
        raise ExpressionError
    return first.point, second.point


def timezone_duration(moment: Moment) -> Term | None:
    """TIMEZONE: the offset as an ``xsd:dayTimeDuration``; None where none is given."""
    if not moment.zone:
        return None
    hours, minutes = divmod(abs(moment.offset_minutes), 60)
    if not hours and not minutes:
        return Literal("PT0S", XSD_DAYTIME)
    text = ("-" if moment.offset_minutes < 0 else "") + "PT" + (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    return Literal(text, XSD_DAYTIME)

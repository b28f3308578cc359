"""The functions of SPARQL on terms, numbers, dates and hashes (SPARQL 1.1, section 17.4), by name.

Each takes its arguments as terms and gives a term, or raises ExpressionError. Those that need more than the values of their
arguments (IF, COALESCE, BOUND, the logical operators, what is fresh in each solution) are in evaluating.py; those on strings in
strings.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from decimal import Decimal

from ...tuples.datatypes import XSD_DATE, XSD_DATETIME, XSD_DAYTIME, XSD_DECIMAL, XSD_DURATION, XSD_FLOAT, XSD_TIME, XSD_YEARMONTH
from ...tuples.moments import Moment
from ...tuples.number_forms import DECIMAL, DOUBLE, FLOAT, INTEGER, parse_number, single
from ...tuples.numbers import number_of
from ...tuples.terms import (
    IRI,
    LANGUAGE,
    XSD,
    XSD_BOOLEAN,
    XSD_DOUBLE,
    XSD_INTEGER,
    XSD_STRING,
    BlankNode,
    Literal,
    Symbol,
    Term,
    literal,
)
from . import strings
from .comparing import boolean, boolean_of, compare, equal, is_literal
from .dates import duration_of, moment_of, moment_term, timezone_duration
from .durations import calculated, duration_term
from .errors import ExpressionError
from .iris import resolve
from .numbers import arithmetic, canonical_of, converted, negated, numeric, rounded, term_of

Function = Callable[..., Term]

_NO_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')

_ABSOLUTE = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")

RDF_LANGSTRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"


def text_of(term: Term) -> str:
    """STR: the lexical form of a literal, or the text of an IRI or symbol."""
    if type(term) is str:
        return term
    if type(term) is int or type(term) is Literal or type(term) is IRI or type(term) is Symbol:
        return str(term)
    raise ExpressionError


def _lang(term: Term) -> Term:
    if not is_literal(term):
        raise ExpressionError
    return term.language if type(term) is Literal else ""


def _datatype(term: Term) -> Term:
    if type(term) is str:
        return IRI(XSD_STRING)
    if type(term) is int:
        return IRI(XSD_INTEGER)
    if type(term) is Literal:
        return IRI(RDF_LANGSTRING if term.language else term.datatype)
    raise ExpressionError


def _iri(term: Term, base: Term) -> Term:
    if type(term) is IRI:
        return term
    if type(term) is not str or _NO_IRI.search(term):
        raise ExpressionError
    made = resolve(str(base), term)
    if not _ABSOLUTE.match(made):
        raise ExpressionError  # "must result in an absolute IRI" (section 17.4.2.8)
    return IRI(made)


def _strdt(text: Term, datatype: Term) -> Term:
    if type(text) is not str or type(datatype) is not IRI or datatype.value == RDF_LANGSTRING:
        raise ExpressionError
    return literal(text, datatype.value)


def _strlang(text: Term, language: Term) -> Term:
    if type(text) is not str or type(language) is not str or not LANGUAGE.fullmatch(language):
        raise ExpressionError
    return literal(text, "", language)


def _hashed(name: str) -> Function:
    def hashed(term: Term) -> Term:
        if type(term) is not str:
            raise ExpressionError
        return hashlib.new(name, term.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()

    return hashed


def _moment(term: Term) -> Moment:
    moment = moment_of(term)
    if moment is None:
        raise ExpressionError
    return moment


def _part(name: str, datatypes: tuple[str, ...]) -> Function:
    def part(term: Term) -> Term:
        moment = _moment(term)
        if moment.datatype not in datatypes:
            raise ExpressionError
        value = getattr(moment, name)
        return term_of((DECIMAL, value) if type(value) is Decimal else (INTEGER, value))

    return part


def _timezone(term: Term) -> Term:
    made = timezone_duration(_moment(term))
    if made is None:
        raise ExpressionError
    return made


def _rounding(name: str) -> Function:
    return lambda term: term_of(rounded(name, numeric(term)))


def _arithmetic(symbol: str) -> Function:
    def computed(left: Term, right: Term) -> Term:
        first, second = number_of(left), number_of(right)
        if first is None or second is None:
            return calculated(symbol, left, right)
        return term_of(arithmetic(symbol, first, second))

    return computed


def _comparison(symbol: str) -> Function:
    return lambda left, right: boolean(compare(symbol, left, right))


_DATES = (XSD_DATETIME, XSD_DATE)
_TIMES = (XSD_DATETIME, XSD_TIME)

FUNCTIONS: dict[str, Function] = {
    "=": lambda left, right: boolean(equal(left, right)),
    "!=": lambda left, right: boolean(not equal(left, right)),
    **{symbol: _comparison(symbol) for symbol in ("<", ">", "<=", ">=")},
    **{symbol: _arithmetic(symbol) for symbol in "+-*/"},
    "PLUS": lambda term: term_of(numeric(term)),
    "MINUS": lambda term: term_of(negated(numeric(term))),
    "SAMETERM": lambda left, right: boolean(left == right),
    "ISIRI": lambda term: boolean(type(term) is IRI),
    "ISBLANK": lambda term: boolean(type(term) is BlankNode),
    "ISLITERAL": lambda term: boolean(is_literal(term)),
    "ISSYMBOL": lambda term: boolean(type(term) is Symbol),
    "ISNUMERIC": lambda term: boolean(number_of(term) is not None),
    "STR": text_of,
    "LANG": _lang,
    "DATATYPE": _datatype,
    "IRI": _iri,
    "STRDT": _strdt,
    "STRLANG": _strlang,
    **{name: _rounding(name) for name in ("ABS", "ROUND", "CEIL", "FLOOR")},
    "YEAR": _part("year", (*_DATES, XSD + "gYear", XSD + "gYearMonth")),
    "MONTH": _part("month", (*_DATES, XSD + "gYearMonth")),
    "DAY": _part("day", _DATES),
    "HOURS": _part("hours", _TIMES),
    "MINUTES": _part("minutes", _TIMES),
    "SECONDS": _part("seconds", _TIMES),
    "TIMEZONE": _timezone,
    "TZ": lambda term: _moment(term).zone,
    **{name: _hashed(name.lower()) for name in ("MD5", "SHA1", "SHA256", "SHA384", "SHA512")},
    **strings.FUNCTIONS,
}
"""Every function whose value depends on the values of its arguments alone."""


def _to_boolean(term: Term) -> Term:
    truth = boolean_of(term)
    if truth is None and type(term) is str:
        truth = boolean_of(Literal(term.strip(), XSD_BOOLEAN))
    number = number_of(term)
    if truth is None and number is not None:
        truth = bool(number[1]) and number[1] == number[1]
    if truth is None:
        raise ExpressionError
    return boolean(truth)


def _to_number(kind: int, datatype: str) -> Function:
    def cast(term: Term) -> Term:
        number = parse_number(term, datatype) if type(term) is str else number_of(term)
        truth = boolean_of(term)
        if truth is not None:
            number = (INTEGER, int(truth))
        if number is None:
            raise ExpressionError
        own, value = number
        if kind >= FLOAT:
            made = float(converted(number, max(kind, own)))
            return term_of((kind, single(made) if kind == FLOAT else made))
        if own >= FLOAT and value - value != 0:  # infinite, or NaN
            raise ExpressionError
        if kind == INTEGER:
            return term_of((INTEGER, int(value)))
        return term_of((DECIMAL, Decimal(repr(value)) if type(value) is float else Decimal(value)))

    return cast


def _to_string(term: Term) -> Term:
    number = number_of(term)
    if number is not None:
        return canonical_of(number)
    truth = boolean_of(term)
    if truth is not None:
        return text_of(boolean(truth))
    moment, duration = moment_of(term), duration_of(term)
    if moment is not None and moment.datatype in _SOURCES:
        return text_of(moment_term(moment))
    if duration is not None and type(term) is Literal:
        return text_of(duration_term(*duration, term.datatype))
    return text_of(term)


_SOURCES = {
    XSD_DATETIME: (XSD_DATETIME, XSD_DATE),
    XSD_DATE: (XSD_DATE, XSD_DATETIME),
    XSD_TIME: (XSD_TIME, XSD_DATETIME),
}
"""The datatypes that a cast to each may be from (XPath F&O 17.1.5): a date has no time of day, and a time no date."""


def _to_moment(datatype: str) -> Function:
    def cast(term: Term) -> Term:
        given = Literal(term.strip(), datatype) if type(term) is str else term
        moment = moment_of(given)
        if moment is None or moment.datatype not in _SOURCES[datatype]:
            raise ExpressionError
        as_written = type(given) is Literal and given.datatype == datatype and "24:00:00" not in given.lexical
        return given if as_written else moment_term(moment, datatype)

    return cast


def _to_duration(datatype: str) -> Function:
    def cast(term: Term) -> Term:
        duration = duration_of(Literal(term.strip(), datatype) if type(term) is str else term)
        if duration is None:
            raise ExpressionError
        # From one kind of duration to another, what this one cannot have is left out (XPath F&O 17.1.4).
        months = 0 if datatype == XSD_DAYTIME else duration[0]
        return duration_term(months, Decimal(0) if datatype == XSD_YEARMONTH else duration[1], datatype)

    return cast


CASTS: dict[str, Function] = {
    XSD_BOOLEAN: _to_boolean,
    XSD_INTEGER: _to_number(INTEGER, XSD_INTEGER),
    XSD_DECIMAL: _to_number(DECIMAL, XSD_DECIMAL),
    XSD_FLOAT: _to_number(FLOAT, XSD_FLOAT),
    XSD_DOUBLE: _to_number(DOUBLE, XSD_DOUBLE),
    XSD_STRING: _to_string,
    **{datatype: _to_moment(datatype) for datatype in _SOURCES},
    **{datatype: _to_duration(datatype) for datatype in (XSD_DAYTIME, XSD_YEARMONTH, XSD_DURATION)},
}
"""The constructor functions of section 17.5, by IRI, and those of dates, times and durations."""

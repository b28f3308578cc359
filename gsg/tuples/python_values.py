"""Values of Python and the lexical forms of XML Schema that denote them (RDF 1.1 Concepts, section 5.1). Pure.

:func:`lexical_form` is the canonical mapping, :func:`value_of` the lexical mapping. The type of a value depends on the datatype
alone, so that a program may rely on it. What is no form of the datatype, or denotes what Python's type does not hold, is refused,
and never rounded, cut or shifted.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import unhexlify
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any, TypeAlias

from ..errors import BadTerm
from .datatypes import (
    SPACE,
    XSD,
    XSD_BASE64BINARY,
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATETIME,
    XSD_DATETIMESTAMP,
    XSD_DAYTIME,
    XSD_DECIMAL,
    XSD_DURATION,
    XSD_HEXBINARY,
    XSD_STRING,
    XSD_TIME,
)
from .moments import Moment, duration_text, parse_duration, parse_moment
from .number_forms import LONGEST_DIGITS, NUMERIC, decimal_text, parse_number

PythonValue: TypeAlias = str | bool | int | float | Decimal | bytes | datetime | date | time | timedelta

_WIDEST_ZONE = timedelta(hours=14)
_MICROSECOND = timedelta(microseconds=1)


def lexical_form(value: Any) -> tuple[str, str]:  # Any: one of VALUE_TYPES
    """The canonical form and the datatype of a value whose type is one of VALUE_TYPES.

    Raises BadTerm for a decimal that is no number or longer than LONGEST_DIGITS, and for a timezone that XML Schema has not.
    """
    form, datatype = _CANONICAL[type(value)]
    return form(value), datatype


def _decimal_form(value: Decimal) -> str:
    if not value.is_finite():
        raise BadTerm(f"{value!r} is no term; expected a number: of NaN and infinity there is a float, no xsd:decimal")
    # Before it is written: a text of a million zeros takes its time.
    digits, exponent = value.as_tuple()[1:]
    if max(len(digits), value.adjusted() + 1, -int(exponent)) > LONGEST_DIGITS or len(text := decimal_text(value)) > LONGEST_DIGITS:
        raise BadTerm(f"{value!r:.80} is too long for a term; expected at most {LONGEST_DIGITS:,} digits without an exponent")
    return text


def _datetime_form(value: datetime) -> str:
    return _clock_form(value, value.replace(tzinfo=None).isoformat())


def _time_form(value: time) -> str:
    return _clock_form(value, value.replace(tzinfo=None).isoformat())


def _clock_form(value: datetime | time, text: str) -> str:
    return (text.rstrip("0") if value.microsecond else text) + _zone_form(value)


def _zone_form(value: datetime | time) -> str:
    if value.tzinfo is None:
        return ""
    offset = value.utcoffset()
    if offset is None:
        raise BadTerm(f"{value!r} is no term: its timezone says no offset for it; expected a fixed offset such as datetime.UTC")
    if abs(offset) > _WIDEST_ZONE or offset % timedelta(minutes=1):
        raise BadTerm(
            f"{value!r} is no term: its timezone is {offset} east of UTC; expected whole minutes, at most 14 hours: "
            "value.astimezone(datetime.UTC) is the same moment"
        )
    if not offset:
        return "Z"
    hours, minutes = divmod(abs(offset) // timedelta(minutes=1), 60)
    return f"{'-' if offset < timedelta() else '+'}{hours:02d}:{minutes:02d}"


def _duration_form(value: timedelta) -> str:
    return duration_text(0, Decimal(value // _MICROSECOND).scaleb(-6), XSD_DAYTIME)


_CANONICAL: dict[type, tuple[Callable[[Any], str], str]] = {  # Any: each function takes the type that it is registered under
    datetime: (_datetime_form, XSD_DATETIME),
    date: (date.isoformat, XSD_DATE),
    time: (_time_form, XSD_TIME),
    timedelta: (_duration_form, XSD_DAYTIME),
    Decimal: (_decimal_form, XSD_DECIMAL),
    bytes: (lambda value: b64encode(value).decode("ascii"), XSD_BASE64BINARY),
}
VALUE_TYPES = frozenset(_CANONICAL)
"""Types whose values :func:`lexical_form` takes, themselves and no subclass: one may hold more, as pandas' nanoseconds do."""


class _Beyond(Exception):
    """A form of its datatype, whose value Python's type does not hold."""


def value_of(lexical: str, datatype: str) -> PythonValue:
    """The value that a lexical form denotes in one of READABLE.

    Raises BadTerm for what is no form of the datatype, and for what Python's type does not hold.
    """
    read, expected = _READ[datatype]
    name = datatype.replace(XSD, "xsd:")
    try:
        value = read(lexical, datatype)
    except _Beyond as beyond:
        raise BadTerm(f"{lexical!r:.80} is a value of {name} that Python does not hold: {beyond}; {_AS_IT_IS}") from None
    if value is None:
        raise BadTerm(f"{lexical!r:.80} is no value of {name}; expected {expected}; {_AS_IT_IS}")
    return value


_AS_IT_IS = "the literal's attribute lexical is the text as it is"


def _read_number(lexical: str, datatype: str) -> int | float | Decimal | None:
    number = parse_number(lexical, datatype)
    return None if number is None else number[1]


def _read_boolean(lexical: str, datatype: str) -> bool | None:
    return _BOOLEANS.get(lexical.strip(SPACE))


_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _read_datetime(lexical: str, datatype: str) -> datetime | None:
    moment = parse_moment(lexical, datatype)
    if moment is None:
        return None
    day, seconds = _date_of(moment), _micro(moment.seconds)
    clock = (moment.hours, moment.minutes, seconds // 1_000_000, seconds % 1_000_000)
    return datetime(day.year, day.month, day.day, *clock, tzinfo=_zone_of(moment))


def _read_date(lexical: str, datatype: str) -> date | None:
    moment = parse_moment(lexical, datatype)
    if moment is None:
        return None
    if moment.zone:
        raise _Beyond("a date has no timezone there")
    return _date_of(moment)


def _read_time(lexical: str, datatype: str) -> time | None:
    moment = parse_moment(lexical, datatype)
    if moment is None:
        return None
    seconds = _micro(moment.seconds)
    return time(moment.hours, moment.minutes, seconds // 1_000_000, seconds % 1_000_000, tzinfo=_zone_of(moment))


def _date_of(moment: Moment) -> date:
    if not 1 <= moment.year <= 9999:
        raise _Beyond("its years are those from 1 to 9999")
    return date(moment.year, moment.month, moment.day)


def _zone_of(moment: Moment) -> tzinfo | None:
    if not moment.zone:
        return None
    return timezone(timedelta(minutes=moment.offset_minutes)) if moment.offset_minutes else UTC


def _micro(seconds: Decimal) -> int:
    micro = seconds.scaleb(6)
    if micro != int(micro):
        raise _Beyond("its times are whole microseconds")
    return int(micro)


def _read_duration(lexical: str, datatype: str) -> timedelta | None:
    duration = parse_duration(lexical.strip(SPACE), datatype)
    if duration is None:
        return None
    months, seconds = duration
    if months:
        raise _Beyond("months have no length there")
    try:
        return timedelta(microseconds=_micro(seconds))
    except OverflowError:
        raise _Beyond("its durations are less than a thousand million days") from None


def _read_hexadecimal(lexical: str, datatype: str) -> bytes | None:
    try:
        return unhexlify(lexical.strip(SPACE))
    except ValueError:
        return None


def _read_base64(lexical: str, datatype: str) -> bytes | None:
    text = _SPACES.sub("", lexical)
    try:
        value = b64decode(text, validate=True)
    except ValueError:
        return None
    # Python takes bits for nothing that XML Schema does not (section 3.3.16.2).
    return value if b64encode(value).decode("ascii") == text else None


_SPACES = re.compile(f"[{SPACE}]+")


def _read_text(lexical: str, datatype: str) -> str:
    return lexical


def _read_name(lexical: str, datatype: str) -> str | None:
    return lexical if re.fullmatch(_NAMES[datatype], lexical) else None


# XML 1.0, fifth edition, productions 4 and 4a, without the colon.
_START = (
    r"A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    r"\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NEXT = rf"{_START}\-.0-9\xb7\u0300-\u036f\u203f\u2040"
# Not compiled: that takes milliseconds, of every program, and most never ask.
_NAMES = {
    XSD + "normalizedString": r"[^\t\n\r]*",
    XSD + "token": r"(?:[^\t\n\r ]+(?: [^\t\n\r ]+)*)?",
    XSD + "language": r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*",
    XSD + "NMTOKEN": f"[:{_NEXT}]+",
    XSD + "Name": f"[:{_START}][:{_NEXT}]*",
    XSD + "NCName": f"[{_START}][{_NEXT}]*",
}

_READ: dict[str, tuple[Callable[[str, str], PythonValue | None], str]] = {
    **dict.fromkeys(NUMERIC, (_read_number, f"a number of it, of at most {LONGEST_DIGITS:,} characters")),
    **dict.fromkeys(_NAMES, (_read_name, "a text of it, without spaces around")),
    **dict.fromkeys((XSD_STRING, XSD + "anyURI"), (_read_text, "any text")),
    XSD_BOOLEAN: (_read_boolean, "true, false, 1 or 0"),
    XSD_DATETIME: (_read_datetime, "one such as 2026-11-29T08:30:00Z"),
    XSD_DATETIMESTAMP: (_read_datetime, "one such as 2026-11-29T08:30:00Z"),
    XSD_DATE: (_read_date, "one such as 2026-11-29"),
    XSD_TIME: (_read_time, "one such as 08:30:00"),
    XSD_DAYTIME: (_read_duration, "one such as P1DT2H30M"),
    XSD_DURATION: (_read_duration, "one such as P1DT2H30M"),
    XSD_HEXBINARY: (_read_hexadecimal, "an even number of hexadecimal digits"),
    XSD_BASE64BINARY: (_read_base64, "base64 with its padding"),
}
READABLE = frozenset(_READ)
"""The datatypes whose values Python has. It has none for gYear and its like, which are no moment but a span of time that returns or
not, nor for yearMonthDuration."""

"""The lexical forms of dates, times and durations, and what they denote (XML Schema Definition Language 1.1, part 2).

A moment is a point of the timeline in seconds with whatever timezone its text had. Its calendar is the proleptic Gregorian one, for
years that Python's own dates do not reach; :mod:`gsg.tuples.python_values` makes those of Python from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from .datatypes import (
    SPACE,
    XSD,
    XSD_DATE,
    XSD_DATETIME,
    XSD_DATETIMESTAMP,
    XSD_DAYTIME,
    XSD_DURATION,
    XSD_TIME,
    XSD_YEARMONTH,
)
from .number_forms import decimal_text

_ZONE = r"(Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])?"
_YEAR = r"(-?(?:[1-9][0-9]{4,8}|[0-9]{4}))"
_MONTH, _DAY = r"(0[1-9]|1[0-2])", r"(0[1-9]|[12][0-9]|3[01])"
_CLOCK = r"([01][0-9]|2[0-4]):([0-5][0-9]):([0-5][0-9](?:\.[0-9]{1,30})?)"
_PATTERNS = {
    XSD_DATETIME: re.compile(f"{_YEAR}-{_MONTH}-{_DAY}T{_CLOCK}{_ZONE}"),
    XSD_DATETIMESTAMP: re.compile(f"{_YEAR}-{_MONTH}-{_DAY}T{_CLOCK}{_ZONE.rstrip('?')}"),
    XSD_DATE: re.compile(f"{_YEAR}-{_MONTH}-{_DAY}{_ZONE}"),
    XSD_TIME: re.compile(f"(){'()'}(){_CLOCK}{_ZONE}"),
    XSD + "gYear": re.compile(f"{_YEAR}{_ZONE}"),
    XSD + "gYearMonth": re.compile(f"{_YEAR}-{_MONTH}{_ZONE}"),
}
_DURATION = re.compile(
    r"(-)?P(?:([0-9]{1,9})Y)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})D)?"
    r"(?:T(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9}(?:\.[0-9]{1,30})?)S)?)?"
)
LONGEST = 100
"""Characters of a date or duration: a longer text is none."""
DAY_S = 86400
MOMENTS = frozenset(_PATTERNS)
DURATIONS = frozenset((XSD_DAYTIME, XSD_YEARMONTH, XSD_DURATION))


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or time: its parts, and its point on the timeline in seconds. 24:00:00 is the beginning of the next day."""

    datatype: str
    year: int
    month: int
    day: int
    hours: int
    minutes: int
    seconds: Decimal
    zone: str
    point: Decimal

    @property
    def offset_minutes(self) -> int:
        """Minutes east of UTC; 0 where no timezone is given."""
        return _minutes(self.zone)


def parse_moment(lexical: str, datatype: str) -> Moment | None:
    """The moment with this lexical form in one of MOMENTS; None where it has no such form."""
    if len(lexical) > LONGEST:
        return None
    found = _PATTERNS[datatype].fullmatch(lexical.strip(SPACE))
    if found is None:
        return None
    groups = list(found.groups())
    zone = groups.pop() or ""
    year, month, day, hours, minutes, seconds = (*groups, "", "", "", "", "")[:6]
    parts = (int(year or 1972), int(month or 1), int(day or 1), int(hours or 0), int(minutes or 0), Decimal(seconds or 0))
    if parts[2] > days_in_month(parts[0], parts[1]) or (parts[3] == 24 and (parts[4] or parts[5])):
        return None
    kind = XSD_DATETIME if datatype == XSD_DATETIMESTAMP else datatype
    if parts[3] == 24:
        # A time has no next day: 24:00:00 is midnight.
        date = date_of(days_from_epoch(*parts[:3]) + 1) if kind == XSD_DATETIME else parts[:3]
        return moment_at(kind, *date, 0, 0, Decimal(0), zone)
    return moment_at(kind, *parts, zone)


def moment_at(kind: str, year: int, month: int, day: int, hours: int, minutes: int, seconds: Decimal, zone: str) -> Moment:
    """The moment with these parts."""
    days = days_from_epoch(year, month, day)
    point = Decimal(days * DAY_S + hours * 3600 + (minutes - _minutes(zone)) * 60) + seconds
    return Moment(kind, year, month, day, hours, minutes, seconds, zone, point)


def _minutes(zone: str) -> int:
    if zone in ("", "Z"):
        return 0
    return (-1 if zone[0] == "-" else 1) * (int(zone[1:3]) * 60 + int(zone[4:6]))


def parse_duration(lexical: str, datatype: str) -> tuple[int, Decimal] | None:
    """The months and seconds of a duration with this lexical form in one of DURATIONS; None where it has no such form."""
    if len(lexical) > LONGEST:
        return None
    found = _DURATION.fullmatch(lexical)
    if found is None or lexical.endswith(("P", "T")):
        return None
    sign, years, months, days, hours, minutes, seconds = found.groups()
    if (datatype == XSD_DAYTIME and (years or months)) or (datatype == XSD_YEARMONTH and (days or hours or minutes or seconds)):
        return None
    factor = -1 if sign else 1
    total = int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes or 0) * 60 + Decimal(seconds or 0)
    return factor * (int(years or 0) * 12 + int(months or 0)), factor * total


def duration_text(months: int, seconds: Decimal, datatype: str) -> str:
    """The canonical form of a duration whose months and seconds have one sign (XPath F&O 17.1.4)."""
    years, months_left = divmod(abs(months), 12)
    days, rest = divmod(abs(seconds), DAY_S)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    date = "".join(f"{int(count)}{sign}" for count, sign in ((years, "Y"), (months_left, "M"), (days, "D")) if count)
    clock = "".join(f"{int(count)}{sign}" for count, sign in ((hours, "H"), (minutes, "M")) if count)
    clock += f"{decimal_text(rest)}S" if rest else ""
    if not date and not clock:
        return "P0M" if datatype == XSD_YEARMONTH else "PT0S"
    return ("-" if months < 0 or seconds < 0 else "") + "P" + date + (f"T{clock}" if clock else "")


def days_in_month(year: int, month: int) -> int:
    """Days of a month in the proleptic Gregorian calendar."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def days_from_epoch(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01, for any year (Python's date ends at 9999)."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def date_of(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970-01-01."""
    era, of_era = divmod(days + 719468, 146097)
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return year + era * 400 + (month <= 2), month, day

"""The functions that a text may call, by SPARQL's names for them, with how many arguments they take."""

from __future__ import annotations

import difflib

from ...tuples.terms import XSD, XSD_BOOLEAN, XSD_DOUBLE, XSD_INTEGER, XSD_STRING
from .aggregates import AGGREGATES

CAST_NAMES = {
    "BOOLEAN": XSD_BOOLEAN,
    "INTEGER": XSD_INTEGER,
    "DECIMAL": XSD + "decimal",
    "FLOAT": XSD + "float",
    "DOUBLE": XSD_DOUBLE,
    "STRING": XSD_STRING,
    "DATETIME": XSD + "dateTime",
    "DATE": XSD + "date",
    "TIME": XSD + "time",
    "DURATION": XSD + "duration",
    "DAYTIMEDURATION": XSD + "dayTimeDuration",
    "YEARMONTHDURATION": XSD + "yearMonthDuration",
}
"""The constructor functions of XML Schema, which SPARQL names by their IRIs."""

FRESH = frozenset(("RAND", "UUID", "STRUUID", "BNODE"))
"""Functions with a value of their own in each solution."""

_ONE = """BOUND STR LANG DATATYPE IRI STRLEN UCASE LCASE ENCODE_FOR_URI ABS CEIL FLOOR ROUND YEAR MONTH DAY HOURS MINUTES SECONDS
TIMEZONE TZ MD5 SHA1 SHA256 SHA384 SHA512 ISIRI ISBLANK ISLITERAL ISNUMERIC ISSYMBOL"""
_TWO = "LANGMATCHES CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER STRLANG STRDT SAMETERM"

ARGUMENTS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(("NOW", "RAND", "UUID", "STRUUID"), (0, 0)),
    "BNODE": (0, 1),
    **dict.fromkeys((*_ONE.split(), *CAST_NAMES), (1, 1)),
    **dict.fromkeys(_TWO.split(), (2, 2)),
    **dict.fromkeys(("SUBSTR", "REGEX"), (2, 3)),
    "IF": (3, 3),
    "REPLACE": (3, 4),
    **dict.fromkeys(("CONCAT", "COALESCE"), (1, None)),
    **dict.fromkeys(AGGREGATES, (1, 1)),
    "GROUP_CONCAT": (1, 2),
}
"""Every name that may stand before a parenthesis, with the least and the most arguments it takes (None: any number)."""


def wrong_call(function: str, count: int) -> str:
    """What is wrong with so many arguments for a function, which may not exist; empty where nothing is."""
    if function not in ARGUMENTS:
        near = difflib.get_close_matches(function, ARGUMENTS, n=1)
        hint = f"; did you mean {near[0]}?" if near else "; expected one of SPARQL's, such as STRLEN, CONTAINS or COUNT"
        return f"the function {function} is not known{hint}"
    least, most = ARGUMENTS[function]
    if least <= count and (most is None or count <= most):
        return ""
    expected = f"{least} or more" if most is None else str(least) if least == most else f"{least} or {most}"
    return f"{function} with {count} argument{'' if count == 1 else 's'}; expected {expected}"

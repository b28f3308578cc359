"""Which terms are equal, which is less, which is true, and how they sort (SPARQL 1.1, sections 15.1, 17.2.2 and 17.4.1.7).

Literals of known datatypes have values; two values of different kinds are different (``"a" = 1`` is false). A literal of a
datatype that is not known, or with an impossible lexical form, is only known to be equal to itself: any other comparison with a
literal is an error, for its value might be that of the other.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from ...tuples.moments import Moment
from ...tuples.number_forms import DECIMAL, INTEGER, NUMERIC
from ...tuples.numbers import number_of
from ...tuples.terms import IRI, XSD_BOOLEAN, XSD_STRING, BlankNode, Literal, Term, n3
from .dates import duration_of, moment_of, points
from .errors import ExpressionError
from .numbers import promoted

TRUE = Literal("true", XSD_BOOLEAN)
FALSE = Literal("false", XSD_BOOLEAN)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


_PLAIN = (int, str)
"""Terms that are values themselves: two of one kind compare as Python has it, which is most of what is asked."""


def boolean(value: bool) -> Literal:
    """The literal of a truth value."""
    return TRUE if value else FALSE


def boolean_of(term: Term | None) -> bool | None:
    """The truth value that an ``xsd:boolean`` denotes; None for any other term."""
    return _BOOLEANS.get(term.lexical) if type(term) is Literal and term.datatype == XSD_BOOLEAN else None


def effective(term: Term) -> bool:
    """The effective boolean value; raises ExpressionError for what has none."""
    if term is TRUE or term is FALSE:
        return term is TRUE
    if type(term) is str:
        return term != ""
    if type(term) is int:
        return term != 0
    if type(term) is Literal:
        if term.language:
            return term.lexical != ""
        if term.datatype == XSD_BOOLEAN:
            return _BOOLEANS.get(term.lexical, False)
        if term.datatype in NUMERIC:
            number = number_of(term)
            return number is not None and bool(number[1]) and number[1] == number[1]
    raise ExpressionError


def value_of(term: Term) -> tuple[str, Any] | None:  # Any: whatever orders the values of the kind
    """The kind and the value of a literal whose datatype is known; None for other literals."""
    if type(term) is str:
        return "string", term
    if type(term) is int:
        return "number", (INTEGER, term)
    if type(term) is not Literal:
        return None
    if term.language:
        return "language " + term.language, term.lexical
    number = number_of(term)
    if number is not None:
        return "number", number
    if term.datatype == XSD_BOOLEAN:
        truth = boolean_of(term)
        return None if truth is None else ("boolean", truth)
    moment = moment_of(term)
    if moment is not None:
        return moment.datatype, moment
    duration = duration_of(term)
    return None if duration is None else ("duration", duration)


def is_literal(term: Term) -> bool:
    """Whether a term is a literal of RDF."""
    return type(term) in (str, int, Literal)


def equal(left: Term, right: Term) -> bool:
    """``=``; raises ExpressionError where it is not known."""
    if left == right:
        return not _is_nan(left)
    if type(left) is type(right) and type(left) in _PLAIN:
        return False
    if not (is_literal(left) and is_literal(right)):
        return False
    first, second = value_of(left), value_of(right)
    if first is None or second is None:
        # No value of another datatype has a language, so such a literal differs from whatever the other denotes.
        if (first or second or ("",))[0].startswith("language "):
            return False
        raise ExpressionError
    if first[0] != second[0]:
        return False
    one, other = first[1], second[1]
    if first[0] == "number":
        _, one, other = promoted(one, other)
    elif isinstance(one, Moment):
        one, other = points(one, other)
    return bool(one == other)


_ORDERS: dict[str, Callable[[Any, Any], bool]] = {  # Any: two values of one kind
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def compare(symbol: str, left: Term, right: Term) -> bool:
    """``<``, ``>``, ``<=`` or ``>=``; raises ExpressionError where there is no such order."""
    if type(left) is type(right) and type(left) in _PLAIN:
        return _ORDERS[symbol](left, right)
    if not (is_literal(left) and is_literal(right)):
        raise ExpressionError
    first, second = value_of(left), value_of(right)
    if first is None or second is None or first[0] != second[0]:
        raise ExpressionError
    one, other = first[1], second[1]
    if first[0] == "number":
        _, one, other = promoted(one, other)
    elif isinstance(one, Moment):
        one, other = points(one, other)
    elif first[0] == "duration":
        (months, seconds), (other_months, other_seconds) = one, other
        if (months or other_months) and (seconds or other_seconds):
            raise ExpressionError
        one, other = (months, seconds), (other_months, other_seconds)
    return _ORDERS[symbol](one, other)


def _is_nan(term: Term) -> bool:
    if type(term) is not Literal or "NaN" not in term.lexical:
        return False
    number = number_of(term)
    return number is not None and math.isnan(number[1])


def rank(term: Term | None) -> tuple[Any, ...]:  # Any: a key that sorts
    """What ORDER BY sorts by: unbound, blank nodes, IRIs, other names, literals; equal values have equal keys.

    Literals of one kind stand together in the order of ``<``; the kinds, and literals without a known value, in a fixed order.
    """
    if term is None:
        return (0,)
    if type(term) is BlankNode:
        return 1, term.label
    if type(term) is IRI:
        return 2, term.value
    if not is_literal(term):
        return 3, n3(term)
    value = value_of(term)
    if value is None:
        assert type(term) is Literal  # strings and integers have values
        return 9, term.datatype, term.lexical
    kind, inner = value
    if kind == "number":
        number = inner[1]
        if inner[0] not in (INTEGER, DECIMAL):
            if math.isnan(number):
                return 4, 0, 0
            # Exact, so that a float and a decimal next to it keep one order whatever they are compared with.
            number = Decimal(number)
        return 4, 1, number
    if kind == "string":
        return 5, inner
    if kind.startswith("language "):
        return 6, inner, kind
    if kind == "boolean":
        return 7, inner
    return 8, kind, inner.point if isinstance(inner, Moment) else inner


def total_rank(term: Term | None) -> tuple[Any, ...]:  # Any: as above
    """Like :func:`rank`, with different terms of one value in a fixed order too."""
    if type(term) is Literal:
        return rank(term), term.datatype, term.lexical, term.language
    return rank(term), XSD_STRING if type(term) is str else "", str(term) if type(term) is int else "", ""

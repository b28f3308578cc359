"""What number a term denotes. The forms of numbers are in number_forms.py."""

from __future__ import annotations

from functools import lru_cache

from .number_forms import INTEGER, NUMERIC, Number, parse_number
from .terms import Literal, Term

_LONGEST_KEPT = 64
"""Characters of a lexical form whose number is kept."""


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

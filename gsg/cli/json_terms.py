"""Terms as JSON has them, in what commands print for programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..tuples.terms import Term

EXACT = 2**53
"""Integers up to this are exact in every reader of JSON, since some have doubles only (RFC 7493, section 2.2)."""


def json_term(value: Term | float) -> object:
    """A term as JSON has it: integers and doubles as numbers, all else as GSG script writes it."""
    from ..tuples.terms import n3

    # JSON has no infinity, and no NaN (RFC 8259, section 6).
    if (isinstance(value, float) and math.isfinite(value)) or (isinstance(value, int) and -EXACT <= value <= EXACT):
        return value
    return n3(value)

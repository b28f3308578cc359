"""The errors of the matcher.

ReteError
└── BadQuery        a query that can have no meaning here: it says which part, and what is expected
"""

from __future__ import annotations


class ReteError(Exception):
    """Anything that this package raises on purpose."""


class BadQuery(ReteError):
    """A query that cannot be built into a network."""

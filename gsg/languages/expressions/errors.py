"""The error of an expression: a solution that it has no value for (SPARQL 1.1, section 17.2). It never leaves this package."""

from __future__ import annotations


class ExpressionError(Exception):
    """The expression has no value for this solution: a FILTER drops it, a BIND leaves its name unbound."""

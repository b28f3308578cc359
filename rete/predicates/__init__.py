"""Indexes of single tests on a value: which of many tests does this value pass?

Each index holds tests of one kind, each with the set of things that wait for it as a whole number, one bit a thing, and answers
with the union of the sets of all tests that a value passes. The caller tells kinds of values apart and normalizes them.

Open intervals.py first; equalities.py, prefixes.py and substrings.py are built alike.
"""

from .equalities import Equalities
from .intervals import Intervals
from .prefixes import Prefixes
from .substrings import Substrings

__all__ = ["Equalities", "Intervals", "Prefixes", "Substrings"]

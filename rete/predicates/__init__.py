"""Indexes of single tests on a value: which of many tests does this value pass?

What a test requires of a value is told in the form of requirements.py; test_index.py finds things by what their tests require of a
tuple, and value_index.py by what they require of one value. The indexes of one kind of test, those that begin with intervals.py,
can also be used by themselves: each holds tests, each with the set of things that wait for it as a whole number, one bit a thing,
and answers with the union of the sets of all tests that a value passes. The caller tells kinds of values apart and normalizes them.
"""

from .equalities import Equalities
from .interval_tree import IntervalTree
from .intervals import Intervals
from .prefixes import Prefixes
from .requirements import Begins, Between, Contains, Ends, OneOf, Requirement, View
from .substrings import Substrings
from .test_index import FEW, Required, TestIndex
from .value_index import ValueIndex

__all__ = [
    "FEW",
    "Begins",
    "Between",
    "Contains",
    "Ends",
    "Equalities",
    "IntervalTree",
    "Intervals",
    "OneOf",
    "Prefixes",
    "Required",
    "Requirement",
    "Substrings",
    "TestIndex",
    "ValueIndex",
    "View",
]

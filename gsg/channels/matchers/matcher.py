"""What all matchers have in common: conditions by number, and which of them hold of an event.

scan      every condition, one after another: the definition (languages/evaluation.py)
sig       those whose required fields the event has
memo      the same, remembered for each set of fields
lattice   required sets in the order of inclusion, so that one that is not there rules out all above it
compile   conditions grouped by a test that they require, each group one generated function
bitmap    a set of conditions for each test that holds, put together as whole numbers
rete      a discrimination network in which equal tests are one node
auto      whichever of them is best for what it sees
"""

from __future__ import annotations

from typing import Protocol

from ..languages.expressions import Condition
from ..values import Fields


class Matcher(Protocol):
    """Conditions by number. A matcher knows nothing of channels, tickets or consumers."""

    def insert(self, number: int, condition: Condition) -> None:
        """Let a condition be matched. Numbers are given once, and never again after :meth:`remove`."""

    def remove(self, number: int) -> None:
        """Forget a condition. Raises KeyError for one that is not there."""

    def match(self, fields: Fields, environment: Fields) -> list[int]:
        """The numbers of the conditions that hold of an event, in any order."""

    def __len__(self) -> int:
        """How many conditions there are."""

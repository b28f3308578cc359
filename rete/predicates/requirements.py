"""What a test requires of one value, in a form that can be looked up.

A test that passes a value must find what it requires there: a requirement may let more values through than its test, and never
fewer. So it says where a test may wait, and the test itself is made on what comes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeAlias

View: TypeAlias = Callable[[Any], Any]  # Any: constants are opaque to this package
"""What a requirement looks at in a value; None where the value has nothing of the kind, and so cannot pass. Equal views do the
same, and all that one gives can be compared."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """The value is one of these."""

    view: View
    keys: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """The value lies between two bounds, which it may equal; None for no bound."""

    view: View
    low: Any  # Any: as in View
    high: Any  # Any: as above


@dataclass(frozen=True, slots=True)
class Begins:
    """The text begins so."""

    view: View
    text: str


@dataclass(frozen=True, slots=True)
class Ends:
    """The text ends so."""

    view: View
    text: str


@dataclass(frozen=True, slots=True)
class Contains:
    """The text has this in it."""

    view: View
    text: str


Part: TypeAlias = OneOf | Between | Begins | Ends | Contains
Requirement: TypeAlias = tuple[Part, ...]
"""One of several parts, whose views are different and of which each value has one at most."""

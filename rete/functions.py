"""What a query computes, as its languages hand it in: tests, computations, aggregates, orders.

Each is an object that hashes by value (so that equal queries share nodes), names what it reads, and is called with a tuple of those
values. Constants are opaque.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from .predicates.requirements import Requirement


class Test(Protocol):
    """A condition on a solution. It never raises: an error of evaluation is False (section 17.2)."""

    @property
    def names(self) -> tuple[str, ...]:
        """What it reads, in the order in which it is given."""

    def __call__(self, values: tuple[Any, ...]) -> bool:
        """Whether it holds; unbound names are None."""


def with_constants(function: Any, replacement: Callable[[Any], Any]) -> Any:  # Any: a test or computation, and constants
    """The same with something else in the place of its constants: of those that it shows to the attribute ``with_constants``."""
    change = getattr(function, "with_constants", None)
    return function if change is None else change(replacement)


def with_names(function: Any, rename: Callable[[str], str]) -> Any:  # Any: a test, a computation or an aggregate
    """The same of other names: it makes that by an attribute ``with_names``. None for one that reads names and has no such
    attribute, or that would be another function."""
    change = getattr(function, "with_names", None)
    if change is None:
        return None if function.names else function
    return change(rename)


def unnamed(function: Any) -> Any:  # Any: as above, or an order
    """The same of the names 0, 1 and so on, in the order in which it reads them: what is common to functions that differ in names.
    What does not say how it is of other names stays as it is. One that keeps it has it as an attribute ``unnamed``."""
    kept = getattr(function, "unnamed", None)
    if kept is not None:
        return kept
    names = getattr(function, "names", ())
    made = with_names(function, lambda name: str(names.index(name))) if names else None
    return function if made is None else made


def is_portable(test: Test) -> bool:
    """Whether a test may be made by an alpha memory, wherever that lives: it says so by an attribute ``portable``."""
    return bool(getattr(test, "portable", False))


def requirements_of(test: Test) -> tuple[tuple[int, Requirement], ...]:
    """What each value that it passes must have, by its number among those that it is given (:mod:`rete.predicates`): it says so by
    an attribute ``requires``; otherwise nothing."""
    return tuple(getattr(test, "requires", ()))


def steps_of(function: Test | Computation) -> int:
    """How many steps one call takes (:mod:`rete.effort`): it says so by an attribute ``steps``; otherwise one."""
    return int(getattr(function, "steps", 1))


class Computation(Protocol):
    """A value computed from a solution; None for an error, which leaves the name unbound (section 18.5, Extend)."""

    @property
    def names(self) -> tuple[str, ...]:
        """What it reads, in the order in which it is given."""

    def __call__(self, values: tuple[Any, ...]) -> Any:
        """The constant, or None."""


class Aggregate(Protocol):
    """A value kept over a bag of values as they come and go (section 18.5.1)."""

    @property
    def names(self) -> tuple[str, ...]:
        """What it reads of each solution."""

    def start(self) -> Accumulator:
        """For one more group."""


class Accumulator(Protocol):
    """An aggregate of one group."""

    def change(self, values: tuple[Any, ...], weight: int) -> None:
        """Solutions with these values come (positive) or go (negative)."""

    def result(self) -> Any:
        """The value now; None for an error. Depends on the bag alone, not on the order in which it came."""


class Order(Protocol):
    """A total preorder of solutions: ``key(values)`` compares as the solutions do."""

    @property
    def names(self) -> tuple[str, ...]:
        """What it reads."""

    def __call__(self, values: tuple[Any, ...]) -> Any:
        """A value that sorts."""

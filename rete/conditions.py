"""What a standing query says: conditions, and groups of conditions with negated groups inside.

A condition is a pattern over tuples of one arity: at each position a constant (any hashable), a :class:`Variable`, or
:data:`WILDCARD`. Its :class:`Template` is what is left when the variables' names are dismissed (Shvartzshnaider, Ott and Levy,
"Publish/Subscribe on Top of DHT Using RETE Algorithm", section 3): the definition of an alpha memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from .errors import BadQuery
from .functions import Test

MAX_CONDITIONS = 128
"""Conditions in one query, those of negated groups included. A row's tokens pass down a chain of this length by recursion, so the
bound keeps the chain well inside Python's stack; a larger query is refused."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a query: equal names mean equal terms."""

    name: str


class Parameter(Variable):
    """Where a constant was taken out of a query: number ``number`` of its arguments (see :meth:`rete.Network.subscribe_template`).

    It is a variable that is bound from outside, with a name that no query's text can write.
    """

    __slots__ = ()

    def __init__(self, number: int) -> None:
        super().__init__(f"${number}")

    @classmethod
    def of_name(cls, name: str) -> Parameter:
        """The one of a name that :func:`is_parameter`."""
        return cls(int(name[1:]))

    @property
    def number(self) -> int:
        """Which of the arguments stands here, counted from 0."""
        return int(self.name[1:])


def is_parameter(name: str) -> bool:
    """Whether a variable of this name is a :class:`Parameter`."""
    return name.startswith("$")


class _Wildcard:
    """The type of :data:`WILDCARD`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "WILDCARD"


WILDCARD = _Wildcard()
"""Anything may stand here, and nobody asks what."""

Constant = TypeVar("Constant")


class Template(msgspec.Struct, Generic[Constant], frozen=True, array_like=True, gc=False, cache_hash=True):
    """The constants that a condition requires: the definition of an alpha memory.

    ``pattern`` has one entry per position, ``None`` where anything may stand. ``same`` lists pairs of positions that must hold the
    same term, each the first and a later place of a repeated variable.
    """

    pattern: tuple[Constant | None, ...]
    same: tuple[tuple[int, int], ...] = ()

    def matches(self, items: tuple[Constant, ...]) -> bool:
        """Whether a tuple of constants satisfies the template: the plain definition that every index is tested against."""
        return (
            len(items) == len(self.pattern)
            and all(wanted is None or wanted == item for wanted, item in zip(self.pattern, items, strict=True))
            and all(items[first] == items[later] for first, later in self.same)
        )

    def anchors(self) -> tuple[int, ...]:
        """The positions that hold a constant: those that it can be posted under."""
        return tuple([position for position, wanted in enumerate(self.pattern) if wanted is not None])


class OpenTemplate(Template[Constant], frozen=True, array_like=True, gc=False, cache_hash=True):
    """A template in which constants were taken out at the positions ``parameters``.

    It matches what the templates with any constants there match, and no two of those match the same tuple. Where each of them is
    fed by itself, the memory of an open template is fed by all.
    """

    parameters: tuple[int, ...] = ()

    @property
    def closed(self) -> Template[Constant]:
        """The plain template that matches the same."""
        return Template(self.pattern, self.same)

    def shape_when_bound(self) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
        """The positions of constants, and of repeated variables, of each template that it is when constants are put back."""
        constants = tuple(sorted((*self.anchors(), *self.parameters)))
        return constants, tuple(pair for pair in self.same if pair[0] not in self.parameters)

    def covers(self, template: Template[Constant]) -> bool:
        """Whether constants put back make it that template."""
        return (template.anchors(), template.same) == self.shape_when_bound() and self.closed.matches(
            template.pattern  # type: ignore[arg-type]  # None where anything may stand, which agrees with nothing but anything
        )


MAX_WINDOW_EVENTS = 100_000
"""The most events that a window holds. One that asks for more is refused; in a window of time the oldest leave early, and
:attr:`rete.Network.cut_short` counts them."""


MAX_WINDOW_BYTES = 64 * 1024 * 1024
"""What the events of a window take at most, as encoded; beyond, the oldest leave early likewise, also of one that asks for a number
of events."""


class Window(msgspec.Struct, frozen=True, gc=False):
    """How long events are kept as if they were facts: for ``seconds``, or until ``count`` newer ones have come; one of the two."""

    seconds: float | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        if (self.seconds is None) == (self.count is None):
            raise BadQuery("a window of no extent, or of two; expected a time or a number of events")
        if self.seconds is not None and not 0 < self.seconds < float("inf"):
            raise BadQuery(f"a window of {self.seconds:g} seconds; expected more than 0, and an end")
        if self.count is not None and not 0 < self.count <= MAX_WINDOW_EVENTS:
            raise BadQuery(f"a window of {self.count} events; expected 1 to {MAX_WINDOW_EVENTS}")


class AlphaSpec(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The definition of an alpha memory: the facts that match ``template`` and pass ``tests``, or such events of late.

    A test is given with the positions of what it reads; it passes or not by what one tuple says. With a ``window`` the memory holds
    events instead of facts.
    """

    template: Template[Any]  # Any: constants are opaque to this package
    tests: tuple[tuple[Test, tuple[int, ...]], ...] = ()
    window: Window | None = None

    @property
    def narrows(self) -> bool:
        """Whether there is more to it than its template."""
        return bool(self.tests) or self.window is not None

    def admits(self, items: tuple[Any, ...]) -> bool:  # Any: as above
        """Whether a tuple that matches the template passes the tests."""
        return all(test(tuple([items[place] for place in places])) for test, places in self.tests)


@dataclass(frozen=True, slots=True)
class Condition:
    """One pattern of a query; ``pattern`` holds constants, variables and wildcards. With a ``window`` it asks for events."""

    pattern: tuple[object, ...]
    window: Window | None = None
    template: Template[object] = field(init=False, compare=False, repr=False)
    variables: tuple[tuple[str, int], ...] = field(init=False, compare=False, repr=False)
    """Each variable's name with its first position, in order of position."""

    def __post_init__(self) -> None:
        if not self.pattern:
            raise BadQuery("a condition of no terms; expected at least one")
        first: dict[str, int] = {}
        same = []
        constants: list[object | None] = []
        for position, item in enumerate(self.pattern):
            constants.append(None if isinstance(item, Variable | _Wildcard) else item)
            if isinstance(item, Variable):
                if item.name in first:
                    same.append((first[item.name], position))
                else:
                    first[item.name] = position
        parameters = tuple(position for position, item in enumerate(self.pattern) if isinstance(item, Parameter))
        template: Template[object] = Template(tuple(constants), tuple(same))
        if parameters:
            template = OpenTemplate(template.pattern, template.same, parameters)
        object.__setattr__(self, "template", template)
        object.__setattr__(self, "variables", tuple(first.items()))

    def __hash__(self) -> int:
        # Templates of queries are looked up for each query; a template's hash is kept.
        return hash((self.template, self.variables))


@dataclass(frozen=True, slots=True)
class Group:
    """Conditions that hold together, while none of the ``negated`` groups has a solution.

    A negated group sees the variables that its surroundings bind; those that it alone mentions are existential: the group as a
    whole must have no solution, whatever they are (as in SPARQL's NOT EXISTS, section 8.1 of its recommendation).
    """

    conditions: tuple[Condition, ...]
    negated: tuple[Group, ...] = ()

    def variables(self) -> tuple[str, ...]:
        """The variables that its conditions bind, in order of appearance."""
        return tuple(dict.fromkeys(name for condition in self.conditions for name, _ in condition.variables))

    def mentioned(self) -> frozenset[str]:
        """Every variable that stands in it, in negated groups too."""
        inner = (group.mentioned() for group in self.negated)
        return frozenset(self.variables()).union(*inner)

    def every_condition(self) -> Iterator[Condition]:
        """Its conditions and those of its negated groups, at any depth."""
        yield from self.conditions
        for group in self.negated:
            yield from group.every_condition()

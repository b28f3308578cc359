"""Expressions as data, and as what rete calls: tests, computations and orders (SPARQL 1.1, sections 15.1, 17.2 and 18.5).

A tree of frozen nodes hashes by value, so equal expressions of different subscriptions share the nodes of a network. The
closure that evaluates it is made on first use (evaluating.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from ...tuples.terms import Term
from .comparing import effective, rank
from .errors import ExpressionError


@dataclass(frozen=True, slots=True)
class Constant:
    """A term."""

    term: Term


@dataclass(frozen=True, slots=True)
class Name:
    """The value of a variable; an error where it is unbound."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or function, by its name in upper case or its IRI, of its arguments.

    A long row of sums or products, from left to right, is one call: its function is their signs with blanks between, ``+ - +``.
    """

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Fresh:
    """What is new in every solution: RAND, UUID, STRUUID or BNODE.

    In a standing query a solution that goes must take the same value with it, so the value is computed: from the ``seed`` of the
    subscription, the place in the query, and the solution itself.
    """

    function: str
    seed: str
    place: int
    names: tuple[str, ...]
    argument: Expression | None = None


Expression: TypeAlias = Constant | Name | Call | Fresh


def names_in(expression: Expression) -> tuple[str, ...]:
    """The variables that an expression reads, in order of appearance."""
    return tuple(dict.fromkeys(_names(expression)))


def _names(expression: Expression) -> Iterator[str]:
    match expression:
        case Name(name):
            yield name
        case Call(_, arguments):
            for argument in arguments:
                yield from _names(argument)
        case Fresh(names=names, argument=argument):
            yield from names
            if argument is not None:
                yield from _names(argument)


MAX_CONJUNCTS = 16
"""Parts that a FILTER is split into; one of more parts stays whole, since each is an operator of its own."""


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """Expressions that hold together where, and only where, this one does: each is decided by as few conditions as it can be."""
    parts = tuple(_conjuncts(expression))
    return parts if len(parts) <= MAX_CONJUNCTS else (expression,)


def _conjuncts(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Call) and expression.function == "&&":
        for argument in expression.arguments:
            yield from _conjuncts(argument)
    else:
        yield expression


def _operations(expression: Expression) -> int:
    match expression:
        case Call("BOUND"):
            return 0  # it looks at no value
        case Call(_, arguments):
            return 1 + sum(map(_operations, arguments))
        case Fresh(argument=argument) if argument is not None:
            return 1 + _operations(argument)
        case _:
            return 0


def _steps(expression: Expression) -> int:
    """How many steps of a matcher an evaluation takes (:mod:`rete.effort`): a call takes about as long as to look at a fact, and so
    does what several calls have in between."""
    operations = _operations(expression)
    return operations + 1 if operations > 1 else 1


@dataclass(frozen=True)
class Holds:
    """A FILTER: whether the expression is true (a :class:`rete.algebra.Test`)."""

    expression: Expression

    @cached_property
    def names(self) -> tuple[str, ...]:
        return names_in(self.expression)

    @cached_property
    def portable(self) -> bool:
        """Whether it may be made where the facts are, before they travel (portable.py)."""
        from .portable import travels

        return travels(self.expression)

    @cached_property
    def steps(self) -> int:
        return _steps(self.expression)

    @cached_property
    def _evaluate(self) -> Any:  # Any: a closure over the positions of the names
        from .evaluating import evaluator

        return evaluator(self.expression, self.names)

    def __reduce__(self) -> tuple[type[Holds], tuple[Expression]]:
        # A closure cannot be pickled: whoever is sent the test makes its own.
        return Holds, (self.expression,)

    def __call__(self, values: tuple[Any, ...]) -> bool:
        try:
            return effective(self._evaluate(values))
        except ExpressionError:
            return False


@dataclass(frozen=True)
class Computed:
    """A BIND: the value of the expression, None for an error (a :class:`rete.algebra.Computation`)."""

    expression: Expression

    @cached_property
    def names(self) -> tuple[str, ...]:
        return names_in(self.expression)

    @cached_property
    def steps(self) -> int:
        return _steps(self.expression)

    @cached_property
    def _evaluate(self) -> Any:  # Any: as above
        from .evaluating import evaluator

        return evaluator(self.expression, self.names)

    def __call__(self, values: tuple[Any, ...]) -> Term | None:
        try:
            value: Term = self._evaluate(values)
        except ExpressionError:
            return None
        return value


@dataclass(frozen=True)
class Ordered:
    """ORDER BY: expressions with whether each descends (a :class:`rete.algebra.Order`)."""

    keys: tuple[tuple[Expression, bool], ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for expression, _ in self.keys for name in names_in(expression)))

    @cached_property
    def _evaluate(self) -> list[tuple[Any, bool]]:  # Any: as above
        from .evaluating import evaluator

        return [(evaluator(expression, self.names), descends) for expression, descends in self.keys]

    def __call__(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        made: list[Any] = []
        for evaluate, descends in self._evaluate:
            try:
                key = rank(evaluate(values))
            except ExpressionError:
                key = rank(None)
            made.append(_Descending(key) if descends else key)
        return tuple(made)


class _Descending:
    """A key that sorts the other way."""

    __slots__ = ("key",)

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key

    def __lt__(self, other: _Descending) -> bool:
        return other.key < self.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"-{self.key!r}"

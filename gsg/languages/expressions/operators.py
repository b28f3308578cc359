"""What rete calls with the values of a solution: tests, computations and orders (SPARQL 1.1, sections 15.1, 17.2 and 18.5).

Each is made from expressions (tree.py) and hashes by value as they do. The closures that evaluate them are made on first use, so
that a query that is only read or sent costs none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from rete.predicates import Requirement

from ...tuples.terms import Term
from .comparing import effective, rank
from .errors import ExpressionError
from .evaluating import Evaluate, evaluator
from .portable import travels
from .requirements import requirements_of
from .tree import Call, Expression, Fresh, names_in, rename_variables, replace_constants


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
class _OfExpression:
    """An operator that evaluates one expression."""

    expression: Expression

    @cached_property
    def names(self) -> tuple[str, ...]:
        return names_in(self.expression)

    @cached_property
    def steps(self) -> int:
        return _steps(self.expression)

    @cached_property
    def _evaluate(self) -> Evaluate:
        return evaluator(self.expression, self.names)

    def with_constants(self, replacement: Callable[[Any], Any]) -> Self:  # Any: terms, or what stands for them
        """The same operator of an expression with other constants (tree.py)."""
        return type(self)(replace_constants(self.expression, replacement))

    def with_names(self, rename: Callable[[str], str]) -> Self | None:
        """The same operator of other names; None where there is none (tree.py)."""
        made = rename_variables(self.expression, rename)
        return None if made is None else type(self)(made)

    @cached_property
    def unnamed(self) -> Self:
        """The same operator of the names 0, 1 and so on, so that it is made once, with what it keeps to evaluate."""
        return self.with_names(lambda name: str(self.names.index(name))) or self

    def __reduce__(self) -> tuple[type[_OfExpression], tuple[Expression]]:
        # A closure cannot be pickled: whoever is sent the operator makes its own.
        return type(self), (self.expression,)


@dataclass(frozen=True)
class Holds(_OfExpression):
    """A FILTER: whether the expression is true (a :class:`rete.algebra.Test`)."""

    @cached_property
    def portable(self) -> bool:
        """Whether it may be made where the facts are, before they travel (portable.py)."""
        return travels(self.expression)

    @cached_property
    def requires(self) -> tuple[tuple[int, Requirement], ...]:
        """What values must have that it passes (requirements.py)."""
        return requirements_of(self.expression, self.names)

    def __call__(self, values: tuple[Any, ...]) -> bool:  # Any: terms, and None for what is unbound, here and below
        try:
            return effective(self._evaluate(values))
        except ExpressionError:
            return False


@dataclass(frozen=True)
class Computed(_OfExpression):
    """A BIND: the value of the expression, None for an error (a :class:`rete.algebra.Computation`)."""

    def __call__(self, values: tuple[Any, ...]) -> Term | None:
        try:
            return self._evaluate(values)
        except ExpressionError:
            return None


@dataclass(frozen=True)
class Ordered:
    """ORDER BY: expressions with whether each descends (a :class:`rete.algebra.Order`)."""

    keys: tuple[tuple[Expression, bool], ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for expression, _ in self.keys for name in names_in(expression)))

    @cached_property
    def _evaluate(self) -> list[tuple[Evaluate, bool]]:
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

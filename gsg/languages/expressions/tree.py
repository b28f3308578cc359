"""Expressions as data: a tree of frozen nodes that hashes by value, so that equal expressions of different subscriptions share the
nodes of a network. Open next: operators.py, what rete calls, and evaluating.py, the closure that evaluates a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from rete.conditions import Parameter, is_parameter

from ...tuples.terms import Term


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


OPEN = frozenset(("=", "!=", "<", ">", "<=", ">=", "IN", "+", "-", "*", "/", "STRSTARTS", "STRENDS", "CONTAINS", "SAMETERM"))
"""Calls of which no constant is a mistake: a parser that takes one takes any other of its kind."""


def replace_constants(
    expression: Expression, replacement: Callable[[Any], Any]
) -> Expression:  # Any: terms, or what stands for them
    """The expression with something else in the place of constants that are arguments of OPEN calls.

    A :class:`rete.Parameter` stands there as the name that it has, since it is a variable that is bound outside; where one stands
    already, it is given to ``replacement`` like a constant.
    """
    if not isinstance(expression, Call):
        return expression
    is_open = expression.function in OPEN
    arguments = tuple([_replaced(argument, replacement, is_open=is_open) for argument in expression.arguments])
    return Call(expression.function, arguments)


def _replaced(argument: Expression, replacement: Callable[[Any], Any], *, is_open: bool) -> Expression:  # Any: as above
    match argument:
        case Constant(term):
            made = replacement(term) if is_open else term
        case Name(name) if is_parameter(name):
            made = replacement(Parameter.of_name(name))
        case _:
            return replace_constants(argument, replacement)
    return Name(made.name) if isinstance(made, Parameter) else Constant(made)


def rename_variables(expression: Expression, rename: Callable[[str], str]) -> Expression | None:
    """The expression with other names of variables; None where it is another one then, as a :class:`Fresh` value is."""
    match expression:
        case Name(name):
            return Name(rename(name))
        case Call(function, arguments):
            made = [rename_variables(argument, rename) for argument in arguments]
            return None if None in made else Call(function, tuple(filter(None, made)))
        case Fresh():
            return None
        case _:
            return expression


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

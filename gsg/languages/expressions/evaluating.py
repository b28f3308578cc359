"""From an expression to a closure over the values of its names (SPARQL 1.1, section 17.2).

Errors are ExpressionError all the way; ``&&`` and ``||`` are of three values (true, false, error), and only IF, COALESCE, IN
and they look at an error without passing it on.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from typing import Any, TypeAlias

from ...tuples.number_forms import DOUBLE
from ...tuples.terms import IRI, BlankNode, Literal, Term
from .comparing import FALSE, TRUE, boolean, effective, equal
from .errors import ExpressionError
from .functions import CASTS, FUNCTIONS
from .numbers import term_of
from .tree import Call, Constant, Expression, Fresh, Name

Evaluate: TypeAlias = Callable[[tuple[Any, ...]], Term]


MAX_CHARACTERS = 16_000_000
"""Characters that an expression of many calls may look at: they share them equally, and a text that is longer than the share of a
call is an error of it. So a query with a thousand functions of one long text holds nobody."""
_FEW_CALLS = 8
"""Calls that share nothing: no fact is so long that a few functions of it would hold anybody."""


def evaluator(expression: Expression, names: tuple[str, ...]) -> Evaluate:
    """A function from the values of ``names`` to the expression's value; it raises ExpressionError."""
    calls = _calls(expression)
    return _evaluator(expression, names, MAX_CHARACTERS // calls if calls > _FEW_CALLS else None)


def _calls(expression: Expression) -> int:
    """How many functions of values an expression calls."""
    if isinstance(expression, Call):
        return (expression.function not in _SPECIAL) + sum(map(_calls, expression.arguments))
    return _calls(expression.argument) if isinstance(expression, Fresh) and expression.argument is not None else 0


def _evaluator(expression: Expression, names: tuple[str, ...], share: int | None) -> Evaluate:
    """``share`` are the characters of a text that a call takes; None for any number."""
    match expression:
        case Constant(term):
            return lambda values: term
        case Name(name):
            return _name(names.index(name))
        case Fresh():
            return _fresh(expression, names)
    function, arguments = expression.function, expression.arguments
    if function == "BOUND":
        return _bound(arguments[0], names)
    inner = tuple(_evaluator(argument, names, share) for argument in arguments)
    if " " in function:
        return _row(function.split(), inner)
    special = _SPECIAL.get(function)
    if special is not None:
        return special(inner)
    called = FUNCTIONS.get(function) or CASTS[function]
    return _call(called if share is None else _sharing(called, share), inner)


def _sharing(function: Callable[..., Term], share: int) -> Callable[..., Term]:
    def shared(*terms: Term) -> Term:
        for term in terms:
            if (type(term) is str and len(term) > share) or (type(term) is Literal and len(term.lexical) > share):
                raise ExpressionError
        return function(*terms)

    return shared


def _name(position: int) -> Evaluate:
    def evaluate(values: tuple[Any, ...]) -> Term:
        value: Term | None = values[position]
        if value is None:
            raise ExpressionError
        return value

    return evaluate


def _bound(argument: Expression, names: tuple[str, ...]) -> Evaluate:
    assert isinstance(argument, Name)  # the grammar of BOUND
    position = names.index(argument.name)
    return lambda values: boolean(values[position] is not None)


def _call(function: Callable[..., Term], inner: tuple[Evaluate, ...]) -> Evaluate:
    if len(inner) == 1:
        (only,) = inner
        return lambda values: function(only(values))
    if len(inner) == 2:
        first, second = inner
        return lambda values: function(first(values), second(values))
    return lambda values: function(*(argument(values) for argument in inner))


def _row(symbols: list[str], inner: tuple[Evaluate, ...]) -> Evaluate:
    """Sums or products in a row, from left to right."""
    first, *others = inner
    steps = [(FUNCTIONS[symbol], argument) for symbol, argument in zip(symbols, others, strict=True)]

    def evaluate(values: tuple[Any, ...]) -> Term:
        made = first(values)
        for function, argument in steps:
            made = function(made, argument(values))
        return made

    return evaluate


def _truth(argument: Evaluate, values: tuple[Any, ...]) -> bool | None:
    try:
        return effective(argument(values))
    except ExpressionError:
        return None


def _logical(decisive: bool) -> Callable[[tuple[Evaluate, ...]], Evaluate]:
    """``||`` is decided by true, ``&&`` by false; else an error of either side is an error."""

    def make(inner: tuple[Evaluate, ...]) -> Evaluate:
        def evaluate(values: tuple[Any, ...]) -> Term:
            failed = False
            for argument in inner:
                truth = _truth(argument, values)
                if truth is decisive:
                    return boolean(decisive)
                failed = failed or truth is None
            if failed:
                raise ExpressionError
            return boolean(not decisive)

        return evaluate

    return make


def _not(inner: tuple[Evaluate, ...]) -> Evaluate:
    (only,) = inner
    return lambda values: boolean(not effective(only(values)))


def _in(inner: tuple[Evaluate, ...]) -> Evaluate:
    wanted, *listed = inner

    def evaluate(values: tuple[Any, ...]) -> Term:
        value = wanted(values)
        failed = False
        for argument in listed:
            try:
                if equal(value, argument(values)):
                    return TRUE
            except ExpressionError:
                failed = True
        if failed:
            raise ExpressionError
        return FALSE

    return evaluate


def _if(inner: tuple[Evaluate, ...]) -> Evaluate:
    condition, then, otherwise = inner
    return lambda values: then(values) if effective(condition(values)) else otherwise(values)


def _coalesce(inner: tuple[Evaluate, ...]) -> Evaluate:
    def evaluate(values: tuple[Any, ...]) -> Term:
        for argument in inner:
            try:
                return argument(values)
            except ExpressionError:
                continue
        raise ExpressionError

    return evaluate


_SPECIAL: dict[str, Callable[[tuple[Evaluate, ...]], Evaluate]] = {
    "||": _logical(True),
    "&&": _logical(False),
    "!": _not,
    "IN": _in,
    "IF": _if,
    "COALESCE": _coalesce,
}


def _fresh(expression: Fresh, names: tuple[str, ...]) -> Evaluate:
    positions = tuple(names.index(name) for name in expression.names)
    argument = None if expression.argument is None else evaluator(expression.argument, names)
    make = _FRESH[expression.function]

    def evaluate(values: tuple[Any, ...]) -> Term:
        given = None
        if argument is not None:
            given = argument(values)
            if type(given) is not str:
                raise ExpressionError
        # BNODE("a") is one node wherever it stands in the solution, so its text takes the place of the place.
        place = ("given", given) if argument is not None else ("place", expression.place)
        told = repr((expression.seed, place, [(name, values[at]) for name, at in zip(expression.names, positions, strict=True)]))
        return make(hashlib.sha256(told.encode("utf-8", "surrogatepass")).digest())

    return evaluate


def _uuid(digest: bytes) -> str:
    return str(uuid.UUID(bytes=digest[:16], version=4))


_FRESH: dict[str, Callable[[bytes], Term]] = {
    "RAND": lambda digest: term_of((DOUBLE, int.from_bytes(digest[:7], "big") / 2**56)),
    "UUID": lambda digest: IRI("urn:uuid:" + _uuid(digest)),
    "STRUUID": _uuid,
    "BNODE": lambda digest: BlankNode("b" + digest.hex()[:32]),
}

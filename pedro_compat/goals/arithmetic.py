"""Arithmetic expressions: the manual's table, over exact integers and IEEE doubles (manual 5).

Expressions come out of notifications too, so they are evaluated with a stack of our own, and numbers are bounded before they are
made: ``10 ** 10 ** 10`` is refused by the length that it would have.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import TypeAlias

from ..dialect import DIALECTS, Dialect
from ..terms.terms import Term, Var
from ..terms.unification import Exhausted, TypeFault, Work

MAX_INTEGER_BITS = 14_000
"""Longest integer that may arise, about what a line may hold (syntax.MAX_INTEGER_DIGITS). Beyond, the match is exhausted."""

FREE_BITS = 512
"""Integers up to this length cost one step for each operation; longer ones one more for every 32 bits."""

Number: TypeAlias = int | float
_Function: TypeAlias = Callable[..., Number]


class _Call:
    """A function of the table, also what waits on the stack for its arguments."""

    __slots__ = ("apply", "arity")

    def __init__(self, apply: _Function, arity: int) -> None:
        self.apply = apply
        self.arity = arity


def evaluate(term: Term, functions: Mapping[tuple[str, int], _Call], work: Work) -> Number:
    """The value of an expression. Raises TypeFault where it is none or has no value, Exhausted beyond the bounds."""
    stack: list[Term | _Call] = [term]
    values: list[Number] = []
    while stack:
        item = stack.pop()
        while type(item) is Var and item.ref is not None:
            item = item.ref
        if type(item) is int or type(item) is float:
            values.append(item)
            continue
        work.spend(1)
        if type(item) is _Call:
            values.append(_called(item, values, work))
        elif type(item) is tuple:
            name = item[0]
            assert type(name) is str
            found = functions.get((name, len(item) - 1))
            if found is None:
                raise TypeFault
            stack.append(found)
            stack.extend(item[:0:-1])
        elif type(item) is str and (item, 0) in functions:
            values.append(functions[item, 0].apply())
        else:
            raise TypeFault
    return values[0]


def _called(call: _Call, values: list[Number], work: Work) -> Number:
    try:
        if call.arity == 2:
            right = values.pop()
            value = call.apply(values.pop(), right)
        else:
            value = call.apply(values.pop())
    except (ArithmeticError, ValueError, TypeError) as error:
        # Division by zero, outside of the domain, a float beyond 1.8e308, or a float where bits are asked for.
        raise TypeFault from error
    if type(value) is int:
        bits = value.bit_length()
        if bits > FREE_BITS:
            if bits > MAX_INTEGER_BITS:
                raise Exhausted
            work.spend(bits // 32)
    return value


def _integers(function: Callable[[int, int], int]) -> _Function:
    def checked(left: Number, right: Number) -> int:
        if type(left) is not int or type(right) is not int:
            raise TypeFault
        return function(left, right)

    return checked


def _truncated(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    return left - right * _truncated(left, right)


def _shifted(left: int, right: int) -> int:
    # A negative count shifts the other way, as Prolog does; 2 ** 60 places are refused by length or leave nothing.
    if right >= 0:
        if left and left.bit_length() + right > MAX_INTEGER_BITS:
            raise Exhausted
        return left << right
    return left >> min(-right, MAX_INTEGER_BITS)


def _power(left: Number, right: Number) -> Number:
    if type(left) is int and type(right) is int and right >= 0:
        if right == 0:
            return 1
        if left in (0, 1, -1):
            return left if right % 2 else abs(left)
        if left.bit_length() * right > 2 * MAX_INTEGER_BITS:
            raise Exhausted
        result: int = left**right
        return result
    return math.pow(left, right)


def _rounded(value: Number) -> int:
    if type(value) is int:
        return value
    below = math.floor(abs(value))
    nearest = below + (abs(value) - below >= 0.5)
    return nearest if value > 0 else -nearest


def _ieee_division(left: Number, right: Number) -> float:
    if type(right) is float and right == 0.0:
        numerator = float(left)
        if numerator == 0.0 or math.isnan(numerator):
            return math.nan
        return math.copysign(math.inf, numerator) * math.copysign(1.0, right)
    return left / right


def _ieee_root(value: Number) -> float:
    return math.sqrt(value) if value >= 0 else math.nan


def _defined(function: _Function) -> _Function:
    def checked(*values: Number) -> Number:
        value = function(*values)
        if type(value) is float and not math.isfinite(value):
            raise TypeFault
        return value

    return checked


def _table(dialect: Dialect) -> dict[tuple[str, int], _Call]:
    known: dict[tuple[str, int], _Function] = {
        ("pi", 0): lambda: math.pi,
        ("e", 0): lambda: math.e,
        ("-", 1): operator.neg,
        ("+", 1): operator.pos,
        ("+", 2): operator.add,
        ("-", 2): operator.sub,
        ("*", 2): operator.mul,
        ("/", 2): _ieee_division,
        ("//", 2): _integers(_truncated),
        ("mod", 2): _integers(operator.mod if dialect.mod_follows_divisor else _remainder),
        ("rem", 2): _integers(_remainder),
        ("**", 2): _power,
        ("/\\", 2): operator.and_,
        ("\\/", 2): operator.or_,
        ("<<", 2): _integers(_shifted),
        (">>", 2): _integers(lambda left, right: _shifted(left, -right)),
        ("\\", 1): operator.invert,
        ("abs", 1): abs,
        ("round", 1): _rounded,
        ("ceiling", 1): math.ceil,
        ("sqrt", 1): _ieee_root,
        **{(name, 1): getattr(math, name) for name in ("floor", "sin", "cos", "tan", "asin", "acos", "atan", "log")},
    }
    functions = {called: known[called] for called in dialect.functions}
    if dialect.undefined_is_error:
        functions = {called: _defined(function) for called, function in functions.items()}
    return {(name, arity): _Call(function, arity) for (name, arity), function in functions.items()}


FUNCTIONS: Mapping[str, Mapping[tuple[str, int], _Call]] = {name: _table(dialect) for name, dialect in DIALECTS.items()}
"""Dialect's name -> what can be evaluated in it."""

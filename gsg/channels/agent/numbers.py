"""The agent language's operators on numbers. A text stands for the number that it reads as, as in the predicate language.

A result is checked before it is made where it might be large (expt), and after where one operation cannot make it much larger.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Final, TypeAlias

from ..values import MAX_NUMBER_CHARACTERS, compare, number_of
from .data import same, written
from .limits import Reason, Stop, mistake
from .run import Run

Number: TypeAlias = int | float
Operation: TypeAlias = Callable[..., object]
"""Called with the run and the operands."""
SMALL: Final = 1 << 62
"""Whole numbers below it need no look at their bits."""
READ_CHARACTERS: Final = 64
"""Of a text, read as a number for a step."""


def number(run: Run, value: object) -> Number:
    """The number that a value is or reads as; to read a text is charged for. Raises Stop."""
    kind = type(value)
    if kind is int or kind is float:
        return value  # type: ignore[return-value]  # as just seen
    found = read_number(run, value)
    if found is None:
        raise mistake(f"{shown(value)} is no number; expected one, or a text that reads as one")
    return found


def read_number(run: Run, value: object) -> Number | None:
    """The number that a value is or reads as, None for anything else."""
    if isinstance(value, str):
        run.charge(1 + min(len(value), MAX_NUMBER_CHARACTERS) // READ_CHARACTERS)
    return number_of(value)


def whole(run: Run, value: object) -> int:
    """The whole number that a value is. Raises Stop."""
    found = number(run, value)
    if isinstance(found, float):
        if not found.is_integer():
            raise mistake(f"{found!r} is no whole number; expected one: see (round x) and (floor x)")
        return int(found)
    return found


def shown(value: object) -> str:
    """A value in a message, cut where it is long."""
    if isinstance(value, str):
        return f'"{value[:40]}..."' if len(value) > 40 else f'"{value}"'
    if value is None or isinstance(value, (bool, int, float)):
        text = written(value)
        return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} digits)"
    return {"List": "a list", "Record": "an event", "Function": "a function"}.get(type(value).__name__, "an operator or reference")


def checked(run: Run, result: Number) -> Number:
    """A result that is not too large."""
    if isinstance(result, int) and not -SMALL < result < SMALL and result.bit_length() > run.limits.number_bits:
        raise too_large(run, result.bit_length())
    return result


def too_large(run: Run, bits: int) -> Stop:
    """That a number would be too large."""
    limit = run.limits.number_bits
    return Stop(Reason.NUMBER, f"a number of about {bits:,} bits; expected at most {limit:,}: use floats, such as 2.0 for 2", limit)


def _folded(function: Callable[[Number, Number], Number]) -> Operation:
    def apply(run: Run, first: object, *rest: object) -> object:
        result = number(run, first)
        for each in rest:
            try:
                result = function(result, number(run, each))
            except OverflowError:
                raise too_large(run, run.limits.number_bits + 1) from None
            if type(result) is not int or not -SMALL < result < SMALL:
                result = checked(run, result)
        run.steps += len(rest) // 8
        return result

    return apply


_add, _subtract, _multiply = _folded(operator.add), _folded(operator.sub), _folded(operator.mul)


def _minus(run: Run, first: object, *rest: object) -> object:
    return _subtract(run, first, *rest) if rest else -number(run, first)


def _divide(run: Run, one: object, other: object) -> object:
    dividend, divisor = number(run, one), _divisor(run, other)
    if isinstance(dividend, int) and isinstance(divisor, int) and dividend % divisor == 0:
        return dividend // divisor
    try:
        return dividend / divisor
    except OverflowError:
        raise too_large(run, run.limits.number_bits + 1) from None


def _mod(run: Run, one: object, other: object) -> object:
    try:
        return number(run, one) % _divisor(run, other)
    except OverflowError:
        raise too_large(run, run.limits.number_bits + 1) from None


def _divisor(run: Run, value: object) -> Number:
    divisor = number(run, value)
    if divisor == 0:
        raise mistake("a division by 0; expected another divisor: ask (= divisor 0) before")
    return divisor


def _expt(run: Run, one: object, other: object) -> object:
    base, exponent = number(run, one), number(run, other)
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0 and base not in (-1, 0, 1):
        bits = (base.bit_length() - 1) * exponent
        if bits > run.limits.number_bits:
            raise too_large(run, bits)
    elif isinstance(base, int) and isinstance(exponent, int) and base in (-1, 1):
        return 1 if exponent % 2 == 0 else base
    try:
        result = base**exponent
    except OverflowError:
        raise too_large(run, run.limits.number_bits + 1) from None
    except ZeroDivisionError:
        raise mistake(f"(expt 0 {shown(exponent)}) divides by 0; expected an exponent of 0 or more") from None
    if isinstance(result, complex):
        raise mistake(
            f"(expt {shown(base)} {shown(exponent)}) is no real number; expected a base of 0 or more, or a whole exponent"
        )
    return checked(run, result)


def _to_whole(function: Callable[[Number], int]) -> Operation:
    def apply(run: Run, value: object) -> object:
        try:
            return checked(run, function(number(run, value)))
        except (OverflowError, ValueError):
            raise mistake(f"{shown(value)} has no whole number near it; expected a finite number") from None

    return apply


def _round(run: Run, value: object, digits: object = None) -> object:
    found = number(run, value)
    places = 0 if digits is None else whole(run, digits)
    if not 0 <= places <= 15:
        raise mistake(f"(round x {shown(places)}); expected 0 to 15 digits after the point")
    if isinstance(found, float) and math.isfinite(found):
        return round(found, places) if places else round(found)
    return found


def _extreme(sign: int) -> Operation:
    def apply(run: Run, first: object, *rest: object) -> object:
        run.steps += len(rest) // 8
        best = number(run, first)
        for each in rest:
            other = number(run, each)
            if other != other or (other < best if sign < 0 else other > best):
                best = other
        return best

    return apply


def _ordered(test: Callable[[int], bool]) -> Operation:
    def apply(run: Run, first: object, *rest: object) -> object:
        for each in rest:
            if isinstance(first, str) and isinstance(each, str):
                run.charge(min(len(first), len(each)) // 256)
            elif isinstance(first, str) or isinstance(each, str):
                run.charge(1 + min(len(first if isinstance(first, str) else str(each)), MAX_NUMBER_CHARACTERS) // READ_CHARACTERS)
            order = compare(first, each)
            if order is None or not test(order):
                return False
            first = each
        run.steps += len(rest) // 8
        return True

    return apply


def _equal(run: Run, first: object, *rest: object) -> object:
    for each in rest:
        if type(each) is not int or type(first) is not int:
            if isinstance(first, str) and isinstance(each, str):
                run.charge(min(len(first), len(each)) // 256)
            if not same(first, each, run):
                return False
        elif each != first:
            return False
    run.steps += len(rest) // 8
    return True


def _random(run: Run, below: object) -> object:
    most = whole(run, below)
    if not 0 < most <= SMALL:
        raise mistake(f"(random {shown(most)}); expected a whole number of 1 or more: it gives one from 0 to below it")
    return min(int(run.random() * most), most - 1)


NUMBERS: Final[dict[str, tuple[int, int, Operation]]] = {
    "+": (1, 99, _add),
    "-": (1, 99, _minus),
    "*": (1, 99, _multiply),
    "/": (2, 2, _divide),
    "mod": (2, 2, _mod),
    "expt": (2, 2, _expt),
    "abs": (1, 1, lambda run, value: abs(number(run, value))),
    "min": (1, 99, _extreme(-1)),
    "max": (1, 99, _extreme(1)),
    "floor": (1, 1, _to_whole(math.floor)),
    "ceiling": (1, 1, _to_whole(math.ceil)),
    "round": (1, 2, _round),
    "random": (1, 1, _random),
    "=": (2, 99, _equal),
    "!=": (2, 2, lambda run, one, other: not _equal(run, one, other)),
    "<": (2, 99, _ordered(lambda order: order < 0)),
    "<=": (2, 99, _ordered(lambda order: order <= 0)),
    ">": (2, 99, _ordered(lambda order: order > 0)),
    ">=": (2, 99, _ordered(lambda order: order >= 0)),
    "not": (1, 1, lambda _run, value: value is False or value is None),
}
"""Operators on numbers and comparisons: the fewest and most operands (99: any number), and what they do."""

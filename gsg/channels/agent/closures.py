"""Simple forms as Python closures: a value, given the variables around and the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from .code import Body
from .data import ENTRY_BYTES, FUNCTION_BYTES, SCOPE_BYTES, Function, Scope
from .limits import Stop
from .run import Run

Evaluate: TypeAlias = Callable[[Scope, Run], object]
"""The value of an expression, given the variables around it."""


def constant(value: object) -> Evaluate:
    """Always the same."""
    return lambda scope, run: value


def waking_event(_scope: Scope, run: Run) -> object:
    """The event that woke the agent, as a value."""
    return run.taken_event()


def event_looked_at(_scope: Scope, run: Run) -> object:
    """The same, for operators that only look at it: it is not counted as kept."""
    return run.current_event()


def variable(hops: int, index: int) -> Evaluate:
    """The variable so many scopes further out; hops < 0 are the agent's own."""
    if hops < 0:
        return lambda scope, run: run.variables[index]
    if hops == 0:
        return lambda scope, run: scope[index]
    if hops == 1:
        return lambda scope, run: scope[0][index]  # type: ignore[index]  # as deep as the text says

    def further(scope: Scope, run: Run) -> object:
        for _ in range(hops):
            scope = scope[0]  # type: ignore[assignment]  # as above
        return scope[index]

    return further


def made_function(body: Body) -> Evaluate:
    """A function of the program, with the variables around it."""

    def make(scope: Scope, run: Run) -> object:
        run.allocated_bytes += FUNCTION_BYTES + SCOPE_BYTES + ENTRY_BYTES * len(scope)
        return Function(body, scope)

    return make


def applied(function: Callable[..., object], operands: Sequence[Evaluate], start: int) -> Evaluate:
    """An operator of operands. A Stop gets the operator's place, unless it has that of an operand."""
    match operands:
        case []:

            def none(scope: Scope, run: Run) -> object:
                try:
                    return function(run)
                except Stop as stop:
                    raise _placed(stop, start) from None

            return none
        case [only]:

            def one(scope: Scope, run: Run) -> object:
                try:
                    return function(run, only(scope, run))
                except Stop as stop:
                    raise _placed(stop, start) from None

            return one
        case [first, second]:

            def two(scope: Scope, run: Run) -> object:
                try:
                    return function(run, first(scope, run), second(scope, run))
                except Stop as stop:
                    raise _placed(stop, start) from None

            return two

    def several(scope: Scope, run: Run) -> object:
        try:
            return function(run, *[operand(scope, run) for operand in operands])
        except Stop as stop:
            raise _placed(stop, start) from None

    return several


def _placed(stop: Stop, start: int) -> Stop:
    if stop.start is None:
        stop.start = start
    return stop
